"""Make sorted keys of the lineage tables, so that one document is found among billions of rows.

A task indexes a *run*: the files of `UNITS_PER_RUN` consecutive parts of a snapshot (or shards of
a group). A changed part rewrites the keys of its run and of no other, and a look-up searches one
file a run. `catalog.formats.key_files` has the format; the catalog only reads it.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.formats.key_files import (
    COLUMNS,
    HOSTS,
    TABLE_OF,
    TEXT_IDS,
    Keys,
    Places,
    Unit,
    encode_hashes,
    encode_hosts,
    keys_of,
    surt_hosts,
)

VERSION = 1

UNITS_PER_RUN = 64
"""Parts of Common Crawl have some 30,000 documents: 50 million are 26 runs."""

KINDS: Mapping[str, tuple[str, ...]] = {
    table: tuple(kind for kind, of in TABLE_OF.items() if of == table)
    for table in dict.fromkeys(TABLE_OF.values())
}
"""Lineage table -> the kinds of keys it gets."""


def columns_of(table: str) -> list[str]:
    """Return the columns that the keys of a lineage table are made from."""
    names = [name for kind in KINDS[table] for name in COLUMNS[kind]]
    return list(dict.fromkeys([*names, "derived_from"] if table == "documents" else names))


def make_keys(table: str, units: Iterable[tuple[Unit, pa.Table]]) -> dict[str, bytes]:
    """Make the key files of a run by kind, from its tables in order.

    Memory: 24 bytes for each key of the run, and one table. Time: a sort of the keys, and a
    hash of every url_key.
    """
    rows: list[tuple[Unit, int]] = []
    derived: list[int] = []
    keys: dict[str, list[Keys]] = {kind: [np.empty(0, np.uint64)] for kind in KINDS[table]}
    places: dict[str, list[Places]] = {kind: [np.empty(0, np.int64)] for kind in KINDS[table]}
    hosts: list[pa.Array] = [pa.array([], pa.string())]
    first = 0
    for unit, data in units:
        for kind in KINDS[table]:
            if kind == HOSTS:
                names = surt_hosts(data)
                hosts.append(names.drop_null())
                numbers = np.flatnonzero(names.is_valid().to_numpy(zero_copy_only=False))
            else:
                found, numbers = keys_of(kind, data)
                keys[kind].append(found)
            places[kind].append(numbers + first)
        if table == "documents":
            derived.append(_count_derived(data["derived_from"]))
        rows.append((unit, data.num_rows))
        first += data.num_rows
    made: dict[str, bytes] = {}
    for kind in KINDS[table]:
        numbers = np.concatenate(places[kind])
        if kind == HOSTS:
            made[kind] = encode_hosts(rows, pa.concat_arrays(hosts), numbers)
        else:
            counts = derived if kind == TEXT_IDS else ()
            made[kind] = encode_hashes(kind, rows, np.concatenate(keys[kind]), numbers, counts)
    return made


def _count_derived(column: pa.ChunkedArray) -> int:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return int(pc.sum(pc.greater(lengths, 0)).as_py() or 0)
