"""The files that a task has written and not committed yet: in memory while they are small.

Beyond 128 MiB together they wait in an unnamed temporary file (in TMPDIR), so that a task with a
thousand outputs, as the clusters of a large snapshot have, does not hold them all.
"""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import IO

from corpus_assets.errors import StoreError

HELD_BYTES = 128 << 20


class FileSpool(Mapping[str, tuple[bytes, int]]):
    """File name -> (bytes, rows), in the order in which they were added."""

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._held_bytes = held_bytes
        self._places: dict[str, tuple[int, int, int]] = {}

    @cached_property
    def _spool(self) -> IO[bytes]:
        """Made with the first file."""
        return tempfile.SpooledTemporaryFile(self._held_bytes)

    def add(self, name: str, data: bytes, rows: int) -> None:
        """Add a file, or put another in the place of one with its name."""
        try:
            at = self._spool.seek(0, 2)
            self._spool.write(data)
        except OSError as error:
            raise StoreError(
                f"cannot write {name} to the temporary folder {tempfile.gettempdir()}: "
                f"{error.strerror}; free some space there or set TMPDIR to a larger disk, then run "
                "the same command again: finished parts are kept"
            ) from error
        self._places[name] = (at, len(data), rows)

    def __getitem__(self, name: str) -> tuple[bytes, int]:
        at, size, rows = self._places[name]
        self._spool.seek(at)
        return self._spool.read(size), rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Forget all files."""
        if self._places:
            self._spool.close()
