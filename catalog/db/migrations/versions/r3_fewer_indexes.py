"""Indexes by path and content, which no query uses, are dropped"""

from collections.abc import Sequence

from alembic import op

revision: str = "r3"
down_revision: str | None = "r2"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

UNUSED = {
    "ix_artifact_inputs_content_hash": "artifact_inputs",
    "ix_version_keys_path": "version_keys",
    "ix_version_lineage_path": "version_lineage",
    "ix_version_shards_bin_sha256": "version_shards",
}


def upgrade() -> None:
    for index, table in UNUSED.items():
        op.drop_index(op.f(index), table)
