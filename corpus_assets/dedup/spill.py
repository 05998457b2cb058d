"""Exchanges through unnamed temporary files: appended piece by piece, read back by key.

The files lie in the folder for temporary files (TMPDIR) and have no name, so what is in them
goes with the process, however it ends.
"""

import mmap
import os
import tempfile
from collections import defaultdict
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import StoreError

_ADVICE = "set TMPDIR to a folder with enough space and run the same command again"


def unnamed_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(prefix="corpus-")
    except OSError as error:
        raise StoreError(f"cannot make a temporary file: {error}; {_ADVICE}") from error


class TableSpill:
    """Tables of one schema, appended under numbers."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file: IO[bytes] = unnamed_file()
        self._pieces: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._end = 0

    def append(self, key: int, table: pa.Table) -> None:
        for batch in table.cast(self._schema).combine_chunks().to_batches():
            data = batch.serialize()
            write_at(self._file, data, self._end)
            self._pieces[key].append((self._end, data.size))
            self._end += data.size

    def read(self, key: int) -> pa.Table:
        """All that was appended under a number, in the order in which it was."""
        pieces = self._pieces.get(key, [])
        batches = [
            pa.ipc.read_record_batch(
                pa.py_buffer(os.pread(self._file.fileno(), size, at)), self._schema
            )
            for at, size in pieces
        ]
        return pa.Table.from_batches(batches, self._schema)

    def close(self) -> None:
        self._file.close()


class ArraySpill:
    """Rows of bytes of one width in regions of known sizes, each filled from its start."""

    def __init__(self, row_bytes: int, rows: npt.NDArray[np.int64]) -> None:
        """`rows`: how many each region will hold."""
        self._width = row_bytes
        self._rows = rows
        step = mmap.ALLOCATIONGRANULARITY
        sizes = -(-rows * row_bytes // step) * step
        self._starts = np.cumsum(sizes) - sizes
        self._filled = np.zeros(rows.size, np.int64)
        self._file: IO[bytes] = unnamed_file()

    def append(self, region: int, rows: npt.NDArray[np.generic]) -> None:
        at = int(self._starts[region]) + int(self._filled[region]) * self._width
        write_at(self._file, np.ascontiguousarray(rows).data, at)
        self._filled[region] += len(rows)

    def read(self, region: int) -> npt.NDArray[np.uint8]:
        """Return a region as uint8[rows, row_bytes]."""
        size = int(self._rows[region]) * self._width
        found = np.empty(size, np.uint8)
        view = found.data
        at = int(self._starts[region])
        done = 0
        while done < size:
            done += os.preadv(self._file.fileno(), [view[done:]], at + done)
        return found.reshape(-1, self._width)

    def map(self, region: int) -> mmap.mmap:
        size = int(self._rows[region]) * self._width
        return mmap.mmap(
            self._file.fileno(), size, access=mmap.ACCESS_READ, offset=int(self._starts[region])
        )

    def close(self) -> None:
        self._file.close()


def write_at(file: IO[bytes], data: "pa.Buffer | memoryview", at: int) -> None:
    """Write all of it, or say what is wrong."""
    view = memoryview(data).cast("B")
    done = 0
    try:
        while done < len(view):
            done += os.pwrite(file.fileno(), view[done:], at + done)
    except OSError as error:
        raise StoreError(
            f"cannot write temporary data in {tempfile.gettempdir()}: {error}; {_ADVICE}"
        ) from error
