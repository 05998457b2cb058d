"""The registry's tables"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "r2"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_sources()
    _create_artifacts()
    _create_versions()
    _create_evidence()
    _create_takedowns()
    _create_suppressions()


def _create_sources() -> None:
    """Sources, their snapshots, and the files of these."""
    op.create_table(
        "sources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sources")),
    )
    op.create_table(
        "snapshots",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["source"], ["sources.name"], name=op.f("fk_snapshots_source")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_snapshots")),
    )
    op.create_index(op.f("ix_snapshots_source"), "snapshots", ["source"])
    op.create_table(
        "source_files",
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("part", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["snapshot"],
            ["snapshots.name"],
            name=op.f("fk_source_files_snapshot"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("snapshot", "part", name=op.f("pk_source_files")),
    )


def _create_artifacts() -> None:
    """What tasks read and wrote, what they took, and who works on what."""
    op.create_table(
        "artifacts",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("part", sa.BigInteger(), nullable=True),
        sa.Column("documents_in", sa.BigInteger(), nullable=False),
        sa.Column("documents_out", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("cpu_seconds", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("wall_seconds", sa.Double(), nullable=True),
        sa.Column("peak_bytes", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.BigInteger(), nullable=True),
        sa.Column("bytes_in", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("stage", "fingerprint", name=op.f("uq_artifacts_stage_fingerprint")),
    )
    op.create_index(
        op.f("ix_artifacts_snapshot_stage_part"), "artifacts", ["snapshot", "stage", "part"]
    )
    op.create_table(
        "artifact_inputs",
        sa.Column("artifact_id", ROW_NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifacts.id"],
            name=op.f("fk_artifact_inputs_artifact_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("artifact_id", "name", name=op.f("pk_artifact_inputs")),
    )
    op.create_index(op.f("ix_artifact_inputs_content_hash"), "artifact_inputs", ["content_hash"])
    op.create_table(
        "artifact_outputs",
        sa.Column("artifact_id", ROW_NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifacts.id"],
            name=op.f("fk_artifact_outputs_artifact_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("artifact_id", "name", name=op.f("pk_artifact_outputs")),
    )
    op.create_table(
        "failed_parts",
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("failed_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("stage", "fingerprint", name=op.f("pk_failed_parts")),
    )
    op.create_table(
        "lease_tokens",
        sa.Column("last", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("last", name=op.f("pk_lease_tokens")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )


def _create_versions() -> None:
    """Versions with what they were made by, and their files."""
    op.create_table(
        "recipes",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("yaml", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_recipes")),
    )
    op.create_table(
        "locks",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_locks")),
    )
    op.create_table(
        "versions",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("lock_digest", sa.Text(), nullable=False),
        sa.Column("recipe_digest", sa.Text(), nullable=False),
        sa.Column("manifest_path", sa.Text(), nullable=False),
        sa.Column("manifest_sha256", sa.Text(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("superseded_by", sa.Text(), nullable=True),
        sa.Column("contents_sha256", sa.Text(), nullable=True),
        sa.Column("released_at", sa.Text(), nullable=True),
        sa.Column("released_by", sa.Text(), nullable=True),
        sa.Column("release_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("status IN ('live', 'revoked')", name=op.f("ck_versions_status")),
        sa.ForeignKeyConstraint(
            ["lock_digest"], ["locks.digest"], name=op.f("fk_versions_lock_digest")
        ),
        sa.ForeignKeyConstraint(
            ["recipe_digest"], ["recipes.digest"], name=op.f("fk_versions_recipe_digest")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_versions")),
        sa.UniqueConstraint("name", name=op.f("uq_versions_name")),
    )
    op.create_table(
        "version_keys",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version"], ["versions.name"], name=op.f("fk_version_keys_version")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_version_keys")),
    )
    op.create_index(op.f("ix_version_keys_path"), "version_keys", ["path"])
    op.create_index(op.f("ix_version_keys_version_kind"), "version_keys", ["version", "kind"])
    op.create_table(
        "version_lineage",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("table_name", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=True),
        sa.Column("shard", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version"], ["versions.name"], name=op.f("fk_version_lineage_version")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_version_lineage")),
    )
    op.create_index(op.f("ix_version_lineage_path"), "version_lineage", ["path"])
    op.create_index(
        op.f("ix_version_lineage_version_table_name"), "version_lineage", ["version", "table_name"]
    )
    op.create_table(
        "version_shards",
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("shard", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("bin_path", sa.Text(), nullable=False),
        sa.Column("bin_sha256", sa.Text(), nullable=False),
        sa.Column("idx_path", sa.Text(), nullable=False),
        sa.Column("idx_sha256", sa.Text(), nullable=False),
        sa.Column("spans_path", sa.Text(), nullable=False),
        sa.Column("spans_sha256", sa.Text(), nullable=False),
        sa.Column("header_path", sa.Text(), nullable=False),
        sa.Column("header_sha256", sa.Text(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["version"], ["versions.name"], name=op.f("fk_version_shards_version")
        ),
        sa.PrimaryKeyConstraint("version", "group_id", "shard", name=op.f("pk_version_shards")),
    )
    op.create_index(op.f("ix_version_shards_bin_sha256"), "version_shards", ["bin_sha256"])


def _create_evidence() -> None:
    """What was measured, trained and decided about versions."""
    op.create_table(
        "metrics",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("version", sa.Text(), nullable=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metrics")),
    )
    op.create_index(
        op.f("ix_metrics_name_snapshot_version"), "metrics", ["name", "snapshot", "version"]
    )
    op.create_table(
        "models",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("kind", "sha256", name=op.f("uq_models_kind_sha256")),
    )
    op.create_table(
        "gates",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("threshold", sa.Double(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["version"], ["versions.name"], name=op.f("fk_gates_version")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gates")),
        sa.UniqueConstraint("version", "name", name=op.f("uq_gates_version_name")),
    )
    op.create_table(
        "judgements",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("agrees", sa.Boolean(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("judged_by", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["version"], ["versions.name"], name=op.f("fk_judgements_version")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgements")),
        sa.UniqueConstraint(
            "version",
            "doc_id",
            "snapshot",
            "part",
            "offset",
            "judged_by",
            name=op.f("uq_judgements_version_doc_id_snapshot_part_offset_judged_by"),
        ),
    )


def _create_takedowns() -> None:
    """The order book, requests, what was done for them, and certificates."""
    op.create_table(
        "order_book",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("is_stored", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_order_book")),
    )
    op.create_table(
        "takedown_requests",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("near_duplicates", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("given", sa.Text(), server_default="", nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=True),
        sa.Column("documents", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("found", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("claim_expires_at", sa.Double(), nullable=True),
        sa.Column("updated_at", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takedown_requests")),
    )
    op.create_index(
        op.f("ix_takedown_requests_kind_value_near_duplicates"),
        "takedown_requests",
        ["kind", "value", "near_duplicates"],
        unique=True,
    )
    op.create_index(op.f("ix_takedown_requests_status"), "takedown_requests", ["status"])
    op.create_table(
        "takedown_actions",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("request_id", ROW_NUMBER, nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("version_before", sa.Text(), nullable=True),
        sa.Column("version_after", sa.Text(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"], ["takedown_requests.id"], name=op.f("fk_takedown_actions_request_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takedown_actions")),
    )
    op.create_index(op.f("ix_takedown_actions_request_id"), "takedown_actions", ["request_id"])
    op.create_table(
        "takedown_certificates",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("request_id", ROW_NUMBER, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("previous_sha256", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["takedown_requests.id"],
            name=op.f("fk_takedown_certificates_request_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takedown_certificates")),
        sa.UniqueConstraint(
            "previous_sha256", name=op.f("uq_takedown_certificates_previous_sha256")
        ),
        sa.UniqueConstraint("sha256", name=op.f("uq_takedown_certificates_sha256")),
    )
    op.create_index(
        op.f("ix_takedown_certificates_request_id"), "takedown_certificates", ["request_id"]
    )


def _create_suppressions() -> None:
    """Standing orders and the requests that hold them, and copies of text outside the store."""
    op.create_table(
        "suppressions",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("request_id", ROW_NUMBER, nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('url_key', 'url_prefix', 'host', 'doc_id', 'text_id', 'near_text')",
            name=op.f("ck_suppressions_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["request_id"], ["takedown_requests.id"], name=op.f("fk_suppressions_request_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suppressions")),
        sa.UniqueConstraint("kind", "value", name=op.f("uq_suppressions_kind_value")),
    )
    op.create_table(
        "suppression_holders",
        sa.Column("request_id", ROW_NUMBER, autoincrement=False, nullable=False),
        sa.Column("suppression_id", ROW_NUMBER, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"], ["takedown_requests.id"], name=op.f("fk_suppression_holders_request_id")
        ),
        sa.ForeignKeyConstraint(
            ["suppression_id"],
            ["suppressions.id"],
            name=op.f("fk_suppression_holders_suppression_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "request_id", "suppression_id", name=op.f("pk_suppression_holders")
        ),
    )
    op.create_index(
        op.f("ix_suppression_holders_suppression_id"), "suppression_holders", ["suppression_id"]
    )
    op.create_table(
        "copies",
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("holds", sa.JSON(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('export', 'pack', 'page', 'record', 'signatures', 'weights')",
            name=op.f("ck_copies_kind"),
        ),
        sa.PrimaryKeyConstraint("place", "machine", name=op.f("pk_copies")),
    )
