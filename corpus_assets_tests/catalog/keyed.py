"""A published version once more, with key files for its lineage."""

import dataclasses
import hashlib
from collections.abc import Iterator

import pyarrow.parquet as pq

from catalog.db.rows import KeyRow, LineageRow
from catalog.formats.key_files import TABLE_OF, Unit
from corpus_assets.lineage.stage import KINDS, columns_of, make_keys
from corpus_assets_tests.catalog.corpus import Corpus


def unit_of(row: LineageRow) -> Unit:
    return row.shard if row.shard is not None else row.part


def write_keys(corpus: Corpus, version: str, units_per_run: int) -> list[KeyRow]:
    """Key files of every table, in runs of `units_per_run` files of a snapshot."""
    rows: list[KeyRow] = []
    for table, run in _runs(corpus, version, units_per_run):
        root = corpus.home / "store"
        columns = columns_of(table)
        made = make_keys(
            table, ((unit_of(f), pq.read_table(root / f.path, columns=columns)) for f in run)
        )
        assert set(made) == set(KINDS[table])
        for kind, data in made.items():
            digest = hashlib.sha256(data).hexdigest()
            path = f"artifacts/lineage_keys/{digest}.keys"
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
            total = sum(file.rows for file in run)
            rows.append(KeyRow(kind, run[0].snapshot, path, digest, len(data), total))
    return rows


def publish_with_keys(corpus: Corpus, name: str = "keyed", units_per_run: int = 1) -> None:
    """Publish version v1 under another name, with key files."""
    registry = corpus.registry
    row = dataclasses.replace(registry.version("v1"), name=name, created_at="")
    registry.publish_version(
        row,
        registry.version_shards("v1"),
        registry.lineage_files("v1"),
        keys=write_keys(corpus, "v1", units_per_run),
    )


def _runs(
    corpus: Corpus, version: str, units_per_run: int
) -> Iterator[tuple[str, list[LineageRow]]]:
    files = corpus.registry.lineage_files(version)
    for table in dict.fromkeys(TABLE_OF.values()):
        for snapshot in dict.fromkeys(row.snapshot for row in files):
            mine = [r for r in files if r.table_name == table and r.snapshot == snapshot]
            for first in range(0, len(mine), units_per_run):
                yield table, mine[first : first + units_per_run]
