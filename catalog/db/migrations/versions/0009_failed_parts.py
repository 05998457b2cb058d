"""Parts that failed for good are set aside"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "failed_parts",
        sa.Column("stage", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("part", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("failed_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("stage", "fingerprint", name=op.f("pk_failed_parts")),
    )


def downgrade() -> None:
    op.drop_table("failed_parts")
