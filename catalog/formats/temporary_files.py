"""Files while they are written: what they are called, and how those of a killed writer are found."""

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from catalog.formats.private_files import make_folder, private


@contextmanager
def temporary_beside(full: Path, pieces: Iterable[bytes | memoryview]) -> Iterator[Path]:
    """Write a file under a temporary name beside its own and flush it to disk; whoever has it
    renames or links it, else it goes again."""
    temporary = full.with_name(f".{full.name}.{uuid.uuid4().hex}.tmp")
    make_folder(full.parent)
    try:
        with open(temporary, "xb", opener=private) as handle:
            handle.writelines(pieces)
            handle.flush()
            os.fsync(handle.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Flush a folder, so that a file's new name outlasts a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_temporary(path: str) -> bool:
    """Whether a file's name is one that a file has while it is written."""
    return path.endswith(".tmp") and path.rpartition("/")[2].startswith(".")


def leftovers(folder: Path) -> Iterator[Path]:
    """Every temporary file in a folder and all below it, in no order."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_temporary(name))
