"""`catalog sql`: registry and lineage as one database, for reading only.

Three walls, because each alone has a door:

1. The statement is parsed, and its tree may hold only query nodes and a few table functions.
   The kind of statement is not enough: DuckDB calls `WITH a AS (COPY ... TO ...) SELECT ...` a
   SELECT, and functions such as `read_csv` or `query` reach files and other statements.
2. The engine may open the version's own lineage files and nothing else, and its settings are
   locked. This alone would still let a COPY overwrite one of those files.
3. Registry tables are copies, handed in as views: there is no table to write to.
"""

import json
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from sqlalchemy import BigInteger, Boolean, Double, Integer, Table, select

from catalog.ask.counts import COUNTED, OneTable, file_rows, nodes, tree_of
from catalog.db import Registry, metadata
from catalog.errors import QueryRefused
from catalog.figures import counted
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, QueryLimits, first_line, mentions, named_tables, quoted

QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
TABLE_FUNCTIONS = {
    "range",
    "generate_series",
    "unnest",
    "json_each",
    "json_tree",
    "duckdb_columns",
    "duckdb_functions",
    "duckdb_tables",
    "duckdb_views",
    "pragma_table_info",
    "repeat",
}
CHUNK_ROWS = 50_000


@dataclass(frozen=True)
class QueryAnswer:
    """The answer to one query: the version that was asked, and at most so many rows."""

    version: str
    state: str
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.truncated:
            return ()
        return (f"output cut to {counted(len(self.rows), 'row')} (see --limit)",)


def run_query(
    registry: Registry,
    store: FileStore,
    version: str | None,
    sql: str,
    limit: int,
    limits: QueryLimits | None = None,
) -> QueryAnswer:
    """Return the answer to one query, at most `limit` rows of it."""
    with Lineage(registry, store, version, limits) as lineage:
        check_query(lineage.connection, sql)
        one = OneTable.of(tree_of(lineage.connection, sql))
        asked = named_tables(sql)
        if one is not None:
            files = lineage.files[one.table] = one.files(lineage.files[one.table])
            counting = one.counting(lineage.connection, files)
            if counting is not None:
                lineage.connection.register(COUNTED, file_rows(files))
                asked, sql = [], counting
        lineage.create_views(asked)
        for name, table in metadata.tables.items():
            lineage.connection.register(name, _copied(registry, table, mentions(sql, name)))
        allowed = ", ".join(quoted(address) for address in lineage.addresses(asked))
        lineage.connection.execute(f"SET allowed_paths = [{allowed}]")
        lineage.connection.execute("SET enable_external_access = false")
        lineage.connection.execute("SET lock_configuration = true")
        try:
            answer = lineage.connection.execute(sql)
            columns = [column[0] for column in answer.description or ()]
            rows = answer.fetchmany(limit + 1)
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise (limits or QueryLimits()).out_of_memory() from error
        except duckdb.Error as error:
            raise QueryRefused(f"the query failed: {first_line(error)}") from error
    return QueryAnswer(
        version=lineage.version.name,
        state=lineage.version.state,
        columns=columns,
        rows=[list(row) for row in rows[:limit]],
        truncated=len(rows) > limit,
    )


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse whatever is not one statement that only reads."""
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryRefused(f"the query cannot be parsed: {first_line(error)}") from error
    if len(statements) != 1:
        raise QueryRefused(f"give one statement, not {len(statements)}")
    tree = tree_of(connection, sql)
    if tree["error"]:
        raise QueryRefused("`catalog sql` only reads: give a SELECT, WITH, FROM or DESCRIBE")
    for node in nodes(tree):
        kind = str(node.get("type"))
        if kind.endswith("_NODE") and kind not in QUERY_NODES:
            word = kind.removesuffix("_NODE").removesuffix("_QUERY")
            raise QueryRefused(f"`catalog sql` only reads: {word} is not allowed")
        if kind == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            if name not in TABLE_FUNCTIONS:
                raise QueryRefused(
                    f"`catalog sql` reads the catalog's own tables only: {name}() is not allowed "
                    "(`SHOW TABLES` lists them)"
                )


def _copied(registry: Registry, table: Table, fill: bool) -> pa.Table:
    """Return a registry table in memory; one that the query does not name stays empty, to save
    time."""
    schema = pa.schema([(column.name, _arrow_type(column.type)) for column in table.columns])
    batches = []
    if fill:
        with registry.database.read() as connection:
            answer = connection.execution_options(yield_per=CHUNK_ROWS).execute(select(table))
            for rows in answer.partitions():
                columns = [
                    pa.array([_plain(value) for value in values], field.type)
                    for values, field in zip(zip(*rows, strict=True), schema, strict=True)
                ]
                batches.append(pa.record_batch(columns, schema=schema))
    return pa.Table.from_batches(batches, schema)


def _arrow_type(kind: Any) -> pa.DataType:
    for sql_type, arrow_type in (
        (Boolean, pa.bool_()),
        (BigInteger, pa.int64()),
        (Integer, pa.int64()),
        (Double, pa.float64()),
    ):
        if isinstance(kind, sql_type):
            return arrow_type
    return pa.string()


def _plain(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value
