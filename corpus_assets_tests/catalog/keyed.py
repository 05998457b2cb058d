"""Key files for the lineage of a corpus made by hand."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from catalog.db.rows import KeyRow, LineageRow
from catalog.formats.key_files import TABLE_OF, Unit
from corpus_assets.lineage.keys import KINDS, columns_of, make_keys


def write_keys(store: Path, files: Sequence[LineageRow], units_per_run: int) -> list[KeyRow]:
    """Key files of every table, in runs of `units_per_run` files of a snapshot."""
    rows: list[KeyRow] = []
    for table, run in _runs(files, units_per_run):
        columns = columns_of(table)
        made = make_keys(
            table, ((_unit(f), pq.read_table(store / f.path, columns=columns)) for f in run)
        )
        assert set(made) == set(KINDS[table])
        for kind, data in made.items():
            digest = hashlib.sha256(data).hexdigest()
            path = f"artifacts/lineage_keys/{digest}.keys"
            (store / path).parent.mkdir(parents=True, exist_ok=True)
            (store / path).write_bytes(data)
            total = sum(file.rows for file in run)
            rows.append(KeyRow(kind, run[0].snapshot, path, digest, len(data), total))
    return rows


def _unit(row: LineageRow) -> Unit:
    return row.shard if row.shard is not None else row.part


def _runs(
    files: Sequence[LineageRow], units_per_run: int
) -> Iterator[tuple[str, list[LineageRow]]]:
    for table in dict.fromkeys(TABLE_OF.values()):
        for snapshot in dict.fromkeys(row.snapshot for row in files):
            mine = [r for r in files if r.table_name == table and r.snapshot == snapshot]
            for first in range(0, len(mine), units_per_run):
                yield table, mine[first : first + units_per_run]
