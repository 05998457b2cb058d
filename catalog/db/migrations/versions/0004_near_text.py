"""Standing orders against near copies of a text

The table of orders gets a wider list of kinds. SQLite must copy the table for that, and would
empty the table of holders, which refers to it, on the way: the holders are put aside first.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BEFORE = "kind IN ('url_key', 'url_prefix', 'host', 'doc_id', 'text_id')"
AFTER = "kind IN ('url_key', 'url_prefix', 'host', 'doc_id', 'text_id', 'near_text')"
NAME = "ck_suppressions_kind"


def upgrade() -> None:
    _kinds(AFTER)


def downgrade() -> None:
    op.execute("DELETE FROM suppressions WHERE kind = 'near_text'")
    _kinds(BEFORE)


def _kinds(condition: str) -> None:
    op.execute("CREATE TEMPORARY TABLE holders_aside AS SELECT * FROM suppression_holders")
    with op.batch_alter_table("suppressions") as table:
        table.drop_constraint(op.f(NAME), type_="check")
        table.create_check_constraint(op.f(NAME), condition)
    op.execute("DELETE FROM suppression_holders")
    op.execute(
        "INSERT INTO suppression_holders (request_id, suppression_id) "
        "SELECT request_id, suppression_id FROM holders_aside"
    )
    op.execute("DROP TABLE holders_aside")
