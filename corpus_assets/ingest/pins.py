"""The pinned list of a snapshot's files: listed and hashed once, then frozen.

A snapshot is a frozen delivery. Its list is made anew only when the recipe points elsewhere or
when names or sizes at its location changed; a file whose bytes changed under the same name and
size is refused when it is read.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from corpus_assets.core.errors import MissingInput, SourceError
from corpus_assets.core.identity import digest
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output, Store, damaged, read_sealed, sealed_json
from corpus_assets.ingest.records import SourceFile


@dataclass(frozen=True)
class SnapshotFiles:
    snapshot: str
    location: str
    files: tuple[SourceFile, ...]
    robots: tuple[SourceFile, ...] = ()  # the crawl's robots.txt records beside the files
    indexes: tuple[Output, ...] = ()  # rows of the crawl's URL index, one file a part

    @property
    def pinned(self) -> tuple[PinnedFile, ...]:
        return tuple(
            PinnedFile(name=file.name, bytes=file.size, sha256=file.sha256) for file in self.files
        )

    @property
    def content_hash(self) -> str:
        """Identity of the delivery: names and contents, not where they lie."""
        files = [[file.name, file.sha256] for file in self.files]
        if not self.robots and not self.indexes:
            return digest(files)
        robots = [[file.name, file.sha256] for file in self.robots]
        return digest([files, robots, [output.sha256 for output in self.indexes]])


def _path(snapshot: str) -> str:
    return f"sources/{snapshot}.json"


def save_snapshot_files(store: Store, pinned: SnapshotFiles) -> None:
    store.write(_path(pinned.snapshot), sealed_json(asdict(pinned)))


def forget_snapshot_files(store: Store, snapshot: str) -> None:
    """The snapshot is pinned no more; no harm where it was not."""
    store.delete(_path(snapshot))


def load_snapshot_files(store: Store, snapshot: str) -> SnapshotFiles:
    if not store.exists(_path(snapshot)):
        raise MissingInput(
            f"source_files of {snapshot} is not pinned yet; materialize source_files first, or "
            "run `corpus build`"
        )
    raw = read_sealed(store, _path(snapshot))
    try:
        files = tuple(SourceFile(**file) for file in raw["files"])
        robots = tuple(SourceFile(**file) for file in raw.get("robots", ()))
        indexes = tuple(Output(**output) for output in raw.get("indexes", ()))
        return SnapshotFiles(raw["snapshot"], raw["location"], files, robots, indexes)
    except (KeyError, TypeError) as error:
        raise damaged(store, _path(snapshot), "does not list a snapshot's files") from error


def file_digest(path: Path) -> str:
    """SHA-256 of a file outside the store."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}; correct the recipe") from error
