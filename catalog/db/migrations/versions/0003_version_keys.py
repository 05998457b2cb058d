"""Key files: sorted keys of a version's lineage, for point look-ups

A new table only; versions published before have none and are scanned.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
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
    op.create_index(op.f("ix_version_keys_version_kind"), "version_keys", ["version", "kind"])
    op.create_index(op.f("ix_version_keys_path"), "version_keys", ["path"])


def downgrade() -> None:
    op.drop_table("version_keys")
