"""The registry's tables. Migrations must add up to exactly this; a test compares them.

A table has the columns of its row (`rows.py`), by name and type: a new column is a field there
and a migration. What a row does not have (keys, references, indexes, columns that only the
database needs) is declared here. No table has a row for each document: the largest grow with parts,
shards and what people read.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    select,
)
from sqlalchemy.schema import SchemaItem

from catalog.db import rows

Row = TypeVar("Row")

# SQLite numbers rows by itself only for a column declared exactly INTEGER.
NUMBER = BigInteger().with_variant(Integer, "sqlite")
TYPES: Mapping[Any, Any] = {str: Text, int: BigInteger, float: Double, bool: Boolean, Mapping: JSON}

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def pick(table: Table, row: type) -> Select[Any]:
    """Select the columns of a table that a row has, in the row's order."""
    return select(*(table.c[field.name] for field in fields(row) if field.name in table.c))


def read_rows(connection: Connection, row: type[Row], wanted: Select[Any]) -> list[Row]:
    """Run a `pick` and give its rows."""
    return [row(*found) for found in connection.execute(wanted)]


def values_of(row: Any) -> dict[str, Any]:
    """Return a row's columns by name, as an insert takes them."""
    names, get = _getter(row.__class__)
    return dict(zip(names, get(row), strict=True))


@cache
def _getter(row: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(_scalars(row))
    return names, attrgetter(*names)


def _table(name: str, row: type, *items: SchemaItem) -> Table:
    """Make a table of a row's fields; `items` are columns that need more than a type, columns
    that the row has not, and constraints."""
    scalars = _scalars(row)
    columns = {item.name: item for item in items if isinstance(item, Column)}
    for field, (kind, nullable) in scalars.items():
        columns.setdefault(field, Column(field, TYPES[kind], nullable=nullable))
    place = [*scalars]  # the row's columns in its order, behind the keys that it has not
    ordered = sorted(columns.values(), key=lambda c: place.index(c.name) if c.name in place else -1)
    rest = (item for item in items if not isinstance(item, Column))
    return Table(name, metadata, *ordered, *rest)


def _scalars(row: type) -> dict[str, tuple[Any, bool]]:
    """Return the fields of a row that are columns: type, and whether it may be null."""
    found = {}
    for name, hint in get_type_hints(row).items():
        kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
        kind = get_origin(hint) if get_origin(hint) in TYPES else kinds[0]
        if kind in TYPES and get_origin(hint) is not tuple:
            found[name] = (kind, NoneType in get_args(hint))
    return found


def _key(name: str, *items: SchemaItem, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, *items, primary_key=True, autoincrement=False)


def _number() -> Column[Any]:
    """Make the column of numbers that a table gives its rows."""
    return Column("id", NUMBER, primary_key=True)


def _refers(name: str, to: str, kind: Any = Text, **options: Any) -> Column[Any]:
    return Column(name, kind, ForeignKey(to), nullable=False, **options)


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(repr(value) for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


Source = _table("sources", rows.SourceRow, _key("name"))
Snapshot = _table(
    "snapshots", rows.SnapshotRow, _key("name"), _refers("source", "sources.name", index=True)
)
SourceFile = _table(
    "source_files",
    rows.FileRow,
    _key("snapshot", ForeignKey("snapshots.name", ondelete="CASCADE")),
    _key("part", kind=BigInteger),
)

Artifact = _table(
    "artifacts",
    rows.ArtifactRow,
    _number(),
    UniqueConstraint("stage", "fingerprint"),
    Index(None, "snapshot", "stage", "part"),
)
ArtifactOutput = _table(
    "artifact_outputs",
    rows.OutputRow,
    _key("artifact_id", ForeignKey("artifacts.id", ondelete="CASCADE"), kind=NUMBER),
    _key("name"),
)
ArtifactInput = _table(
    "artifact_inputs",
    rows.InputRow,
    _key("artifact_id", ForeignKey("artifacts.id", ondelete="CASCADE"), kind=NUMBER),
    _key("name"),
)
FailedPart = _table("failed_parts", rows.FailedPartRow, _key("stage"), _key("fingerprint"))
TrainedModel = _table("models", rows.ModelRow, _number(), UniqueConstraint("kind", "sha256"))

Recipe = _table("recipes", rows.RecipeRow, _key("digest"))
Lock = _table("locks", rows.LockRow, _key("digest"))
Version = _table(
    "versions",
    rows.VersionRow,
    _number(),
    Column("name", Text, nullable=False, unique=True),
    _refers("lock_digest", "locks.digest"),
    _refers("recipe_digest", "recipes.digest"),
    _one_of("status", rows.VERSION_STATES),
)
VersionShard = _table(
    "version_shards",
    rows.ShardRow,
    _key("version", ForeignKey("versions.name")),
    _key("group_id"),
    _key("shard"),
)
VersionLineage = _table(
    "version_lineage",
    rows.LineageRow,
    _number(),
    _refers("version", "versions.name"),
    Index(None, "version", "table_name"),
)
VersionKey = _table(
    "version_keys",
    rows.KeyRow,
    _number(),
    _refers("version", "versions.name"),
    Index(None, "version", "kind"),
)
Gate = _table(
    "gates",
    rows.GateRow,
    _number(),
    _refers("version", "versions.name"),
    UniqueConstraint("version", "name"),
)
Judgement = _table(
    "judgements",
    rows.JudgementRow,
    _number(),
    _refers("version", "versions.name"),
    UniqueConstraint("version", "doc_id", "snapshot", "part", "offset", "judged_by"),
)
Copy = _table(
    "copies", rows.CopyRow, _key("place"), _key("machine"), _one_of("kind", rows.COPY_KINDS)
)
Metric = _table(
    "metrics",
    rows.MetricRow,
    _number(),
    Column("created_at", Text, nullable=False),
    Index(None, "name", "snapshot", "version"),
)

TakedownRequest = _table(
    "takedown_requests",
    rows.TakedownRow,
    _number(),
    Column("status", Text, nullable=False, index=True),
    Column("given", Text, nullable=False, server_default=""),
    Column("documents", BigInteger, nullable=False, server_default="0"),
    Column("found", JSON, nullable=False, server_default="{}"),
    Column("attempts", BigInteger, nullable=False, server_default="0"),
    Column("updated_at", Text, nullable=False, server_default=""),
    Index(None, "kind", "value", "near_duplicates", unique=True),
)
TakedownAction = _table(
    "takedown_actions",
    rows.ActionRow,
    _number(),
    _refers("request_id", "takedown_requests.id", NUMBER, index=True),
)
TakedownCertificate = _table(
    "takedown_certificates",
    rows.CertificateRow,
    _number(),
    _refers("request_id", "takedown_requests.id", NUMBER, index=True),
    Column("sha256", Text, nullable=False, unique=True),
    Column("previous_sha256", Text, unique=True),
)
Suppression = _table(
    "suppressions",
    rows.SuppressionRow,
    _number(),
    Column("request_id", NUMBER, ForeignKey("takedown_requests.id")),
    UniqueConstraint("kind", "value"),
    _one_of("kind", rows.SUPPRESSION_KINDS),
)
SuppressionHolder = Table(  # which requests a suppression serves; it goes with the last of them
    "suppression_holders",
    metadata,
    _key("request_id", ForeignKey("takedown_requests.id"), kind=NUMBER),
    Column(
        "suppression_id",
        NUMBER,
        ForeignKey("suppressions.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        index=True,
    ),
)

OrderBook = _table("order_book", rows.OrderBookRow, _key("number", kind=BigInteger))

Lease = _table("leases", rows.LeaseRow, _key("name"))
LeaseToken = (
    Table(  # one row: the last token that a lease was given; leases are deleted, this stays
        "lease_tokens", metadata, _key("last", kind=BigInteger)
    )
)
