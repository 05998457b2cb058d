"""Takedowns: what a request found, who works on it, who holds a suppression, certificates

Only columns with defaults, indexes and new tables, so that SQLite need not copy a table that
others refer to.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

REQUEST_COLUMNS: tuple[tuple[str, Any, str | None], ...] = (
    ("given", sa.Text(), ""),
    ("text_sha256", sa.Text(), None),
    ("documents", sa.BigInteger(), "0"),
    ("found", sa.JSON(), "{}"),
    ("error", sa.Text(), None),
    ("attempts", sa.BigInteger(), "0"),
    ("owner", sa.Text(), None),
    ("claim_expires_at", sa.Double(), None),
    ("updated_at", sa.Text(), ""),
)


def upgrade() -> None:
    op.add_column("versions", sa.Column("superseded_by", sa.Text(), nullable=True))
    for name, kind, default in REQUEST_COLUMNS:
        column: sa.Column[Any] = sa.Column(
            name, kind, nullable=default is None, server_default=default
        )
        op.add_column("takedown_requests", column)
    op.create_index(
        op.f("ix_takedown_requests_kind_value_near_duplicates"),
        "takedown_requests",
        ["kind", "value", "near_duplicates"],
        unique=True,
    )
    op.create_table(
        "takedown_certificates",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("request_id", ROW_NUMBER, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("previous_sha256", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["takedown_requests.id"],
            name=op.f("fk_takedown_certificates_request_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takedown_certificates")),
        sa.UniqueConstraint("sha256", name=op.f("uq_takedown_certificates_sha256")),
        sa.UniqueConstraint(
            "previous_sha256", name=op.f("uq_takedown_certificates_previous_sha256")
        ),
    )
    op.create_index(
        op.f("ix_takedown_certificates_request_id"), "takedown_certificates", ["request_id"]
    )
    op.create_table(
        "suppression_holders",
        sa.Column("request_id", ROW_NUMBER, nullable=False),
        sa.Column("suppression_id", ROW_NUMBER, nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"], ["takedown_requests.id"], name=op.f("fk_suppression_holders_request_id")
        ),
        sa.ForeignKeyConstraint(
            ["suppression_id"],
            ["suppressions.id"],
            name=op.f("fk_suppression_holders_suppression_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "request_id", "suppression_id", name=op.f("pk_suppression_holders")
        ),
    )
    op.create_index(
        op.f("ix_suppression_holders_suppression_id"), "suppression_holders", ["suppression_id"]
    )
    op.execute(
        "INSERT INTO suppression_holders (request_id, suppression_id) "
        "SELECT request_id, id FROM suppressions WHERE request_id IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_table("suppression_holders")
    op.drop_table("takedown_certificates")
    op.drop_index(
        op.f("ix_takedown_requests_kind_value_near_duplicates"), table_name="takedown_requests"
    )
    for name, _, _ in reversed(REQUEST_COLUMNS):
        op.drop_column("takedown_requests", name)
    op.drop_column("versions", "superseded_by")
