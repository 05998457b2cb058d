"""Shards know the labels of their groups"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("version_shards", sa.Column("labels", sa.Text(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("version_shards") as table:
        table.drop_column("labels")
