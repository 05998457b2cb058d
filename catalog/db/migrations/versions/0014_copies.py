"""Copies that commands write beside the store's results are registered"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
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


def downgrade() -> None:
    op.drop_table("copies")
