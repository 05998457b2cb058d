"""Queries that need no row of a lineage table, or those of some snapshots only: told from the tree of
the parsed statement, before any file is opened.

How many rows a file has is in the registry. `count(*)` over one table, by snapshot, part or shard,
is a sum over the registry's rows; of a query with `snapshot = '...'` only the files of that
snapshot are opened.
"""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import duckdb
import pyarrow as pa

from catalog.db import LineageRow
from catalog.formats.lineage_tables import LINEAGE_TABLES

Node = dict[str, Any]

SUM = "SELECT CAST(coalesce(sum(file_rows), 0) AS BIGINT)"
COUNTED = "lineage_file_rows"
PLACES = {"snapshot", "part", "shard"}
PLAIN = {
    "COMPARISON",
    "CONJUNCTION",
    "CONSTANT",
    "COLUMN_REF",
    "FUNCTION",
    "OPERATOR",
    "CAST",
    "TYPE",
}


def nodes(tree: Any) -> Iterator[Node]:
    """Yield every node of a statement's tree."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


def tree_of(connection: duckdb.DuckDBPyConnection, sql: str) -> Node:
    """Return the tree of a statement; `error` is true in it where it is no query."""
    ((text,),) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    return dict(json.loads(text))


class OneTable:
    """A query over one lineage table and nothing else."""

    def __init__(self, tree: Node, select: Node, source: Node) -> None:
        self._tree, self._select, self._source = tree, select, source
        self.table = str(source["table_name"])
        self._called = {"", self.table, source["alias"]}

    @classmethod
    def of(cls, tree: Node) -> "OneTable | None":
        """Return the query of a statement; None where it is another one. Of clusters the view has
        more rows than the files."""
        if tree["error"]:
            return None
        select = tree["statements"][0]["node"]
        source = select.get("from_table") or {}
        tables = [node for node in nodes(tree) if str(node.get("type")) == "BASE_TABLE"]
        name = source.get("table_name")
        is_file = name in LINEAGE_TABLES and name != "cluster_members"
        is_plain = (
            select["type"] == "SELECT_NODE"
            and tables == [source]
            and not (source["sample"] or select["sample"] or select["cte_map"]["map"])
        )
        return cls(tree, select, source) if is_file and is_plain else None

    def snapshots(self) -> set[str] | None:
        """Return the snapshots that its rows must be of; None where they may be of any."""
        found: set[str] | None = None
        waiting = [self._select["where_clause"]]
        while waiting:
            node = waiting.pop() or {}
            if node.get("type") == "CONJUNCTION_AND":
                waiting += node["children"]
            elif node.get("type") in ("COMPARE_EQUAL", "COMPARE_IN"):
                first, *others = node.get("children") or [
                    node.get("left", {}),
                    node.get("right", {}),
                ]
                names = {_text(other) for other in others}
                if self._column(first) == "snapshot" and None not in names:
                    named = {name for name in names if name is not None}
                    found = named if found is None else found & named
        return found

    def files(self, files: Sequence[LineageRow]) -> list[LineageRow]:
        """Return the files that the query needs, of those of the table; of a table whose columns
        depend on the source one of every other snapshot."""
        asked = self.snapshots()
        if asked is None:
            return list(files)
        is_open, met = LINEAGE_TABLES[self.table].is_open, set[str]()
        kept = []
        for row in files:
            if row.snapshot in asked or (is_open and row.snapshot not in met):
                kept.append(row)
            met.add(row.snapshot)
        return kept

    def counting(
        self, connection: duckdb.DuckDBPyConnection, files: Sequence[LineageRow]
    ) -> str | None:
        """Return the same question over `COUNTED`; None where it is about more than how many rows
        snapshots, parts or shards have, of which each file has one."""
        inside = [node for node in nodes(self._select) if "class" in node]
        functions = [node for node in inside if node["class"] == "FUNCTION"]
        named = {each["alias"] for each in self._select["select_list"]}  # that rows are sorted by
        ordered = {*self._columns(self._select["modifiers"])} - named
        body = {name: part for name, part in self._select.items() if name != "modifiers"}
        columns = ordered.union(self._columns(body))
        places = PLACES.intersection(column.name for column in LINEAGE_TABLES[self.table].shown)
        is_count = bool(functions) and all(map(_is_count, functions))
        if not (is_count and columns <= places and {n["class"] for n in inside} <= PLAIN):
            return None
        if any(getattr(row, str(name)) is None for name in columns for row in files):
            return None
        total = tree_of(connection, SUM)["statements"][0]["node"]["select_list"][0]
        tree = deepcopy(self._tree)
        select = tree["statements"][0]["node"]
        for number, node in enumerate(select["select_list"]):
            if _is_count(node) and not node["alias"]:
                select["select_list"][number]["alias"] = "count_star()"
        for node in list(nodes(select)):
            if _is_count(node):
                alias = node["alias"]
                node.clear()
                node.update(deepcopy(total), alias=alias)
        source = select["from_table"]
        source["alias"] = source["alias"] or self.table
        source |= {"table_name": COUNTED, "schema_name": "", "qualified_name": {"path": [COUNTED]}}
        try:
            answer = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)])
            ((sql,),) = answer.fetchall()
            return str(sql)
        except duckdb.Error:  # of a release that writes trees in another way
            return None

    def _columns(self, tree: Any) -> Iterator[str | None]:
        found = (node for node in nodes(tree) if node.get("class") == "COLUMN_REF")
        return map(self._column, found)

    def _column(self, node: Node) -> str | None:
        """Return the name of a column of the table; None for anything else."""
        names = ["", *(node.get("column_names") or [])]
        return names[-1] if len(names) <= 3 and names[-2] in self._called else None


def _is_count(node: Node) -> bool:
    is_call = node.get("class") == "FUNCTION" and node.get("function_name") == "count_star"
    return is_call and not node["filter"] and not node["distinct"]


def _text(node: Node) -> str | None:
    """Return a string constant; None for anything else."""
    literal = node.get("literal") if node.get("class") == "CONSTANT" else None
    return str(literal["text"]) if literal and literal["kind"] == "STRING" else None


def file_rows(files: Sequence[LineageRow]) -> pa.Table:
    """Return how many rows each file has; of those without any no row, as in a count by group."""
    kept = [row for row in files if row.rows]
    return pa.table(
        {
            "snapshot": pa.array([row.snapshot for row in kept], pa.string()),
            "part": pa.array([row.part for row in kept], pa.int32()),
            "shard": pa.array([row.shard for row in kept], pa.string()),
            "file_rows": pa.array([row.rows for row in kept], pa.int64()),
        }
    )
