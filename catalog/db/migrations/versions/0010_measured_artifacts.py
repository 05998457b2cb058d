"""Artifacts know what computing them took"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COLUMNS: dict[str, Any] = {
    "wall_seconds": sa.Double(),
    "peak_bytes": sa.BigInteger(),
    "tries": sa.BigInteger(),
    "bytes_in": sa.BigInteger(),
}


def upgrade() -> None:
    for name, kind in COLUMNS.items():
        op.add_column("artifacts", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("artifacts") as table:
        for name in COLUMNS:
            table.drop_column(name)
