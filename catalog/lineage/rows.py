"""Single rows of a version's lineage: found by key files, without a scan, and read by row group.

Local key files are mapped into memory; those of a remote store are read by ranges, one short
request a run. What is found are places: a lineage file and a row in it, by the first 64 bits of an
id or by a hash. The caller reads the row and compares. Of a Parquet file only the row groups that
can hold a row are read: a row group of a thousand records takes a millisecond, opening a file and
reading its footer takes less. The files used last stay open.
"""

import bisect
import mmap
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db import KeyRow, LineageRow
from catalog.errors import LineageBroken, StoreFileError
from catalog.figures import counted
from catalog.formats.key_files import (
    DOCUMENT_IDS,
    HEAD_BYTES,
    HOSTS,
    TABLE_OF,
    Header,
    header_bytes,
    id_key,
    parse_header,
)
from catalog.formats.store import FileStore

OPEN_FILES = 256  # of each kind; a map holds a file descriptor

Rows = npt.NDArray[np.int64]


class KeyFile:
    """One open key file."""

    def __init__(self, store: FileStore, path: str) -> None:
        self._store = store
        self._path = path
        self._map: mmap.mmap | None = None
        if store.is_local:
            with store.open(path) as handle:
                try:
                    self._map = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
                except (ValueError, OSError) as error:
                    raise StoreFileError(
                        f"{path} is not a key file: `catalog verify` lists damaged files"
                    ) from error
            head = self._map[: header_bytes(self._map[:16], path)]
        else:
            head = store.read_range(path, 0, HEAD_BYTES)
            if len(head) < (size := header_bytes(head, path)):
                head = store.read_range(path, 0, size)
        self._head = head
        self.header: Header = parse_header(head, path)
        if self._map is not None and len(self._map) < self.header.size:
            raise StoreFileError(f"{path} is truncated: `catalog verify` lists damaged files")
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._types = {name: np.dtype(d) for name, (d, _, _) in self.header.arrays.items()}

    def places(self, lowest: int, highest: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return keys from `lowest` to `highest`, ascending, and the place of each."""
        shift = self.header.shift
        low, high = (lowest >> shift, highest >> shift) if shift < 64 else (0, 0)
        fanout = self._slice("fanout", low, high + 2)
        begin, end = int(fanout[0]), int(fanout[-1])
        keys = self._slice("keys", begin, end)
        first = int(keys.searchsorted(np.uint64(lowest), "left"))
        last = int(keys.searchsorted(np.uint64(highest), "right"))
        if first == last:
            return keys[:0], keys[:0]
        return keys[first:last], self._slice("places", begin + first, begin + last)

    def host_places(self, ranges: Sequence[tuple[bytes, bytes]]) -> list[npt.NDArray[Any]]:
        """Return places of all hosts in half-open ranges of names."""
        if self._map is None and len(self._head) < self.header.size:
            self._head = self._store.read_range(
                self._path, 0, self.header.size
            )  # a search has many steps
        found = []
        hosts = range(self.header.arrays["ends"][2])
        ends, names = self._all("ends"), self._all("names").data

        def host(number: int) -> bytes:
            return bytes(names[ends[number - 1] if number else 0 : ends[number]])

        first = 0
        for low, high in sorted(ranges):
            first = bisect.bisect_left(hosts, low, first, key=host)
            last = first
            if first < len(hosts) and host(first) < high:
                last = bisect.bisect_left(hosts, high, first, key=host)
            if first < last:
                bounds = self._slice("starts", first, last + 1)
                found.append(self._slice("places", int(bounds[0]), int(bounds[-1])))
        return found

    def all_hosts(self) -> list[tuple[bytes, list[int]]]:
        """Return every host with the places of its rows, in the file's order."""
        ends, starts, names, places = map(self._all, ("ends", "starts", "names", "places"))
        text, found, begin = names.tobytes(), [], 0
        for number, end in enumerate(ends.tolist()):
            rows = places[int(starts[number]) : int(starts[number + 1])]
            found.append((text[begin:end], rows.tolist()))
            begin = end
        return found

    def _all(self, name: str) -> npt.NDArray[Any]:
        return self._slice(name, 0, self.header.arrays[name][2])

    def _slice(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        dtype = self._types[name]
        _, at, count = self.header.arrays[name]
        if not 0 <= start <= stop <= count:
            raise StoreFileError(
                f"{self._path} points outside itself: `catalog verify` lists damaged files"
            )
        if self._map is not None:
            return self._whole(name)[start:stop]
        first, size = at + start * dtype.itemsize, (stop - start) * dtype.itemsize
        data = self._head[first : first + size]
        if len(data) < size:
            data = self._store.read_range(self._path, first, size)
        if len(data) < size:
            raise StoreFileError(f"{self._path} is truncated: `catalog verify` lists damaged files")
        return np.frombuffer(data, dtype)

    def _whole(self, name: str) -> npt.NDArray[Any]:
        """Return an array of the mapped file; nothing is read before it is looked at."""
        found = self._arrays.get(name)
        if found is None:
            _, at, count = self.header.arrays[name]
            dtype = self._types[name]
            buffer = self._map if self._map is not None else b""
            found = np.frombuffer(buffer, dtype, count, at) if count else np.empty(0, dtype)
            self._arrays[name] = found
        return found


@dataclass(frozen=True)
class _Run:
    """A key file and the lineage files that its places count through."""

    path: str
    starts: Rows
    files: tuple[LineageRow | None, ...]
    derived: tuple[int, ...]


class Keys:
    """The key files of one version."""

    def __init__(
        self, store: FileStore, rows: Sequence[KeyRow], files: Mapping[str, Sequence[LineageRow]]
    ) -> None:
        self._store = store
        self._rows = rows
        self._files = files
        self._open: OrderedDict[str, KeyFile] = OrderedDict()
        self._runs: dict[str, list[_Run]] = {}

    def find(self, kind: str, key: int) -> list[tuple[LineageRow, Rows]]:
        """Return rows that may have a key, by file."""
        return [
            pair
            for run in self._of(kind)
            for pair in _by_file(run, [self._file(run.path).places(key, key)[1]])
        ]

    def between(self, kind: str, lowest: int, highest: int) -> list[tuple[int, LineageRow, int]]:
        """Return (key, file, row) of all keys in a range, ascending."""
        found: list[tuple[int, LineageRow, int]] = []
        for run in self._of(kind):
            keys, places = self._file(run.path).places(lowest, highest)
            for key, place in zip(keys.tolist(), places.tolist(), strict=True):
                found += [(key, file, int(rows[0])) for file, rows in _by_file(run, [[place]])]
        return sorted(found, key=lambda entry: entry[0])

    def hosts(self, ranges: Sequence[tuple[bytes, bytes]]) -> list[tuple[LineageRow, Rows]]:
        """Return rows of all hosts in ranges of SURT names, by file, ascending."""
        return [
            pair
            for run in self._of(HOSTS)
            for pair in _by_file(run, self._file(run.path).host_places(ranges))
        ]

    def files_with_derived(self, kind: str) -> list[LineageRow]:
        """Return files of documents among which some were made from others."""
        return [
            file
            for run in self._of(kind)
            for file, derived in zip(run.files, run.derived, strict=True)
            if file is not None and derived
        ]

    def _of(self, kind: str) -> list[_Run]:
        if kind not in self._runs:
            self._runs[kind] = self._load(kind)
        return self._runs[kind]

    def _load(self, kind: str) -> list[_Run]:
        by_unit = {
            (file.snapshot, file.shard if file.shard is not None else file.part): file
            for file in self._files[TABLE_OF[kind]]
        }
        runs: list[_Run] = []
        met: set[Any] = set()
        for row in self._rows:
            if row.kind != kind:
                continue
            header = self._file(row.path).header
            files = [by_unit.get((row.snapshot, unit)) for unit, _ in header.units]
            for file, (unit, rows) in zip(files, header.units, strict=True):
                if rows and (file is None or file.rows != rows):
                    raise LineageBroken(
                        f"{row.path} indexes {counted(rows, 'row')} of {unit}, the version has "
                        f"{file.rows if file else 'no such file'}: run `catalog verify`"
                    )
                met.add((row.snapshot, unit))
            starts = np.cumsum([0, *(rows for _, rows in header.units)], dtype=np.int64)
            derived = header.derived or (0,) * len(files)
            runs.append(_Run(row.path, starts, tuple(files), derived))
        for place, file in by_unit.items():
            if file.rows and place not in met:
                raise LineageBroken(
                    f"no key file of kind {kind} indexes {file.path}: run `catalog verify`"
                )
        return runs

    def _file(self, path: str) -> KeyFile:
        found = self._open.pop(path, None)
        if found is None:
            while len(self._open) >= OPEN_FILES:
                self._open.popitem(last=False)
            found = KeyFile(self._store, path)
        self._open[path] = found
        return found


def domain_ranges(host_key: str) -> list[tuple[bytes, bytes]]:
    """Return ranges of SURT hosts: the host itself, its subdomains (`,`), and its ports (`:`)."""
    key = host_key.encode("utf-8", "surrogatepass")
    return [(key, key + b"\0"), (key + b",", key + b"-"), (key + b":", key + b";")]


def prefix_ranges(url_prefix: str) -> list[tuple[bytes, bytes]]:
    """Return ranges of SURT hosts whose pages can begin with a prefix of a url_key."""
    host, end, _ = url_prefix.partition(")")
    key = host.encode("utf-8", "surrogatepass")
    return [(key, key + b"\0" if end else key + b"\xff")]


def _by_file(run: _Run, places: Sequence[Any]) -> Iterator[tuple[LineageRow, Rows]]:
    """Yield rows of each file of a run, ascending, from places in any order."""
    if not any(len(some) for some in places):
        return
    joined = np.sort(np.concatenate([np.asarray(some, np.int64) for some in places]))
    bounds = np.searchsorted(joined, run.starts).tolist()
    for unit, file in enumerate(run.files):
        begin, end = bounds[unit], bounds[unit + 1]
        if begin == end:
            continue
        if file is None:
            raise LineageBroken(f"{run.path} names a row of no file: run `catalog verify`")
        yield file, joined[begin:end] - run.starts[unit]


# Rows of Parquet files.


Row = dict[str, Any]
Answer = TypeVar("Answer")


class _File:
    """An open file and what its footer says."""

    def __init__(self, store: FileStore, path: str) -> None:
        self._stack = ExitStack()
        if store.is_local:
            mapped = self._stack.enter_context(pa.memory_map(store.address(path)))
            self.parquet = pq.ParquetFile(mapped)
        else:
            handle = self._stack.enter_context(store.open(path))
            self.parquet = pq.ParquetFile(handle, pre_buffer=True)
        meta = self.parquet.metadata
        sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self.starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self._ranges: dict[str, list[tuple[Any, Any] | None]] = {}

    def close(self) -> None:
        self.parquet.close()
        self._stack.close()

    def groups_with(self, column: str, values: Sequence[Any]) -> list[int]:
        """Return row groups whose statistics do not rule all of `values` out."""
        if column not in self._ranges:
            meta = self.parquet.metadata
            number = meta.schema.names.index(column)
            found: list[tuple[Any, Any] | None] = []
            for group in range(meta.num_row_groups):
                known = meta.row_group(group).column(number).statistics
                has_range = known is not None and known.has_min_max
                found.append((known.min, known.max) if has_range else None)
            self._ranges[column] = found
        return [
            group
            for group, span in enumerate(self._ranges[column])
            if span is None or any(span[0] <= value <= span[1] for value in values)
        ]


class ParquetRows:
    """Rows of the store's Parquet files, by number or by value. Close it when done."""

    def __init__(self, store: FileStore, advice: str, most: int = OPEN_FILES) -> None:
        self._store = store
        self._advice = advice
        self._most = most
        self._open: OrderedDict[str, _File] = OrderedDict()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def take(
        self, path: str, numbers: npt.NDArray[np.int64], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return rows of one file by ascending number."""

        def read(file: _File) -> pa.Table:
            groups = np.searchsorted(file.starts, numbers, side="right") - 1
            wanted = np.unique(groups).tolist()
            table = file.parquet.read_row_groups(wanted, _listed(columns), use_threads=False)
            sizes = np.diff(file.starts)
            first = np.zeros(len(sizes), np.int64)
            first[wanted] = np.append(0, np.cumsum(sizes[wanted])[:-1])
            inside = numbers - file.starts[groups] + first[groups]
            if len(inside) == 1:  # the usual case, and a slice copies nothing
                taken = table.slice(int(inside[0]), 1)
            else:
                taken = table.take(pa.array(inside))
            return taken if columns is None else taken.select(list(columns))

        return self._reading(path, read)

    def where(
        self, path: str, column: str, values: Sequence[Any], columns: Sequence[str] | None = None
    ) -> list[Row]:
        """Return rows of one file whose `column` is one of `values`, in the file's order."""

        def read(file: _File) -> list[Row]:
            groups = file.groups_with(column, values)
            if not groups:
                return []
            listed = _listed(columns)
            wanted = None if listed is None else list(dict.fromkeys([*listed, column]))
            table = file.parquet.read_row_groups(groups, wanted, use_threads=False)
            wanted_values = pa.array(values, table[column].type)
            hits = table.filter(pc.is_in(table[column], value_set=wanted_values))
            rows: list[Row] = (hits if listed is None else hits.select(listed)).to_pylist()
            return rows

        return self._reading(path, read)

    def _reading(self, path: str, read: Callable[[_File], Answer]) -> Answer:
        try:
            return read(self._file(path))
        except (pa.ArrowException, OSError, IndexError, ValueError, KeyError) as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise StoreFileError(f"{path} cannot be read: {line}; {self._advice}") from error

    def _file(self, path: str) -> _File:
        found = self._open.pop(path, None)
        if found is None:
            while len(self._open) >= self._most:
                self._open.popitem(last=False)[1].close()
            found = _File(self._store, path)
        self._open[path] = found
        return found


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)


def ids_between(
    keys: Keys, reader: ParquetRows, lowest: bytes, highest: bytes, limit: int
) -> list[bytes]:
    """Return document ids in a range, ascending, the first `limit` of them."""
    entries = keys.between(DOCUMENT_IDS, id_key(lowest), id_key(highest))
    found: set[bytes] = set()
    for place, (key, file, row) in enumerate(entries):
        if len(found) >= limit and key != entries[place - 1][0]:
            break
        table = reader.take(file.path, np.array([row]), ["doc_id"])
        doc_id = bytes(table["doc_id"][0].as_py())
        if lowest <= doc_id <= highest:
            found.add(doc_id)
    return sorted(found)[:limit]
