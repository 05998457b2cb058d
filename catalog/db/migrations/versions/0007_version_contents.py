"""A version's row vouches for the list of its files and rows"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("versions", sa.Column("contents_sha256", sa.Text(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("versions") as table:
        table.drop_column("contents_sha256")
