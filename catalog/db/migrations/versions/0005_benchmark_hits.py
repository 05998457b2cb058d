"""Benchmark items found in documents become a table of the lineage"""

from collections.abc import Sequence

from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TABLES = "'documents', 'decisions', 'cluster_members', 'signals', 'texts', 'final_text', 'spans'"
BEFORE = f"table_name IN ({TABLES})"
AFTER = f"table_name IN ({TABLES}, 'benchmark_hits')"
NAME = "ck_version_lineage_table_name"


def upgrade() -> None:
    _tables(AFTER)


def downgrade() -> None:
    op.execute("DELETE FROM version_lineage WHERE table_name = 'benchmark_hits'")
    _tables(BEFORE)


def _tables(condition: str) -> None:
    with op.batch_alter_table("version_lineage") as table:
        table.drop_constraint(op.f(NAME), type_="check")
        table.create_check_constraint(op.f(NAME), condition)
