"""The registry's first tables"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("stage", "fingerprint", name=op.f("uq_artifacts_stage_fingerprint")),
    )
    op.create_index(
        op.f("ix_artifacts_snapshot_stage_part"), "artifacts", ["snapshot", "stage", "part"]
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "locks",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_locks")),
    )
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
        "recipes",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("yaml", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_recipes")),
    )
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takedown_requests")),
    )
    op.create_index(op.f("ix_takedown_requests_status"), "takedown_requests", ["status"])
    op.create_table(
        "artifact_inputs",
        sa.Column("artifact_id", ROW_NUMBER, nullable=False),
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
        sa.Column("artifact_id", ROW_NUMBER, nullable=False),
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
        "suppressions",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("request_id", ROW_NUMBER, nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('url_key', 'url_prefix', 'host', 'doc_id', 'text_id')",
            name=op.f("ck_suppressions_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["request_id"], ["takedown_requests.id"], name=op.f("fk_suppressions_request_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suppressions")),
        sa.UniqueConstraint("kind", "value", name=op.f("uq_suppressions_kind_value")),
    )
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
        sa.CheckConstraint(
            "table_name IN ('documents', 'decisions', 'cluster_members', 'signals', 'texts', "
            "'final_text', 'spans')",
            name=op.f("ck_version_lineage_table_name"),
        ),
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
        sa.ForeignKeyConstraint(
            ["version"], ["versions.name"], name=op.f("fk_version_shards_version")
        ),
        sa.PrimaryKeyConstraint("version", "group_id", "shard", name=op.f("pk_version_shards")),
    )
    op.create_index(op.f("ix_version_shards_bin_sha256"), "version_shards", ["bin_sha256"])


def downgrade() -> None:
    op.drop_table("version_shards")
    op.drop_table("version_lineage")
    op.drop_table("source_files")
    op.drop_table("gates")
    op.drop_table("versions")
    op.drop_table("takedown_actions")
    op.drop_table("suppressions")
    op.drop_table("snapshots")
    op.drop_table("artifact_outputs")
    op.drop_table("artifact_inputs")
    op.drop_table("takedown_requests")
    op.drop_table("sources")
    op.drop_table("recipes")
    op.drop_table("models")
    op.drop_table("metrics")
    op.drop_table("locks")
    op.drop_table("leases")
    op.drop_table("artifacts")
