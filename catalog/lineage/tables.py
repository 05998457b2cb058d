"""The lineage tables of a version, or of all live ones: registered Parquet files, read by DuckDB.

Single documents are found by key files (`lookups.py`) and read row by row, without DuckDB.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from catalog.db import LineageRow, Registry, ShardRow, VersionRow
from catalog.errors import VersionDeleted
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.store import FileStore
from catalog.formats.token_text import TokenBytes
from catalog.lineage.duck import DuckTables, Row
from catalog.lineage.limits import QueryLimits
from catalog.lineage.rows import Keys, ParquetRows, ids_between
from catalog.lineage.scans import FilesByTable, LineageFiles, by_name, empty_table, quoted

if TYPE_CHECKING:
    from corpus_loader import Manifest


# Versions whose files are gone.


def deletion(registry: Registry, store: FileStore, version: VersionRow) -> str | None:
    """Say when and why a version was deleted, and what took its place; None where it is there."""
    if version.status != "revoked" or store.exists(version.manifest_path):
        return None
    requests = ", ".join(str(number) for number in registry.takedowns_replacing(version.name))
    after = f"after takedown {requests}" if requests else "after it was revoked"
    instead = f", replaced by {version.superseded_by}" if version.superseded_by else ""
    return f"version {version.name} was deleted {after}{instead}"


def require_present(registry: Registry, store: FileStore, version: VersionRow) -> None:
    """Refuse to look into a version that was deleted."""
    message = deletion(registry, store, version)
    if message is not None:
        ask = f", ask for {version.superseded_by}" if version.superseded_by else ""
        raise VersionDeleted(
            f"{message}{ask}; `catalog diff {version.name} OTHER` compares what the registry still knows",
            version.name,
            version.superseded_by,
        )


# The tables of one version.


class Lineage(LineageFiles):
    """Queries over one version's lineage. Close it, or use it in a `with` statement."""

    def __init__(
        self,
        registry: Registry,
        store: FileStore,
        version: str | None = None,
        limits: QueryLimits | None = None,
    ) -> None:
        self.registry = registry
        self.version = registry.version(version)
        require_present(registry, store, self.version)
        name = self.version.name
        self._by_part: dict[str, dict[tuple[str, int | None], list[LineageRow]]] = {}
        advice = f"`catalog verify {name}` lists damaged files"
        super().__init__(
            store, partial(registry.lineage_files, name), f"version {name}", advice, limits
        )
        self.rows = ParquetRows(store, advice)

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
        from catalog.db import load_manifest

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
        if table not in self._by_part:
            placed = self._by_part.setdefault(table, {})
            for file in self.files[table]:
                placed.setdefault((file.snapshot, file.part), []).append(file)
        found: list[Row] = []
        for part in [None, *sorted(set(parts))]:
            for file in self._by_part[table].get((snapshot, part), ()):
                rows = self.rows.where(file.path, "doc_id", doc_ids, columns)
                if LINEAGE_TABLES[table].placed:
                    place = {"snapshot": file.snapshot, "part": file.part}
                    rows = [row | place for row in rows]
                found += rows
        return found


# The tables of all live versions.


MIN_PREFIX = 4


class LiveLineage(DuckTables):
    """Queries over every live version; a file that several share is read once.

    Close it, or use it in a `with` statement.

    `scan` gives a table's rows of all versions with the column `filename`; the table
    `live_files` (version, table_name, filename, snapshot, shard) tells whose they are, of records
    and spans.
    """

    whose = "the live versions"
    advice = "`catalog verify VERSION` lists damaged files"

    def __init__(self, registry: Registry, store: FileStore) -> None:
        self.registry = registry
        self.store = store
        self.versions: list[VersionRow] = [v for v in registry.versions() if v.status == "live"]
        self.files = {
            version.name: FilesByTable(partial(registry.lineage_files, version.name))
            for version in self.versions
        }
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
            for table in ("records", "spans")
            for row in tables[table]
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
        return f"(SELECT * FROM read_parquet([{listed}], filename = true{by_name(table)}))"

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
