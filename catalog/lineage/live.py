"""The lineage of all live versions at once, each file read once however many versions share it."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from catalog.db.registry import Registry
from catalog.db.rows import LINEAGE_TABLES, LineageRow, VersionRow
from catalog.formats.key_files import DOCUMENT_IDS
from catalog.formats.store import Store
from catalog.lineage.rows import Keys, ParquetRows, ids_between
from catalog.lineage.tables import DuckTables, empty_table, quoted

MIN_PREFIX = 4


class LiveLineage(DuckTables):
    """Queries over every live version. Close it, or use it in a `with` statement.

    `scan` gives a table's rows of all versions with the column `filename`; the table
    `live_files` (version, table_name, filename, snapshot, shard) tells whose they are.
    """

    whose = "the live versions"
    advice = "`catalog verify VERSION` lists damaged files"

    def __init__(self, registry: Registry, store: Store) -> None:
        self.registry = registry
        self.store = store
        self.versions: list[VersionRow] = [v for v in registry.versions() if v.status == "live"]
        self.files: dict[str, dict[str, list[LineageRow]]] = {}
        for version in self.versions:
            tables = self.files.setdefault(version.name, {table: [] for table in LINEAGE_TABLES})
            for row in registry.lineage_files(version.name):
                tables[row.table_name].append(row)
        self.rows = ParquetRows(store, self.advice)
        self._focus: Mapping[str, Collection[str]] = {}

    def close(self) -> None:
        super().close()
        self.rows.close()

    @cached_property
    def keys(self) -> dict[str, Keys]:
        """The key files of each version."""
        return {
            name: Keys(self.store, self.registry.key_files(name), files)
            for name, files in self.files.items()
        }

    def focus(self, paths: Mapping[str, Collection[str]]) -> None:
        """From now on read only these files of the tables named; of all others, all files.

        For callers that know from key files where all rows are that they will ask for.
        """
        self._focus = paths

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        rows = [
            (version, row.table_name, self.store.address(row.path), row.snapshot, row.shard)
            for version, tables in self.files.items()
            for files in tables.values()
            for row in files
        ]
        columns = ("version", "table_name", "filename", "snapshot", "shard")
        values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        arrays = [pa.array(list(column), pa.string()) for column in values]
        connection.register("live_files", pa.table(arrays, names=list(columns)))
        ranks = [(snapshot.name, snapshot.rank) for snapshot in self.registry.snapshots()]
        connection.register(
            "snapshot_ranks",
            pa.table(
                {
                    "snapshot": pa.array([name for name, _ in ranks], pa.string()),
                    "rank": pa.array([rank for _, rank in ranks], pa.int64()),
                }
            ),
        )

    def scan(self, table: str, version: str | None = None) -> str:
        """What to write after FROM to read a table of all live versions, or of one."""
        names = [version] if version is not None else list(self.files)
        paths = dict.fromkeys(row.path for name in names for row in self.files[name][table])
        if table in self._focus:
            paths = dict.fromkeys(path for path in paths if path in self._focus[table])
        if not paths:
            return f"(SELECT *, CAST(NULL AS VARCHAR) AS filename FROM {empty_table(table)})"
        listed = ", ".join(quoted(self.store.address(path)) for path in paths)
        # Signals have the columns of their recipe; the other tables are the same everywhere.
        by_name = ", union_by_name = true" if table == "signals" else ""
        return f"(SELECT * FROM read_parquet([{listed}], filename = true{by_name}))"

    def columns(self, table: str, version: str) -> set[str]:
        """The columns a version's table has."""
        found = self.query(f"DESCRIBE SELECT * FROM {self.scan(table, version)}")
        return {row["column_name"] for row in found}

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one of our own statements that changes a temporary table; gives the rows changed."""
        rows = self.query(sql, parameters)
        return int(rows[0].get("Count", 0)) if rows else 0

    def doc_ids_from(self, digits: str, limit: int) -> list[bytes]:
        """Documents of any live version whose id begins with these hex digits."""
        lowest = bytes.fromhex(digits.ljust(32, "0"))
        highest = bytes.fromhex(digits.ljust(32, "f"))
        if all(keys.covers(DOCUMENT_IDS) for keys in self.keys.values()):
            found = [
                ids_between(keys, self.rows, lowest, highest, limit) for keys in self.keys.values()
            ]
            return sorted({doc_id for some in found for doc_id in some})[:limit]
        rows = self.query(
            f"SELECT DISTINCT doc_id FROM {self.scan('documents')} "
            "WHERE doc_id BETWEEN ? AND ? ORDER BY doc_id LIMIT ?",
            [lowest, highest, limit],
        )
        return [bytes(row["doc_id"]) for row in rows]
