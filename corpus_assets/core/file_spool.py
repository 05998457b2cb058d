"""The files that a task has written and not committed yet: in memory while they are few.

Those that make more than 512 MiB together wait in an unnamed temporary file (in TMPDIR), so that a
task with a thousand outputs, as the clusters of a large snapshot have, does not hold them all.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import IO

import pyarrow as pa

from corpus_assets.core.errors import StoreError
from corpus_assets.core.store import Pieces

HELD_BYTES = 512 << 20


class FileSpool(Mapping[str, tuple[bytes | Pieces, int]]):
    """File name -> (content, rows), in the order in which they were added."""

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._room = held_bytes
        self._held: dict[str, bytes | Pieces] = {}
        self._places: dict[str, tuple[int, int, int]] = {}

    @cached_property
    def _spool(self) -> IO[bytes]:
        """Made with the first file that is not held."""
        return tempfile.TemporaryFile()

    def add(self, name: str, data: bytes | Pieces, rows: int) -> None:
        """Add a file, or put another in the place of one with its name."""
        pieces = [data] if isinstance(data, bytes) else data
        size = sum(map(len, pieces))
        if self._held.pop(name, None) is not None:
            self._room += self._places[name][1]
        self._places[name] = (0, size, rows)
        if size <= self._room:
            self._room -= size
            self._held[name] = data
            return
        try:
            at = self._spool.seek(0, 2)
            self._spool.writelines(pieces)
        except OSError as error:
            raise _no_room(name, error) from error
        self._places[name] = (at, size, rows)

    def __getitem__(self, name: str) -> tuple[bytes | Pieces, int]:
        at, size, rows = self._places[name]
        if name in self._held:
            return self._held[name], rows
        self._spool.seek(at)
        return self._spool.read(size), rows

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a file's content in one piece, or some of it, as far as it goes."""
        at, size, _ = self._places[name]
        end = size if length is None else min(size, offset + length)
        if name not in self._held:
            self._spool.seek(at + offset)
            return self._spool.read(max(0, end - offset))
        data = self._held[name]
        return (data if isinstance(data, bytes) else b"".join(data))[offset:end]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Forget all files."""
        self._held.clear()
        if "_spool" in self.__dict__:
            self._spool.close()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # a stop signal ended __init__ halfway
            self.close()


def unnamed_file(data: bytes) -> pa.NativeFile:
    """Return a temporary file with these bytes. It has no name, so it goes with the process."""
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return pa.OSFile(file.name)
    except OSError as error:
        raise _no_room("what is known of many parts", error) from error


def _no_room(what: str, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {what} to the temporary folder {tempfile.gettempdir()}: {error.strerror}; "
        "free some space there or set TMPDIR to a larger disk, then run the same command again: "
        "finished parts are kept"
    )
