"""Results that can be made again: which may go after a version is published, and what that costs.

What a version names stays: texts, decisions, clusters, shards, and keys for lookups and takedowns.
What follows from texts can be computed again from these, with equal bytes. There are two
kinds, told apart by the graph alone: what only calibrations read, which nobody asks for while they
are pinned, and what stands between stages, which the next build or takedown makes again whole.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from catalog.db import ArtifactRow, VersionRow
from catalog.figures import counted, cpu_time
from corpus_assets.core.store import Store, read_sealed
from corpus_assets.ingest import DOCUMENTS
from corpus_assets.recipe import KEEPS, Retention
from corpus_assets.stages import STAGES
from corpus_assets.versions.published import recipe_path

HOUR_S = 3600.0


def _of_calibrations() -> frozenset[str]:
    """Stages that only calibrations read, directly or by others of them."""
    readers = _readers()
    found: set[str] = set()
    for stage in reversed(STAGES.stages):
        if stage.name in _ENDS:
            continue
        if readers[stage.name] <= found | STAGES.calibrations.keys():
            found.add(stage.name)
    return frozenset(found)


def _readers() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {stage.name: set() for stage in STAGES}
    for stage in STAGES:
        for file in (*stage.reads, *stage.reads_all):
            if file.stage in found:
                found[file.stage].add(stage.name)
    return found


_ENDS = {
    *STAGES.calibrations,
    *(stage.name for stage, _ in STAGES.lineage()),
    *(name for name, readers in _readers().items() if not readers),
    *(name for name in _readers() if DOCUMENTS.name not in STAGES.upstream([name])),
}
"""Stages whose results a version names, that nothing in the graph reads, or that read sources, which
may be gone."""
OF_CALIBRATIONS = _of_calibrations()
BETWEEN = frozenset(stage.name for stage in STAGES) - _ENDS - OF_CALIBRATIONS

FREED_STAGES: dict[Retention, frozenset[str]] = {
    "all": frozenset(),
    "takedowns": OF_CALIBRATIONS,
    "published": OF_CALIBRATIONS | BETWEEN,
}
"""Stages whose results go, by what is kept."""
AGAIN = {
    "takedowns": "only read by calibrations; computed again when one is recalibrated, for example "
    "repeated lines after a threshold changed",
    "published": "between stages; computed again by the next build, extension or takedown",
}


@dataclass(frozen=True)
class Freeable:
    """What a collection could free beside what it does, and what it would take to make it again."""

    keep: str  # the value of `--keep` that frees it
    artifacts: int
    bytes: int
    cpu_hours: float

    def __str__(self) -> str:
        return (
            f"--keep {self.keep} would also delete {counted(self.artifacts, 'artifact')}, "
            f"{self.bytes / 2**20:.1f} MiB: {AGAIN[self.keep]} ({cpu_time(self.cpu_hours * 3600)})"
        )


def kept_level(store: Store, live: Iterable[VersionRow]) -> Retention:
    """Return what all recipes of live versions let go of: the most that one of them keeps."""
    asked = {
        str(read_sealed(store, recipe_path(row.recipe_digest))["recipe"].get("retention", KEEPS[0]))
        for row in live
    }
    return next((level for level in KEEPS if level in asked), KEEPS[0])


def expendable(rows: Iterable[ArtifactRow], keep: Retention) -> list[ArtifactRow]:
    """Return the artifacts that go under a level."""
    return [row for row in rows if row.stage in FREED_STAGES[keep]]


def freeable(rows: Collection[ArtifactRow], keep: Retention) -> tuple[Freeable, ...]:
    """Return what the levels after one would free of what is left."""
    found: list[Freeable] = []
    known = FREED_STAGES[keep]
    for level in KEEPS[KEEPS.index(keep) + 1 :]:
        some = [row for row in rows if row.stage in FREED_STAGES[level] - known]
        known = FREED_STAGES[level]
        if some:
            found.append(_counted(level, some))
    return tuple(found)


def _counted(level: str, rows: Sequence[ArtifactRow]) -> Freeable:
    cpu_hours = sum(row.cpu_seconds or 0.0 for row in rows) / HOUR_S
    return Freeable(level, len(rows), sum(row.bytes for row in rows), cpu_hours)
