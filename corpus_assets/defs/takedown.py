"""The entry point behind `catalog takedown run`: takedowns whose runs Dagster records."""

from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.takedown import takedown_command


def run_takedowns(
    home: str | None = None,
    workers: int | None = None,
    engine: str | None = None,
    ray_address: str | None = None,
) -> int:
    return takedown_command(home, DagsterRuns(), workers, engine, ray_address)
