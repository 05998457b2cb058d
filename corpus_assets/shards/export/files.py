"""The folder of an export: written beside its place, claimed by one process, renamed when whole.

    OUT.partial/                  while it is written
      .parts/plan.json            what is being written: another plan starts over
      .parts/00012.json           part 12 is whole: its files and what is in them
    OUT/                          once everything is there

A killed export leaves `OUT.partial`; the same command goes on after the parts that are whole.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from corpus_assets.core.errors import StoreError
from corpus_assets.core.identity import canonical_json
from corpus_assets.shards.export.plan import ExportPlan, partial_folder

PARTS = ".parts"
EXPORT = "export.json"
Bytes: TypeAlias = bytes | memoryview


class FileEntry(BaseModel):
    """A file of an export."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str  # relative to the export's folder
    bytes: int
    sha256: str


class PartRecord(BaseModel):
    """A part that is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    samples: int
    tokens: int  # without padding
    groups: dict[str, int]  # samples of each group
    files: tuple[FileEntry, ...]


class HashedFile:
    """A file that is hashed while it is written, and has its name only when it is whole."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._path = folder / name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary = self._path.with_name(f".{self._path.name}.tmp")
        self._handle: IO[bytes] = self._temporary.open("wb")
        self._hash = hashlib.sha256()
        self.bytes = 0
        self.closed = False  # pyarrow asks, as of any file

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._handle.write(view)
        self._hash.update(view)
        self.bytes += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self.bytes

    def flush(self) -> None:
        self._handle.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """For pyarrow, which closes what it writes to; `finish` gives the file its name."""

    def finish(self) -> FileEntry:
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()
        os.replace(self._temporary, self._path)
        self.closed = True
        return FileEntry(name=self.name, bytes=self.bytes, sha256=self._hash.hexdigest())

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.closed:
            self._handle.close()
            self._temporary.unlink(missing_ok=True)


def write_file(folder: Path, name: str, data: bytes) -> FileEntry:
    with HashedFile(folder, name) as file:
        file.write(data)
        return file.finish()


def hash_file(folder: Path, name: str) -> FileEntry:
    path = folder / name
    with path.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    return FileEntry(name=name, bytes=path.stat().st_size, sha256=found)


class ExportFolder:
    """`OUT.partial` of one export, claimed by this process until it is left."""

    def __init__(self, out: Path, plan: ExportPlan) -> None:
        self.out = out
        self.plan = plan
        self.path = partial_folder(out)
        self.parts = self.path / PARTS

    @contextlib.contextmanager
    def claimed(self) -> Iterator["ExportFolder"]:
        """Hold the folder; what an export of another plan left there is removed."""
        with explained(self.path):
            self._refuse_foreign()
            self.parts.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.parts, os.O_RDONLY)
            try:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise StoreError(
                        f"another export is writing {self.path}; wait for it or choose another --out"
                    ) from error
                self._start()
                yield self
            finally:
                os.close(handle)

    def finished(self) -> dict[int, PartRecord]:
        """Parts that an earlier run wrote to their end, and whose files are still there."""
        found: dict[int, PartRecord] = {}
        for path in sorted(self.parts.glob("[0-9]*.json")):
            try:
                record = PartRecord.model_validate_json(path.read_bytes())
            except ValidationError:
                continue
            if all(_has_size(self.path / file.name, file.bytes) for file in record.files):
                found[record.number] = record
        return found

    def record(self, part: PartRecord) -> None:
        """Note that a part is whole; its files are."""
        content = canonical_json(part.model_dump(mode="json"))
        write_file(self.parts, f"{part.number:06d}.json", content)

    def publish(self) -> None:
        """Give the export its name: the last step, and one that is done or not."""
        shutil.rmtree(self.parts)
        if self.out.is_dir():
            self.out.rmdir()  # empty, or it would have been refused
        os.rename(self.path, self.out)

    def _refuse_foreign(self) -> None:
        if self.out.exists() and not (self.out.is_dir() and not any(self.out.iterdir())):
            raise StoreError(f"{self.out} already exists; remove it or choose another --out")
        if self.path.exists() and any(self.path.iterdir()) and not self.parts.is_dir():
            raise StoreError(
                f"{self.path} was not made by an export; remove it or choose another --out"
            )

    def _start(self) -> None:
        note = self.parts / "plan.json"
        wanted = canonical_json(self.plan.model_dump(mode="json"))
        if not note.is_file() or note.read_bytes() != wanted:
            for path in self.path.iterdir():
                if path != self.parts:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            for path in self.parts.iterdir():
                path.unlink()
            write_file(self.parts, "plan.json", wanted)
        for path in self.path.rglob(".*.tmp"):
            path.unlink()


@contextlib.contextmanager
def explained(place: Path) -> Iterator[None]:
    """Errors of the file system as one line that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"the disk of {place} is full; free some space and run the same command again: "
                "finished parts are kept"
            ) from error
        raise StoreError(f"cannot write the export to {place}: {error}") from error


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
