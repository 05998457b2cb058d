"""The registry's tables. Migrations must add up to exactly this; a test compares them.

No table here has a row for each document: the largest grow with parts and shards.
"""

from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from catalog.db.rows import LINEAGE_TABLES, SUPPRESSION_KINDS, VERSION_STATES

# SQLite numbers rows by itself only for a column declared exactly INTEGER.
RowNumber = BigInteger().with_variant(Integer, "sqlite")


def one_of(column: str, values: tuple[str, ...]) -> str:
    """The condition of a CHECK constraint: `column` is one of `values`."""
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text,
        int: BigInteger,
        float: Double,
        dict[str, Any]: JSON,
    }


class Source(Base):
    __tablename__ = "sources"

    name: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    domain: Mapped[str]
    licence: Mapped[str]
    uri: Mapped[str]


class Snapshot(Base):
    __tablename__ = "snapshots"

    name: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str] = mapped_column(ForeignKey("sources.name"), index=True)
    rank: Mapped[int]
    created_at: Mapped[str]


class SourceFile(Base):
    __tablename__ = "source_files"

    snapshot: Mapped[str] = mapped_column(
        ForeignKey("snapshots.name", ondelete="CASCADE"), primary_key=True
    )
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    uri: Mapped[str]
    bytes: Mapped[int]
    digest: Mapped[str]


class Artifact(Base):
    __tablename__ = "artifacts"
    __table_args__ = (
        UniqueConstraint("stage", "fingerprint"),
        Index(None, "snapshot", "stage", "part"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    stage: Mapped[str]
    fingerprint: Mapped[str]
    content_hash: Mapped[str]
    snapshot: Mapped[str | None]
    part: Mapped[int | None]
    documents_in: Mapped[int]
    documents_out: Mapped[int]
    bytes: Mapped[int]
    cpu_seconds: Mapped[float | None]
    created_at: Mapped[str]


class ArtifactOutput(Base):
    __tablename__ = "artifact_outputs"

    artifact_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("artifacts.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str]
    sha256: Mapped[str]
    bytes: Mapped[int]
    rows: Mapped[int | None]


class ArtifactInput(Base):
    __tablename__ = "artifact_inputs"

    artifact_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("artifacts.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(primary_key=True)
    content_hash: Mapped[str] = mapped_column(index=True)


class Recipe(Base):
    __tablename__ = "recipes"

    digest: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    yaml: Mapped[str]
    created_at: Mapped[str]


class Lock(Base):
    __tablename__ = "locks"

    digest: Mapped[str] = mapped_column(primary_key=True)
    json: Mapped[str]
    created_at: Mapped[str]


class Version(Base):
    __tablename__ = "versions"
    __table_args__ = (CheckConstraint(one_of("status", VERSION_STATES), name="status"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    lock_digest: Mapped[str] = mapped_column(ForeignKey("locks.digest"))
    recipe_digest: Mapped[str] = mapped_column(ForeignKey("recipes.digest"))
    manifest_path: Mapped[str]
    manifest_sha256: Mapped[str]
    documents: Mapped[int]
    tokens: Mapped[int]
    samples: Mapped[int]
    created_at: Mapped[str]
    superseded_by: Mapped[str | None]
    contents_sha256: Mapped[str | None]


class VersionShard(Base):
    __tablename__ = "version_shards"

    version: Mapped[str] = mapped_column(ForeignKey("versions.name"), primary_key=True)
    group_id: Mapped[str] = mapped_column(primary_key=True)
    shard: Mapped[str] = mapped_column(primary_key=True)
    snapshot: Mapped[str]
    domain: Mapped[str]
    tier: Mapped[str]
    bin_path: Mapped[str]
    bin_sha256: Mapped[str] = mapped_column(index=True)
    idx_path: Mapped[str]
    idx_sha256: Mapped[str]
    spans_path: Mapped[str]
    spans_sha256: Mapped[str]
    header_path: Mapped[str]
    header_sha256: Mapped[str]
    samples: Mapped[int]
    tokens: Mapped[int]
    documents: Mapped[int]


class VersionLineage(Base):
    __tablename__ = "version_lineage"
    __table_args__ = (
        Index(None, "version", "table_name"),
        CheckConstraint(one_of("table_name", LINEAGE_TABLES), name="table_name"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    version: Mapped[str] = mapped_column(ForeignKey("versions.name"))
    table_name: Mapped[str]
    snapshot: Mapped[str]
    part: Mapped[int | None]
    shard: Mapped[str | None]
    path: Mapped[str] = mapped_column(index=True)
    sha256: Mapped[str]
    rows: Mapped[int]


class VersionKey(Base):
    __tablename__ = "version_keys"
    __table_args__ = (Index(None, "version", "kind"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    version: Mapped[str] = mapped_column(ForeignKey("versions.name"))
    kind: Mapped[str]
    snapshot: Mapped[str]
    path: Mapped[str] = mapped_column(index=True)
    sha256: Mapped[str]
    bytes: Mapped[int]
    rows: Mapped[int]


class TrainedModel(Base):
    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("kind", "sha256"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    kind: Mapped[str]
    sha256: Mapped[str]
    path: Mapped[str]
    fingerprint: Mapped[str]
    metrics: Mapped[dict[str, Any]]
    created_at: Mapped[str]


class TakedownRequest(Base):
    __tablename__ = "takedown_requests"
    __table_args__ = (Index(None, "kind", "value", "near_duplicates", unique=True),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    kind: Mapped[str]
    value: Mapped[str]
    near_duplicates: Mapped[bool]
    reason: Mapped[str]
    requester: Mapped[str]
    reference: Mapped[str]
    status: Mapped[str] = mapped_column(index=True)
    created_at: Mapped[str]
    given: Mapped[str] = mapped_column(server_default="")
    text_sha256: Mapped[str | None]
    documents: Mapped[int] = mapped_column(server_default="0")
    found: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    error: Mapped[str | None]
    attempts: Mapped[int] = mapped_column(server_default="0")
    owner: Mapped[str | None]
    claim_expires_at: Mapped[float | None]
    updated_at: Mapped[str] = mapped_column(server_default="")


class TakedownAction(Base):
    __tablename__ = "takedown_actions"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    request_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("takedown_requests.id"), index=True
    )
    action: Mapped[str]
    version_before: Mapped[str | None]
    version_after: Mapped[str | None]
    detail: Mapped[dict[str, Any]]
    created_at: Mapped[str]


class TakedownCertificate(Base):
    __tablename__ = "takedown_certificates"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    request_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("takedown_requests.id"), index=True
    )
    path: Mapped[str]
    sha256: Mapped[str] = mapped_column(unique=True)
    previous_sha256: Mapped[str | None] = mapped_column(unique=True)
    created_at: Mapped[str]


class Suppression(Base):
    __tablename__ = "suppressions"
    __table_args__ = (
        UniqueConstraint("kind", "value"),
        CheckConstraint(one_of("kind", SUPPRESSION_KINDS), name="kind"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    kind: Mapped[str]
    value: Mapped[str]
    request_id: Mapped[int | None] = mapped_column(RowNumber, ForeignKey("takedown_requests.id"))
    created_at: Mapped[str]


class SuppressionHolder(Base):
    """Which requests a suppression serves; it goes when the last of them is withdrawn."""

    __tablename__ = "suppression_holders"

    request_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("takedown_requests.id"), primary_key=True
    )
    suppression_id: Mapped[int] = mapped_column(
        RowNumber, ForeignKey("suppressions.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class Gate(Base):
    __tablename__ = "gates"
    __table_args__ = (UniqueConstraint("version", "name"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    version: Mapped[str] = mapped_column(ForeignKey("versions.name"))
    name: Mapped[str]
    passed: Mapped[bool]
    value: Mapped[float | None]
    threshold: Mapped[float | None]
    detail: Mapped[dict[str, Any]]
    created_at: Mapped[str]


class Metric(Base):
    __tablename__ = "metrics"
    __table_args__ = (Index(None, "name", "snapshot", "version"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    name: Mapped[str]
    snapshot: Mapped[str | None]
    version: Mapped[str | None]
    value: Mapped[float]
    created_at: Mapped[str]


class Lease(Base):
    __tablename__ = "leases"

    name: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str]
    expires_at: Mapped[float]
    token: Mapped[int]


class LeaseToken(Base):
    """One row: the last token that a lease was given. Leases are deleted, this stays."""

    __tablename__ = "lease_tokens"

    last: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
