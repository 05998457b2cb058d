"""The lineage of all live versions at once, each file read once however many versions share it."""

# ruff: noqa: S608 - FROM parts are written by LiveLineage.scan alone; values are always bound

import os
import tempfile
from collections.abc import Sequence
from typing import Any, Self

import duckdb
import pyarrow as pa

from catalog.errors import LineageBroken, StoreFileError
from catalog.files import Store
from catalog.lineage import Row, empty_table, first_line, quoted
from catalog.registry import Registry
from catalog.rows import LINEAGE_TABLES, VersionRow

MIN_PREFIX = 4


class LiveLineage:
    """Queries over every live version. Close it, or use it in a `with` statement.

    `scan` gives a table's rows of all versions with the column `filename`; the table
    `live_files` (version, table_name, filename, snapshot, shard) tells whose they are.
    """

    def __init__(self, registry: Registry, store: Store) -> None:
        self.registry = registry
        self.store = store
        self.versions: list[VersionRow] = [v for v in registry.versions() if v.status == "live"]
        self._paths: dict[str, dict[str, list[str]]] = {}
        rows = []
        for version in self.versions:
            tables = self._paths.setdefault(version.name, {table: [] for table in LINEAGE_TABLES})
            for row in registry.lineage_files(version.name):
                address = store.address(row.path)
                tables[row.table_name].append(address)
                rows.append((version.name, row.table_name, address, row.snapshot, row.shard))
        spill = os.path.join(tempfile.gettempdir(), f"catalog-duckdb-{os.getpid()}")
        self.connection = duckdb.connect(
            ":memory:", config={"python_enable_replacements": "false", "temp_directory": spill}
        )
        if not store.is_local:
            self.connection.register_filesystem(store.filesystem)
        self._register(
            "live_files", ("version", "table_name", "filename", "snapshot", "shard"), rows
        )
        ranks = [(snapshot.name, snapshot.rank) for snapshot in registry.snapshots()]
        self.connection.register(
            "snapshot_ranks",
            pa.table(
                {
                    "snapshot": pa.array([name for name, _ in ranks], pa.string()),
                    "rank": pa.array([rank for _, rank in ranks], pa.int64()),
                }
            ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def scan(self, table: str, version: str | None = None) -> str:
        """What to write after FROM to read a table of all live versions, or of one."""
        names = [version] if version is not None else list(self._paths)
        files = dict.fromkeys(path for name in names for path in self._paths[name][table])
        if not files:
            return f"(SELECT *, CAST(NULL AS VARCHAR) AS filename FROM {empty_table(table)})"
        listed = ", ".join(map(quoted, files))
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

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one of our own queries; rows as dicts, ids as bytes."""
        try:
            answer = self.connection.execute(sql, list(parameters))
            names = [column[0] for column in answer.description or ()]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        except duckdb.IOException as error:
            raise StoreFileError(
                f"a lineage file of a live version cannot be read: {first_line(error)}; "
                "`catalog verify VERSION` lists damaged files"
            ) from error
        except duckdb.Error as error:
            raise LineageBroken(
                f"the lineage of the live versions cannot be queried: {first_line(error)}; "
                "`catalog verify VERSION` lists what is wrong"
            ) from error

    def doc_ids_from(self, digits: str, limit: int) -> list[bytes]:
        """Documents of any live version whose id begins with these hex digits."""
        lowest = bytes.fromhex(digits.ljust(32, "0"))
        highest = bytes.fromhex(digits.ljust(32, "f"))
        found = self.query(
            f"SELECT DISTINCT doc_id FROM {self.scan('documents')} "
            "WHERE doc_id BETWEEN ? AND ? ORDER BY doc_id LIMIT ?",
            [lowest, highest, limit],
        )
        return [bytes(row["doc_id"]) for row in found]

    def _register(
        self, name: str, columns: Sequence[str], rows: Sequence[tuple[str | None, ...]]
    ) -> None:
        values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        arrays = [pa.array(list(column), pa.string()) for column in values]
        self.connection.register(name, pa.table(arrays, names=list(columns)))
