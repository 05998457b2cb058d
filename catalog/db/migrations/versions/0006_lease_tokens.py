"""Leases have a token, counted up with each one that is taken"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "lease_tokens",
        sa.Column("last", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("last", name=op.f("pk_lease_tokens")),
    )
    op.execute("DELETE FROM leases")  # of runs that know of no token: they stop at the next write
    with op.batch_alter_table("leases") as table:
        table.add_column(sa.Column("token", sa.BigInteger(), nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("leases") as table:
        table.drop_column("token")
    op.drop_table("lease_tokens")
