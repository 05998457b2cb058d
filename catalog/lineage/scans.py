"""Lineage files read by DuckDB: what to write after FROM, and the views that people see.

`raw.TABLE` has ids as 16 bytes, and a comparison with them skips row groups and files by their
statistics; `TABLE` shows them as hex and is for people. Tables that do not name their snapshot, part
or shard get those from the registry.
"""

import re
from collections.abc import Callable, Collection, Iterable

import pyarrow as pa

from catalog.db import LineageRow
from catalog.formats.line_kinds import LINE_KINDS
from catalog.formats.lineage_tables import LINEAGE_TABLES, LINES
from catalog.formats.store import FileStore
from catalog.lineage.duck import DuckTables, Row
from catalog.lineage.limits import QueryLimits

ABOUT_COLUMNS = ("information_schema", "duckdb_columns")

ALL_MEMBERS = """(
    FROM raw.cluster_members
    UNION ALL BY NAME
    SELECT found.*, place.snapshot, place.part, 'first' AS kind, true AS kept,
        CAST(1 AS FLOAT) AS similarity
    FROM (
        SELECT kept_doc_id AS doc_id, kept_doc_id, any_value(cluster_id) AS cluster_id,
            max(cluster_size) AS cluster_size
        FROM raw.cluster_members GROUP BY kept_doc_id HAVING NOT bool_or(kept)
    ) AS found JOIN raw.decisions AS place ON place.doc_id = found.doc_id AND place.kept
)"""
"""Members of all clusters. A snapshot is compared with those before it, so its files leave out a
kept document of an earlier one that had no copy there: that one is added."""


class FilesByTable(dict[str, list[LineageRow]]):
    """The files of each lineage table, looked up when a table is first asked for: a version of
    10,000 parts has 70,000, and most questions are about few tables."""

    def __init__(self, look_up: Callable[[str], list[LineageRow]]) -> None:
        self._look_up = look_up

    def __missing__(self, table: str) -> list[LineageRow]:
        self[table] = self._look_up(table)
        return self[table]


class LineageFiles(DuckTables):
    """Queries over some lineage files. Close it, or use it in a `with` statement."""

    shows_text = True
    """Whether `documents` and `final_text` have their texts."""

    def __init__(
        self,
        store: FileStore,
        look_up: Callable[[str], list[LineageRow]],
        whose: str,
        advice: str,
        limits: QueryLimits | None = None,
    ) -> None:
        """`look_up` returns the files of a table."""
        self.store = store
        self.whose, self.advice, self.limits = whose, advice, limits
        self.files = FilesByTable(look_up)
        self._viewed: set[str] = set()
        self._placed: set[str] = set()

    def addresses(self, tables: Collection[str] = LINEAGE_TABLES) -> list[str]:
        """Return the files of some tables, as DuckDB opens them."""
        return [self.store.address(row.path) for table in tables for row in self.files[table]]

    def scan(
        self,
        table: str,
        snapshot: str | None = None,
        parts: Iterable[int | None] | None = None,
        shards: Iterable[str] | None = None,
        files: Iterable[LineageRow] | None = None,
    ) -> str:
        """Return what to write after FROM to read a table with binary ids, of all files or of some.

        Parts with equal content share one file: it is read once, and its rows count for each
        part that registered it.
        """
        chosen = list(self.files[table] if files is None else files)
        conditions = ["data.filename = place.address"]
        if snapshot is not None:
            chosen = [row for row in chosen if row.snapshot == snapshot]
            conditions.append(f"place.snapshot = {quoted(snapshot)}")
        if parts is not None:
            wanted = {int(part) for part in parts if part is not None}
            chosen = [row for row in chosen if row.part is None or row.part in wanted]
            conditions.append(f"(place.part IS NULL OR place.part IN {_set(map(str, wanted))})")
        if shards is not None:
            names = set(shards)
            chosen = [row for row in chosen if row.shard is None or row.shard in names]
            conditions.append(f"(place.shard IS NULL OR place.shard IN {_set(map(quoted, names))})")
        if not chosen:
            return empty_table(table)
        addresses = dict.fromkeys(self.store.address(row.path) for row in chosen)
        listed = ", ".join(map(quoted, addresses))
        placed = ", ".join(f"place.{column.name}" for column in LINEAGE_TABLES[table].placed)
        if not placed:
            return f"(SELECT * FROM read_parquet([{listed}]))"
        return (
            f"(SELECT data.* EXCLUDE (filename), {placed} "
            f"FROM read_parquet([{listed}], filename = true{by_name(table)}) AS data "
            f"JOIN {self._places(table)} AS place ON {' AND '.join(conditions)})"
        )

    def create_views(self, filled: Collection[str] = LINEAGE_TABLES) -> None:
        """`raw.TABLE` with binary ids and `TABLE` with hex ids, for queries by people.

        DuckDB opens every file of a view when it is made, so those not `filled` stay empty.
        """
        for table in LINEAGE_TABLES:
            self._create_view(table, self.rows_of(table) if table in filled else empty_table(table))
        self._create_lines()

    def _create_view(self, table: str, rows: str) -> None:
        self.connection.execute("CREATE SCHEMA IF NOT EXISTS raw")
        self.connection.execute(f"CREATE VIEW raw.{table} AS FROM {rows}")
        ids = LINEAGE_TABLES[table].ids
        shown = ", ".join(f"lower(hex({name})) AS {name}" for name in ids)
        rows = ALL_MEMBERS if table == "cluster_members" else f"raw.{table}"
        self.connection.execute(f"CREATE VIEW {table} AS SELECT * REPLACE ({shown}) FROM {rows}")

    def _create_lines(self) -> None:
        """Make the view `lines`, of documents: it has no files of its own."""
        names = ", ".join(map(quoted, LINE_KINDS))
        texts = "string_split(text, chr(10))" if self.shows_text else "NULL"
        is_shown = "trim(text) <> ''" if self.shows_text else "kind <> 'other'"
        self.connection.execute(
            f"""CREATE VIEW {LINES.name} AS
            SELECT doc_id, snapshot, part, "offset", CAST(line AS INTEGER) AS line,
                [{names}][coalesce(kinds[line], 0) + 1] AS kind, texts[line] AS text
            FROM (
                SELECT *, unnest(range(1, coalesce(len(texts), len(kinds)) + 1)) AS line FROM (
                    SELECT doc_id, snapshot, part, "offset", line_kinds AS kinds,
                        CAST({texts} AS VARCHAR[]) AS texts
                    FROM documents
                )
            ) WHERE {is_shown}"""
        )

    def rows_of(self, table: str) -> str:
        """Return what a view shows, to write after FROM."""
        return self.scan(table)

    def ask(self, sql: str, most: int | None = None) -> list[Row]:
        """Run a query over the views of the tables that it names; the first `most` rows."""
        for table in (name for name in named_tables(sql) if name not in self._viewed):
            self._create_view(table, self.rows_of(table))
            self._viewed.add(table)
            if table == "documents":
                self._create_lines()
        return self.query(sql, most=most)

    def _places(self, table: str) -> str:
        """Return the name of what says of which part or shard each file of a table is."""
        name = f"places_of_{table}"
        if table not in self._placed:
            rows = self.files[table]
            self.connection.register(
                name,
                pa.table(
                    {
                        "address": pa.array(
                            [self.store.address(r.path) for r in rows], pa.string()
                        ),
                        "snapshot": pa.array([r.snapshot for r in rows], pa.string()),
                        "part": pa.array([r.part for r in rows], pa.int32()),
                        "shard": pa.array([r.shard for r in rows], pa.string()),
                    }
                ),
            )
            self._placed.add(table)
        return name


def named_tables(sql: str) -> list[str]:
    """Return the lineage tables whose files a query may need: those it names, or all where it asks
    what columns there are."""
    if any(mentions(sql, word) for word in ABOUT_COLUMNS):
        return list(LINEAGE_TABLES)
    named = {table for table in LINEAGE_TABLES if mentions(sql, table)}
    if "cluster_members" in named:
        named.add("decisions")  # of which the view takes what the clusters' files leave out
    if mentions(sql, LINES.name):
        named.add("documents")
    return [table for table in LINEAGE_TABLES if table in named]


def mentions(sql: str, table: str) -> bool:
    return re.search(rf"(?i)(?<!\w){table}(?!\w)", sql) is not None


def quoted(text: str) -> str:
    """Return a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _set(values: Iterable[str]) -> str:
    """Return a SQL set; NULL keeps an empty one valid, and matches nothing."""
    return f"({', '.join(sorted(values)) or 'NULL'})"


def empty_table(table: str) -> str:
    """Return a table without rows, as `scan` writes it where no file is registered."""
    values = ", ".join(
        f'CAST(NULL AS {_sql_type(column.type)}) AS "{column.name}"'
        for column in LINEAGE_TABLES[table].shown
    )
    return f"(SELECT {values} WHERE false)"


def by_name(table: str) -> str:
    return ", union_by_name = true" if LINEAGE_TABLES[table].is_open else ""


SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
}


def _sql_type(kind: pa.DataType) -> str:
    """Return what DuckDB calls the type of a Parquet column."""
    if pa.types.is_struct(kind):
        members = [f'"{each.name}" {_sql_type(each.type)}' for each in kind]
        return f"STRUCT({', '.join(members)})"
    if pa.types.is_map(kind):
        return f"MAP({_sql_type(kind.key_type)}, {_sql_type(kind.item_type)})"
    if pa.types.is_list(kind):
        return f"{_sql_type(kind.value_type)}[]"
    return "BLOB" if pa.types.is_fixed_size_binary(kind) else SQL_TYPES[kind]
