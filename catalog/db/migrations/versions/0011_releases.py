"""Versions are candidates until they are released

Those that are there were used as they are: they count as released.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COLUMNS = ("released_at", "released_by", "release_reason")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("versions", sa.Column(name, sa.Text(), nullable=True))
    op.execute(
        "UPDATE versions SET released_at = created_at, released_by = 'upgrade', "
        "release_reason = 'published before versions had gates'"
    )


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("versions", name)
