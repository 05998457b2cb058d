"""Places of single rows, by key files and by sorted Parquet files in their place.

    python benchmarks/key_lookups.py --parts 1 100 1000 20_000
    python benchmarks/key_lookups.py --parts 1 100 1000 --store s3://BUCKET/PREFIX

Made-up keys of parts of 35,000 records each, in runs of 64 parts as the stage `lineage_keys` makes
them. Ids of documents and texts and hashes of addresses are all evenly spread numbers of 64 bits,
so one kind stands for them; hosts are drawn as a crawl has them, up to 100 parts. *sidecars* have
the same entries in the same order as a Parquet file of two columns, with the statistics of each row
group (`--group-rows`) to find the one to read: by pyarrow through the same `Keys` as key files, or
by DuckDB with its cache of footers.

A look-up gives files and rows of one key that some part has; reading the row comes on top, and is
the same for all. *first* is that of a new process's objects: everything is opened, and files of this
machine are out of the page cache. *memory* is what objects hold after the look-ups, maps of files
left out. More than 1,000 parts are links to the runs of the first 1,000 and keys are asked for that
no part has. A store on S3 is reached with the AWS_* variables, as that of a corpus.
"""

import argparse
import gc
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from machine import machine
from synthetic_lineage import RECORDS_PER_PART, addresses

from catalog.db.rows import KeyRow, LineageRow
from catalog.formats.key_files import (
    DOCUMENT_IDS,
    HOSTS,
    Header,
    encode_hashes,
    encode_hosts,
    surt_hosts,
)
from catalog.formats.store import FileStore
from catalog.lineage.rows import OPEN_FILES, Keys, domain_ranges
from corpus_assets.core.store import open_store
from corpus_assets.lineage.keys import UNITS_PER_RUN

DISTINCT = 1000  # parts whose keys are made; what is more are links
HOST_PARTS = 100
WARM_UP = 20
KEY_FILES = "key files"

Arrays = tuple[list[tuple[int, int]], Any, npt.NDArray[np.int64]]  # units, keys, places
Encode = Callable[[str, Arrays], bytes]
Lineage = dict[str, list[LineageRow]]
Numbers = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--records", type=int, default=RECORDS_PER_PART, help="of a part")
    parser.add_argument("--group-rows", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--lookups", type=int, default=300)
    parser.add_argument("--firsts", type=int, default=9)
    parser.add_argument("--store", help="an empty folder, or s3://BUCKET/PREFIX")
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or folder
        print("| parts | keys | | bytes a key | CPU s a million | first ms (CPU) | "
              "p50 / p95 ms (mean CPU) | memory, MiB |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
        for parts in options.parts:
            for kind in (DOCUMENT_IDS, HOSTS) if parts <= HOST_PARTS else (DOCUMENT_IDS,):
                compare(url, kind, parts, options)


def compare(url: str, kind: str, parts: int, options: argparse.Namespace) -> None:
    forms: dict[str, Encode] = {KEY_FILES: as_key_file}
    for size in options.group_rows:
        forms[f"sidecars of {size:,} rows a group"] = as_sidecar(size)
    made = {form: Made(form, []) for form in forms}
    asked: list[Any] = []
    entries = 0
    for number, first in enumerate(range(0, parts, UNITS_PER_RUN)):
        count = min(UNITS_PER_RUN, parts - first)
        if first < DISTINCT:
            arrays = made_run(kind, first, count, options.records)
            entries += len(arrays[2])
            asked += some_of(kind, arrays, options.lookups)
            for form, encode in forms.items():
                made[form].write(url, number, kind, arrays, encode)
        else:
            for each in made.values():
                each.link(url, number, number % (DISTINCT // UNITS_PER_RUN))
    rng = np.random.default_rng(3)
    rng.shuffle(asked)
    if made[KEY_FILES].has_links:
        asked = rng.integers(0, 1 << 64, options.lookups, dtype=np.uint64).tolist()
    store = FileStore(url)
    for form, each in made.items():
        keys = partial(Keys if form == KEY_FILES else SidecarKeys, store, each.rows)
        one = partial(by_keys, keys, kind, each.lineage(options.records))
        found = measure(one, each, store, asked, options)
        show(parts, kind, form, each, entries, found)
    if kind == DOCUMENT_IDS and store.is_local and not each.has_links:
        fewer = asked[: max(30, options.lookups // 10)]  # it takes its time
        found = measure(partial(in_duckdb, store, each.rows), each, store, fewer, options)
        show(parts, kind, f"{each.form}, DuckDB", each, entries, found)
    for each in made.values() if store.is_local else ():
        shutil.rmtree(Path(url, each.folder))


@dataclass
class Made:
    """The files of one form, and what they took."""

    form: str
    rows: list[KeyRow]
    cpu_s: float = 0.0
    bytes: int = 0
    has_links: bool = False

    @property
    def folder(self) -> str:
        return self.form.replace(" ", "-")

    def write(self, url: str, number: int, kind: str, arrays: Arrays, encode: Encode) -> None:
        began = time.process_time()
        data = encode(kind, arrays)
        self.cpu_s += time.process_time() - began
        self.bytes += len(data)
        path, units = f"{self.folder}/{number:05d}", arrays[0]
        open_store(url).write(path, data)
        rows = sum(rows for _, rows in units)
        self.rows.append(KeyRow(kind, snapshot_of(number), path, "", len(data), rows))

    def link(self, url: str, number: int, to: int) -> None:
        like, self.has_links = self.rows[to], True
        path = f"{self.folder}/{number:05d}"
        os.link(Path(url, like.path), Path(url, path))
        self.rows.append(replace(like, snapshot=snapshot_of(number), path=path))

    def lineage(self, records: int) -> Lineage:
        """The files of records that places count through."""
        return {
            "records": [
                LineageRow("records", row.snapshot, "", "", records, part)
                for row in self.rows
                for part in range(row.rows // records)
            ]
        }


def snapshot_of(run: int) -> str:
    return f"SYNTH-{run}"


def show(parts: int, kind: str, form: str, made: Made, entries: int, found: Numbers) -> None:
    took = f"{made.bytes / entries:.1f} | {1e6 * made.cpu_s / entries:.2f}"
    first = f"{found['first']:.1f} ({found['first_cpu']:.1f})"
    later = f"{found['p50']:.2f} / {found['p95']:.2f} ({found['cpu']:.2f})"
    print(
        f"| {parts:,} | {kind} | {form} | {took} | {first} | {later} | {found['mib']:.0f} |",
        flush=True,
    )


# What is looked into.


def made_run(kind: str, first: int, count: int, records: int) -> Arrays:
    """Keys of the parts of one run with their places."""
    rng = np.random.default_rng([7, first])
    units = [(unit, records) for unit in range(count)]
    places = np.arange(count * records)
    if kind != HOSTS:
        return units, rng.integers(0, 1 << 64, len(places), dtype=np.uint64), places
    hosts, keys, _ = addresses(rng, len(places))
    return units, surt_hosts(pa.table({"host": hosts, "url_key": keys})), places


def some_of(kind: str, arrays: Arrays, count: int) -> list[Any]:
    picked = np.random.default_rng(5).integers(0, len(arrays[2]), count)
    some: list[Any] = arrays[1].take(pa.array(picked) if kind == HOSTS else picked).tolist()
    return some


@contextmanager
def by_keys(
    opened: Callable[[Lineage], Keys], kind: str, files: Lineage
) -> Iterator[Callable[[Any], int]]:
    """`Keys` as a command opens them; a look-up gives how many rows were found."""
    keys = opened(files)

    def look_up(key: Any) -> int:
        found = keys.hosts(domain_ranges(key)) if kind == HOSTS else keys.find(kind, key)
        return sum(len(some) for _, some in found)

    yield look_up


def as_key_file(kind: str, arrays: Arrays) -> bytes:
    units, keys, places = arrays
    if kind == HOSTS:
        return encode_hosts(units, keys, places)
    return encode_hashes(kind, units, keys, places)


# The same in Parquet.


def as_sidecar(group_rows: int) -> Encode:
    """The entries of a key file as a table: numbers by their differences, names by what they
    share with the name before."""

    def encode(kind: str, arrays: Arrays) -> bytes:
        units, keys, places = arrays
        if kind == HOSTS:
            order = pc.sort_indices(keys.cast(pa.binary())).to_numpy()
            column, encoding = keys.cast(pa.binary()).take(pa.array(order)), "DELTA_BYTE_ARRAY"
        else:
            order = np.argsort(keys, kind="stable")
            column, encoding = pa.array(keys[order]), "DELTA_BINARY_PACKED"
        rows = pa.array(places[order].astype(np.uint32))
        about = {"kind": kind, "units": str(len(units)), "rows": str(units[0][1])}
        table = pa.table({"key": column, "place": rows}).replace_schema_metadata(about)
        sink = io.BytesIO()
        pq.write_table(
            table, sink, compression="zstd", compression_level=2, row_group_size=group_rows,
            use_dictionary=False, column_encoding={"key": encoding, "place": "BYTE_STREAM_SPLIT"},
        )  # fmt: skip
        return sink.getvalue()

    return encode


class Sidecar:
    """One open file, read a row group at a time."""

    def __init__(self, store: FileStore, path: str) -> None:
        self._stack = ExitStack()
        if store.is_local:
            mapped = self._stack.enter_context(pa.memory_map(store.address(path)))
            self._file = pq.ParquetFile(mapped)
        else:
            handle = self._stack.enter_context(store.open(path))
            self._file = pq.ParquetFile(handle, pre_buffer=True)
        about = self._file.metadata
        said = {name.decode(): value.decode() for name, value in about.metadata.items()}
        units = tuple((unit, int(said["rows"])) for unit in range(int(said["units"])))
        self.header = Header(said["kind"], units, (), 64, {}, 0)
        known = [
            about.row_group(group).column(0).statistics for group in range(about.num_row_groups)
        ]
        kind = object if said["kind"] == HOSTS else np.uint64
        self._lowest = np.array([each.min for each in known], kind)
        self._highest = np.array([each.max for each in known], kind)

    def close(self) -> None:
        self._stack.close()

    def places(self, lowest: Any, highest: Any) -> tuple[Any, Any]:
        """Keys from `lowest` to `highest`, hosts to before it, and the place of each."""
        first = int(self._highest.searchsorted(lowest, "left"))
        groups = list(range(first, int(self._lowest.searchsorted(highest, "right"))))
        if not groups:
            return np.empty(0, np.uint64), np.empty(0, np.uint32)
        column = self._read(groups, "key")
        if self.header.kind == HOSTS:
            inside = pc.and_(pc.greater_equal(column, lowest), pc.less(column, highest))
            rows = np.flatnonzero(inside.to_numpy())
            keys = column.take(pa.array(rows))
        else:
            keys = column.to_numpy()
            first, end = (int(keys.searchsorted(*at)) for at in ((lowest,), (highest, "right")))
            rows, keys = np.arange(first, end), keys[first:end]
        return keys, self._read(groups, "place").to_numpy()[rows] if len(rows) else rows

    def _read(self, groups: list[int], column: str) -> pa.ChunkedArray:
        return self._file.read_row_groups(groups, [column], use_threads=False)[column]

    def host_places(self, ranges: Sequence[tuple[bytes, bytes]]) -> list[npt.NDArray[Any]]:
        found = (self.places(low, high)[1] for low, high in ranges)
        return [places for places in found if len(places)]


class SidecarKeys(Keys):
    """`Keys` over sidecars."""

    def _file(self, path: str) -> Any:
        found: Any = self._open.pop(path, None)
        if found is None:
            while len(self._open) >= OPEN_FILES:
                self._open.popitem(last=False)
            found = Sidecar(self._store, path)
        self._open[path] = found
        return found


@contextmanager
def in_duckdb(store: FileStore, rows: Sequence[KeyRow]) -> Iterator[Callable[[Any], int]]:
    listed = ", ".join(f"'{store.address(row.path)}'" for row in rows)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; SET parquet_metadata_cache = true")
        sql = f"SELECT filename, place FROM read_parquet([{listed}], filename = true) WHERE key = ?"
        yield lambda key: len(connection.execute(sql, [key]).fetchall())


# Measuring.


def measure(
    opened: Callable[[], Any],
    made: Made,
    store: FileStore,
    asked: Sequence[Any],
    options: argparse.Namespace,
) -> Numbers:
    paths = [store.address(row.path) for row in made.rows]
    is_there = int(not made.has_links)
    gc.collect()
    before = anonymous()
    first, first_cpu, spent, cpu = [], [], [], 0.0
    for key in asked[: options.firsts]:
        for path in paths if store.is_local else ():
            forget(path)
        began, cpu = time.perf_counter(), time.process_time()
        with opened() as look_up:
            expect(look_up(key) >= is_there)
            first.append(1000 * (time.perf_counter() - began))
            first_cpu.append(1000 * (time.process_time() - cpu))
    with opened() as look_up:
        for key in asked[-WARM_UP:]:
            look_up(key)
        cpu = time.process_time()
        for key in asked[: options.lookups]:
            began = time.perf_counter()
            expect(look_up(key) >= is_there)
            spent.append(1000 * (time.perf_counter() - began))
        cpu = 1000 * (time.process_time() - cpu) / len(spent)
        held = max(0, anonymous() - before)
    p50, p95 = (float(value) for value in np.percentile(spent, [50, 95]))
    return {"first": float(np.median(first)), "first_cpu": float(np.median(first_cpu)), "p50": p50,
            "p95": p95, "cpu": cpu, "mib": held / 1024}  # fmt: skip


def forget(path: str) -> None:
    """Ask the system to drop a file from its cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def anonymous() -> int:
    """KiB of this process that no file is behind."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def expect(holds: bool) -> None:
    if not holds:
        raise SystemExit("a look-up gave a wrong answer: the numbers would mean nothing")


if __name__ == "__main__":
    main()
