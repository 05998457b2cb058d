"""The entry point behind `catalog takedown run`: takedowns whose runs Dagster records."""

from corpus_assets.defs.build import DagsterRuns
from corpus_assets.takedown.run import command


def run(home: str | None = None) -> int:
    return command(home, DagsterRuns())
