"""Are a version's key files what they claim? Each must find every row at its place and nothing else.

That costs one read of the key columns of the tables, and a sort of the keys of a run at a time.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db import KeyRow, LineageRow
from catalog.errors import StoreFileError
from catalog.figures import counted
from catalog.formats.key_files import COLUMNS, HOSTS, TABLE_OF, Unit, keys_of, surt_hosts
from catalog.formats.store import FileStore
from catalog.lineage import KeyFile


def check_keys(
    store: FileStore, rows: Sequence[KeyRow], lineage: Sequence[LineageRow], damaged: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield (path, problem) of each key file that does not fit; damaged files are passed over."""
    files: dict[tuple[str, str, Unit], LineageRow] = {}
    for file in lineage:
        unit = file.shard if file.shard is not None else file.part
        files[(file.table_name, file.snapshot, unit)] = file
    met: dict[str, set[tuple[str, Unit]]] = {kind: set() for kind in TABLE_OF}
    for row in rows:
        if row.path in damaged:
            continue
        problem = _problem(store, row, files, damaged, met.setdefault(row.kind, set()))
        if problem is not None:
            yield row.path, problem
    for kind, found in sorted(met.items()):
        missing = [
            f"{snapshot} {unit}"
            for (table, snapshot, unit), file in files.items()
            if table == TABLE_OF.get(kind) and file.rows and (snapshot, unit) not in found
        ]
        if missing and not damaged:
            yield (
                kind,
                f"has no keys for {counted(len(missing), 'file')}, the first is {missing[0]}",
            )


def _problem(
    store: FileStore,
    row: KeyRow,
    files: Mapping[tuple[str, str, Unit], LineageRow],
    damaged: set[str],
    met: set[tuple[str, Unit]],
) -> str | None:
    try:
        key_file = KeyFile(store, row.path)
    except StoreFileError as error:
        return str(error)
    header = key_file.header
    if header.kind != row.kind or header.kind not in TABLE_OF:
        return f"is registered as {row.kind} and says it is {header.kind}"
    tables: list[pa.Table] = []
    for unit, rows in header.units:
        met.add((row.snapshot, unit))
        file = files.get((TABLE_OF[row.kind], row.snapshot, unit))
        if file is None or file.rows != rows:
            return (
                f"is made for {counted(rows, 'row')} of {unit}, the version has another file there"
            )
        if file.path in damaged:
            return None
        with store.open(file.path) as handle:
            columns = list(COLUMNS[row.kind])
            tables.append(pq.read_table(handle, columns=columns, use_threads=False))
    if sum(rows for _, rows in header.units) != row.rows:
        return f"is registered with {counted(row.rows, 'row')}"
    if row.kind == HOSTS:
        same = _hosts_agree(key_file, tables)
    else:
        same = _hashes_agree(key_file, row.kind, tables)
    return None if same else "disagrees with its tables: rebuild the version's keys"


def _hashes_agree(key_file: KeyFile, kind: str, tables: Sequence[pa.Table]) -> bool:
    keys, places = key_file.places(0, (1 << 64) - 1)
    found = [keys_of(kind, table) for table in tables]
    expected = np.concatenate([np.empty(0, np.uint64), *(some for some, _ in found)])
    rows = [places for _, places in found]
    numbers = _end_to_end(tables, rows)
    order = np.lexsort((numbers, expected))
    return np.array_equal(keys, expected[order]) and np.array_equal(places, numbers[order])


def _hosts_agree(key_file: KeyFile, tables: Sequence[pa.Table]) -> bool:
    names = [surt_hosts(table) for table in tables]
    valid = [np.flatnonzero(some.is_valid().to_numpy(zero_copy_only=False)) for some in names]
    numbers = _end_to_end(tables, valid)
    by_host: dict[bytes, list[int]] = {}
    hosts = [host.encode() for some in names for host in some.drop_null().to_pylist()]
    for host, number in zip(hosts, numbers.tolist(), strict=True):
        by_host.setdefault(host, []).append(number)
    return key_file.all_hosts() == sorted(by_host.items())


def _end_to_end(
    tables: Sequence[pa.Table], rows: Sequence[npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64]:
    """Return row numbers of single tables as places that count through all of them."""
    first = 0
    moved = [np.empty(0, np.int64)]
    for table, numbers in zip(tables, rows, strict=True):
        moved.append(numbers + first)
        first += table.num_rows
    return np.concatenate(moved)
