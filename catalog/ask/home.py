"""What a home holds: versions, snapshots, and bytes by stage."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from catalog.answers import JSON_ONLY, Count, Shown
from catalog.db import Registry
from catalog.formats.store import FileStore


@dataclass(frozen=True)
class VersionState:
    """A version of a home."""

    name: Annotated[str, Shown("version")]
    status: Annotated[str, JSON_ONLY]
    state: Annotated[str, Shown("status")]
    documents: Count
    tokens: Count


@dataclass(frozen=True)
class StoredSnapshot:
    """A snapshot whose files are pinned."""

    name: Annotated[str, Shown("snapshot")]
    source: str
    files: Count


@dataclass(frozen=True)
class StoredStage:
    """Results of a stage."""

    tasks: Count
    bytes: Annotated[int, Shown("MiB", lambda count: f"{count / 2**20:,.1f}")]


@dataclass(frozen=True)
class Status:
    """What a home holds."""

    home: str
    store: str
    versions: list[VersionState]
    snapshots: list[StoredSnapshot]
    stages: Annotated[dict[str, StoredStage], Shown("stage")]

    @property
    def conclusion(self) -> str | None:
        is_empty = not self.versions and not self.stages
        return "The home is empty; `corpus build demo` fills it." if is_empty else None


def home_status(home: Path, registry: Registry, store: FileStore) -> Status:
    """Read the catalog of a home; no file of the store is looked at."""
    return Status(
        str(home.resolve()),
        store.url,
        [
            VersionState(row.name, row.status, row.state, row.documents, row.tokens)
            for row in registry.versions()
        ],
        [
            StoredSnapshot(row.name, row.source, len(registry.source_files(row.name)))
            for row in registry.snapshots()
        ],
        {stage: StoredStage(*stored) for stage, stored in registry.stored_stages().items()},
    )
