"""The entry point behind `catalog takedown run`: takedowns whose runs Dagster records."""

from corpus_assets.defs.runs import DagsterRuns
from corpus_assets.takedown.run import command


def run(
    home: str | None = None,
    workers: int | None = None,
    engine: str | None = None,
    ray_address: str | None = None,
) -> int:
    return command(home, DagsterRuns(), workers, engine, ray_address)
