"""Exchanges through the store: many tasks write, many others read a range of what each wrote.

A *ranged file* has a range for every target. It is a zip archive whose members are not compressed
(what they hold is): any tool opens it, and so does the search of a takedown. The last member is
the index: where each range lies, its BLAKE3 digest, and an XXH3 checksum. The digest is what tasks
are identified by, computed once, where a range is written; the checksum, which costs next to
nothing, finds damage wherever it is read. The task's result has the same of the index, so a reader
asks for the index and for its range, and uses neither before it is checked.

M parts with ranges for R targets are M x R requests. Beyond `DIRECT_PARTS` parts, tasks over
*groups* of consecutive parts bring their ranges together first: M + groups x R requests. Where
what is exchanged is rows with 64-bit hashes as keys, a range is one of equal ranges of keys, as
many as keep one bounded.

A target is identified by the digests of its ranges and by nothing else of the files they lie in.
So a document that goes away runs its part, its group and the targets that held it again, and no
other; and a damaged range is mended by running the task that wrote it.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from blake3 import blake3
from xxhash import xxh3_128_hexdigest

from corpus_assets.core.file_spool import FileSpool
from corpus_assets.core.store import Result, Store, damaged
from corpus_assets.core.task import TaskContext, parquet_bytes

DIRECT_PARTS = 256
"""So many parts are read directly: a group of them would be one."""

GROUP_PARTS = 256
"""Parts of a group, at most; a stage whose parts are large takes fewer."""

RANGE_ROWS = 1 << 24
"""Rows of all parts that go to one range of keys, about: some hundred megabytes."""

INDEX = "index.json"
_RANGES = "ranges"
_EPOCH = (1980, 1, 1, 0, 0, 0)

Data = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Range:
    """A range of a file in the store: `digest` identifies its bytes, `checksum` finds damage."""

    path: str
    offset: int
    length: int
    digest: str
    checksum: str


def group_runs(parts: int, most: int | None = None) -> list[range]:
    """Return the groups of consecutive parts; none where targets read the parts themselves."""
    if parts <= DIRECT_PARTS:
        return []
    size = min(most or GROUP_PARTS, GROUP_PARTS)
    return [range(first, min(first + size, parts)) for first in range(0, parts, size)]


def range_count(rows: int) -> int:
    """Return how many ranges of keys bound what one of them holds."""
    return max(1, -(-rows // RANGE_ROWS))


# Writing.


def table_ranges(
    table: pa.Table, keys: npt.NDArray[np.uint64], ranges: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the rows of a table by the range that their keys are in, those without rows left out."""
    numbers = ((keys >> np.uint64(32)) * np.uint64(ranges)) >> np.uint64(32)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(ranges, dtype=np.uint64), side="right")
    first = 0
    for number, end in enumerate(ends.tolist()):
        if end > first:
            yield range_name(number), parquet_bytes(table.take(pa.array(order[first:end])))
        first = end


def range_name(number: int) -> str:
    return f"{number:05d}"


def write_ranges(
    context: TaskContext,
    file: str,
    ranges: Iterable[tuple[str, Data]],
    rows: int = 0,
    identity: Callable[[Data], Data] = lambda data: data,
) -> None:
    """Write a task's ranged file, from (name of a range, its bytes); each name once.

    `identity` returns what identifies a range, where the rest follows from it and from the settings
    of the tasks that read it. What is given is held, and not copied, until the task is done. Equal
    ranges in equal order give equal bytes.
    """
    sink = _Pieces()
    index: dict[str, list[Any]] = {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for name, data in ranges:
            if name in index:
                raise ValueError(f"{file} has two ranges {name}")
            index[name] = _append(archive, sink, name, data, identity(data))
        listed = json.dumps(index, sort_keys=True).encode()
        index_place = _append(archive, sink, INDEX, listed, listed)
    context.write_bytes(file, sink.pieces, rows)
    context.notes.setdefault(_RANGES, {})[str(file)] = index_place


class _Pieces(io.RawIOBase):
    """A file in memory that keeps what it is given and copies nothing. What is written again at the
    place of an earlier piece takes that piece's place, as `zipfile` does with headers."""

    def __init__(self) -> None:
        self._pieces: dict[int, Data] = {}
        self._at = self._size = 0

    @property
    def pieces(self) -> list[Data]:
        return list(self._pieces.values())

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        known = self._pieces.get(self._at, data if self._at == self._size else b"")
        if len(known) != len(data):
            raise io.UnsupportedOperation("only a piece of equal length can take another's place")
        if data:
            self._pieces[self._at] = data
        self._at += len(data)
        self._size = max(self._size, self._at)
        return len(data)

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        self._at = place
        return place


def _append(
    archive: zipfile.ZipFile, sink: _Pieces, name: str, data: Data, identity: Data
) -> list[Any]:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3
    archive.writestr(info, data)
    place = sink.tell() - len(data)
    return [place, len(data), blake3(identity).hexdigest(), xxh3_128_hexdigest(data)]


# Planning.


def ranges_of(store: Store, result: Result, file: str) -> dict[str, Range]:
    """Return the ranges of a finished task's file by name: one request, for the index."""
    path = result.outputs[file].path
    index = json.loads(read_range(store, Range(path, *result.notes[_RANGES][str(file)])))
    return {name: Range(path, *place) for name, place in index.items()}


class Targets(Mapping[str, dict[str, Range]]):
    """For each target, its range of every file that has one, by the file's name.

    A snapshot of a crawl has ten million ranges: 64 bytes of each wait in a temporary file, where
    they are many.
    """

    def __init__(self, files: Iterable[tuple[str, Mapping[str, Range]]]) -> None:
        self._numbers: dict[str, int] = {}
        self._paths: dict[str, str] = {}
        self._places = FileSpool(SPOOLED_BYTES)
        for name, ranges in files:
            numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in ranges]
            places = np.zeros(max(numbers, default=-1) + 1, _PLACE)
            places["offset"] = -1  # of those that the file has no range for
            for number, place in zip(numbers, ranges.values(), strict=True):
                hashes = bytes.fromhex(place.digest), bytes.fromhex(place.checksum)
                places[number] = place.offset, place.length, *hashes
                self._paths[name] = place.path
            self._places.add(name, places.tobytes(), len(places))

    def __getitem__(self, target: str) -> dict[str, Range]:
        at = self._numbers[target] * _PLACE.itemsize
        found = {}
        for name, path in self._paths.items():
            data = self._places.read(name, at, _PLACE.itemsize)
            if not data:
                continue
            offset, length, digest, checksum = np.frombuffer(data, _PLACE)[0].tolist()
            if offset >= 0:
                found[name] = Range(path, offset, length, digest.hex(), checksum.hex())
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


_PLACE = np.dtype(
    [("offset", np.int64), ("length", np.int64), ("digest", "V32"), ("checksum", "V16")]
)
SPOOLED_BYTES = 1 << 22


class RangeInputs(TypedDict):
    """Arguments of `Stage.task`."""

    extra_inputs: dict[str, str]
    params: dict[str, Any]


def range_inputs(ranges: Mapping[str, Range]) -> RangeInputs:
    """Return the arguments of `Stage.task` for a target that reads these ranges."""
    return {
        "extra_inputs": {name: place.digest for name, place in ranges.items()},
        "params": {
            _RANGES: {
                name: [place.path, place.offset, place.length, place.checksum]
                for name, place in ranges.items()
            }
        },
    }


# Reading.


def read_ranges(context: TaskContext, file: str = "") -> Iterator[bytes]:
    """Yield the ranges of a target in the order of their names, or those of one file of every
    group, each checked."""
    for name, (path, offset, length, checksum) in sorted(context.param(_RANGES).items()):
        if name.endswith(file):
            place = Range(path, offset, length, context.task.extra_inputs[name], checksum)
            yield read_range(context.store, place)


def range_bytes(context: TaskContext) -> int:
    """Return how many bytes the ranges of a target have in all."""
    return sum(length for _, _, length, _ in context.param(_RANGES).values())


def range_tables(context: TaskContext, file: str) -> Iterator[pa.Table]:
    """Yield the tables of a target in one file of every group."""
    for data in read_ranges(context, f"/{file}"):
        yield pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def read_range(store: Store, place: Range) -> bytes:
    """Return a range's bytes, refused when they are not what was written."""
    data = store.read_range(place.path, place.offset, place.length)
    if xxh3_128_hexdigest(data) != place.checksum:
        where = f"bytes {place.offset} to {place.offset + place.length}"
        raise damaged(store, place.path, f"does not have what was written at {where}")
    return data


def all_ranges(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield every range of a ranged file, which was read and checked as a whole."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name != INDEX:
                yield name, archive.read(name)
