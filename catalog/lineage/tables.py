"""The lineage tables of a version, or of all live ones: registered Parquet files, read by DuckDB.

`raw.TABLE` has document ids as 16 bytes, and a comparison with them skips row groups and files
by their statistics; `TABLE` shows them as hex and is for people. Tables that do not name their
snapshot, part or shard get those from the registry. Single documents are found by key files
(`lookups.py`) and read row by row, without DuckDB.
"""

import os
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import duckdb
import pyarrow as pa

from catalog.db.processes import process_name
from catalog.db.registry import Registry
from catalog.db.rows import LineageRow, ShardRow, VersionRow
from catalog.errors import LineageBroken, StoreFileError, VersionDeleted
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.store import Store
from catalog.formats.token_text import TokenBytes
from catalog.lineage.limits import SPILL, QueryLimits
from catalog.lineage.rows import Keys, ParquetRows, ids_between

if TYPE_CHECKING:
    from catalog.formats.manifest import Manifest


Row = dict[str, Any]


class DuckTables:
    """What queries over lineage share. Close it, or use it in a `with` statement.

    `whose` says in messages whose lineage it is, `advice` what to do about a damaged file.
    """

    store: Store
    whose: str
    advice: str
    limits: QueryLimits | None = None

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database in memory that may read the store's files and spill to the temp folder."""
        spill = os.path.join(tempfile.gettempdir(), SPILL + process_name())
        config: dict[str, Any] = {
            "python_enable_replacements": "false",
            "temp_directory": spill,
        }
        if self.limits is not None:
            config["memory_limit"] = f"{self.limits.rows_bytes}B"
        connection = duckdb.connect(":memory:", config=config)
        if not self.store.is_local:
            connection.register_filesystem(self.store.filesystem)
        self._fill(connection)
        return connection

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Register the tables that queries count on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        if "connection" in self.__dict__:
            self.connection.close()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one of our own queries, within the limits if there are any; rows as dicts, ids as
        bytes."""
        try:
            with _interrupted(self.connection, self.limits):
                answer = self.connection.execute(sql, list(parameters))
                names = [column[0] for column in answer.description or ()]
                return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        except duckdb.IOException as error:
            raise StoreFileError(
                f"a lineage file of {self.whose} cannot be read: {first_line(error)}; {self.advice}"
            ) from error
        except duckdb.Error as error:
            raise LineageBroken(
                f"the lineage of {self.whose} cannot be queried: {first_line(error)}; {self.advice}"
            ) from error


@contextmanager
def _interrupted(
    connection: duckdb.DuckDBPyConnection, limits: QueryLimits | None
) -> Iterator[None]:
    """Stop what a connection does at the end of its time."""
    if limits is None:
        yield
        return
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        connection.interrupt()

    timer = threading.Timer(limits.time_s, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        if is_late.is_set():
            raise limits.out_of_time() from error
        raise
    except duckdb.OutOfMemoryException as error:
        raise limits.out_of_memory() from error
    finally:
        timer.cancel()


def first_line(error: Exception) -> str:
    """Return the first line of a database's message; the rest draws the query."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# Versions whose files are gone.


def deletion(registry: Registry, store: Store, version: VersionRow) -> str | None:
    """Say when and why a version was deleted, and what took its place; None where it is there."""
    if version.status != "revoked" or store.exists(version.manifest_path):
        return None
    requests = ", ".join(str(number) for number in registry.takedowns_replacing(version.name))
    after = f"after takedown {requests}" if requests else "after it was revoked"
    instead = f", replaced by {version.superseded_by}" if version.superseded_by else ""
    return f"version {version.name} was deleted {after}{instead}"


def require_present(registry: Registry, store: Store, version: VersionRow) -> None:
    """Refuse to look into a version that was deleted."""
    said = deletion(registry, store, version)
    if said is not None:
        ask = f", ask for {version.superseded_by}" if version.superseded_by else ""
        raise VersionDeleted(
            f"{said}{ask}; `catalog diff {version.name} OTHER` compares what the registry still knows",
            version.name,
            version.superseded_by,
        )


# The tables of one version.


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


class Lineage(DuckTables):
    """Queries over one version's lineage. Close it, or use it in a `with` statement."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        version: str | None = None,
        limits: QueryLimits | None = None,
    ) -> None:
        self.registry = registry
        self.store = store
        self.limits = limits
        self.version = registry.version(version)
        require_present(registry, store, self.version)
        self.files: dict[str, list[LineageRow]] = {table: [] for table in LINEAGE_TABLES}
        self._placed: dict[tuple[str, str, int | None], list[LineageRow]] = {}
        for row in registry.lineage_files(self.version.name):
            self.files.setdefault(row.table_name, []).append(row)
            self._placed.setdefault((row.table_name, row.snapshot, row.part), []).append(row)
        self.whose = f"version {self.version.name}"
        self.advice = f"`catalog verify {self.version.name}` lists damaged files"
        self.rows = ParquetRows(store, self.advice)

    def close(self) -> None:
        super().close()
        self.rows.close()

    @cached_property
    def keys(self) -> Keys:
        """The version's key files."""
        return Keys(self.store, self.registry.key_files(self.version.name), self.files)

    @cached_property
    def manifest(self) -> "Manifest":
        """The version's manifest."""
        from catalog.db.published import load_manifest

        return load_manifest(self.store, self.version)

    @cached_property
    def token_bytes(self) -> TokenBytes:
        """The bytes of each token of the version's tokenizer."""
        tokenizer = self.manifest.tokenizer
        return TokenBytes(self.store.read_verified(tokenizer.path, tokenizer.sha256).decode())

    @cached_property
    def _shards(self) -> dict[str, ShardRow]:
        return {row.full_name: row for row in self.registry.version_shards(self.version.name)}

    def shard(self, name: str) -> ShardRow:
        """Return a shard by GROUP/shard_00000, or by its bare name where only one group has it."""
        return self._shards.get(name) or self.registry.version_shard(self.version.name, name)

    def documents_in(
        self,
        table: str,
        doc_ids: Sequence[bytes],
        snapshot: str,
        parts: Iterable[int],
        columns: Sequence[str] | None = None,
    ) -> list[Row]:
        """Return rows of some documents in some parts of a table; only row groups that can have
        them are read. Columns that the registry knows are added, as `scan` does."""
        found: list[Row] = []
        for part in [None, *sorted(set(parts))]:
            for file in self._placed.get((table, snapshot, part), ()):
                rows = self.rows.where(file.path, "doc_id", doc_ids, columns)
                if LINEAGE_TABLES[table].placed:
                    place = {"snapshot": file.snapshot, "part": file.part}
                    rows = [row | place for row in rows]
                found += rows
        return found

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
        conditions = ["data.filename = place.address", f"place.table_name = {quoted(table)}"]
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
            f"FROM read_parquet([{listed}], filename = true{_by_name(table)}) AS data "
            f"JOIN {self._paths} AS place ON {' AND '.join(conditions)})"
        )

    def create_views(self, filled: Collection[str] = LINEAGE_TABLES) -> None:
        """`raw.TABLE` with binary ids and `TABLE` with hex ids, for queries by people.

        DuckDB opens every file of a view when it is made, so those not `filled` stay empty.
        """
        self.connection.execute("CREATE SCHEMA raw")
        for table, declared in LINEAGE_TABLES.items():
            rows = self.scan(table) if table in filled else empty_table(table)
            self.connection.execute(f"CREATE VIEW raw.{table} AS FROM {rows}")
            shown = ", ".join(f"lower(hex({name})) AS {name}" for name in declared.ids)
            rows = ALL_MEMBERS if table == "cluster_members" else f"raw.{table}"
            self.connection.execute(
                f"CREATE VIEW {table} AS SELECT * REPLACE ({shown}) FROM {rows}"
            )

    @cached_property
    def _paths(self) -> str:
        """The table that says of which part or shard each file is; made when a query needs it: a
        large version has ten thousand files."""
        placed = [name for name, table in LINEAGE_TABLES.items() if table.placed]
        rows = [row for table in placed for row in self.files[table]]
        self.connection.register(
            "lineage_paths",
            pa.table(
                {
                    "table_name": pa.array([r.table_name for r in rows], pa.string()),
                    "address": pa.array([self.store.address(r.path) for r in rows], pa.string()),
                    "snapshot": pa.array([r.snapshot for r in rows], pa.string()),
                    "part": pa.array([r.part for r in rows], pa.int32()),
                    "shard": pa.array([r.shard for r in rows], pa.string()),
                }
            ),
        )
        return "lineage_paths"


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


def _by_name(table: str) -> str:
    return ", union_by_name = true" if LINEAGE_TABLES[table].is_open else ""


SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
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


# The tables of all live versions.


MIN_PREFIX = 4


class LiveLineage(DuckTables):
    """Queries over every live version; a file that several share is read once.

    Close it, or use it in a `with` statement.

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
                tables.setdefault(row.table_name, []).append(row)
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
        """Return what to write after FROM to read a table of all live versions, or of one."""
        names = [version] if version is not None else list(self.files)
        paths = dict.fromkeys(row.path for name in names for row in self.files[name][table])
        if table in self._focus:
            paths = dict.fromkeys(path for path in paths if path in self._focus[table])
        if not paths:
            return f"(SELECT *, CAST(NULL AS VARCHAR) AS filename FROM {empty_table(table)})"
        listed = ", ".join(quoted(self.store.address(path)) for path in paths)
        return f"(SELECT * FROM read_parquet([{listed}], filename = true{_by_name(table)}))"

    def columns(self, table: str, version: str) -> set[str]:
        """Return the columns a version's table has."""
        found = self.query(f"DESCRIBE SELECT * FROM {self.scan(table, version)}")
        return {row["column_name"] for row in found}

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one of our own statements that changes a temporary table; return the rows changed."""
        rows = self.query(sql, parameters)
        return int(rows[0].get("Count", 0)) if rows else 0

    def doc_ids_from(self, digits: str, limit: int) -> list[bytes]:
        """Return documents of any live version whose id begins with these hex digits."""
        lowest = bytes.fromhex(digits.ljust(32, "0"))
        highest = bytes.fromhex(digits.ljust(32, "f"))
        found = [
            ids_between(keys, self.rows, lowest, highest, limit) for keys in self.keys.values()
        ]
        return sorted({doc_id for some in found for doc_id in some})[:limit]
