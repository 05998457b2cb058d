"""The tables that a report counts in: views over a version's lineage files, before it is published.

They are those of `catalog sql`, but for what a report must not show: extracted text, and records under
a takedown. DuckDB opens every file of a view, so that of a large version only some parts are looked at.
Queries see nothing but these files.
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from catalog.db import LineageRow
from catalog.formats.lineage_tables import SIGNALS
from catalog.formats.store import FileStore
from catalog.lineage import LineageFiles, empty_table, quoted
from corpus_assets.core.column_types import ColumnTypes, arrow_schema

MOST_RECORDS = 10_000_000
MOST_PARTS = 1_000
MOST_MEMBERS = 2_000_000  # of clusters
MEMORY = "1GB"  # from there on DuckDB writes to disk

HIDDEN = {
    "records": "WHERE reason IS DISTINCT FROM 'suppressed'",
    "decisions": "WHERE reason IS DISTINCT FROM 'suppressed'",
}
WITH_TEXT = ("documents", "final_text")


class ReportTables(LineageFiles):
    """Some parts of a version, or all.

    `records` counts those of the version, `looked_at` those in the parts that the tables have.
    """

    shows_text = False

    def __init__(
        self,
        store: FileStore,
        rows: Sequence[LineageRow],
        version: str,
        *,
        threads: int | None = None,
    ) -> None:
        advice = "the build's files were changed or removed; build the version again"
        files: dict[str, list[LineageRow]] = {}
        for row in rows:
            files.setdefault(row.table_name, []).append(row)
        super().__init__(store, lambda table: files.get(table, []), f"version {version}", advice)
        self.records = self.looked_at = sum(row.rows for row in self.files["records"])
        self.every = 1  # one cluster of so many is looked at
        members = sum(row.rows for row in self.files["cluster_members"])
        while members > self.every * MOST_MEMBERS:
            self.every *= 16
        self._threads = threads

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"SET memory_limit = {quoted(MEMORY)}")
        if self._threads is not None:
            connection.execute(f"SET threads = {self._threads:d}")
        allowed = ", ".join(map(quoted, self.addresses()))
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")

    def has_column(self, table: str, name: str) -> bool:
        """Whether a table of the schema `raw` has a column that not every version has."""
        columns = self.ask(f"FROM (DESCRIBE FROM raw.{table})")
        return any(row["column_name"] == name for row in columns)

    def rows_of(self, table: str) -> str:
        scan = self.scan(table)
        if table in WITH_TEXT:
            return f"(FROM {scan} SELECT * EXCLUDE (text))"
        if table == "cluster_members" and self.every > 1:
            digits = "0" * (self.every.bit_length() // 4)  # ids are hashes: a fair share
            return f"(FROM {scan} WHERE starts_with(hex(kept_doc_id), {quoted(digits)}))"
        return f"(FROM {scan} {HIDDEN.get(table, '')})"


class EmptyTables(ReportTables):
    """Tables without rows, with the signals that a recipe computes: for trying a query."""

    def __init__(self, store: FileStore, signals: ColumnTypes) -> None:
        super().__init__(store, [], "not built yet")
        self._signals = signals

    def scan(self, table: str, *_: object, **__: object) -> str:
        if table != "signals":
            return empty_table(table)
        declared = {column.name: column.type for column in SIGNALS.shown}
        computed = {field.name: field.type for field in arrow_schema(self._signals)}
        schema = pa.schema({**declared, **computed})
        self.connection.register("no_signals", schema.empty_table())
        return "no_signals"


def some_parts(store: FileStore, rows: Sequence[LineageRow], version: str) -> ReportTables:
    """Return the tables of parts that are evenly spaced over a version.

    Queries of people may leave the order of rows open, so they run in one thread: the page is a
    pure function of the version.
    """
    ledgers = [row for row in rows if row.table_name == "records"]
    records = sum(row.rows for row in ledgers)
    every = max(1, -(-records // MOST_RECORDS), -(-len(ledgers) // MOST_PARTS))
    chosen = {(row.snapshot, row.part) for row in ledgers[::every]}
    shards = {row.path for row in [row for row in rows if row.part is None][::every]}
    some = [row for row in rows if (row.snapshot, row.part) in chosen or row.path in shards]
    tables = ReportTables(store, some, version, threads=1)
    tables.records = records
    return tables
