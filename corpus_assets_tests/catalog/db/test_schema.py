"""Creating, upgrading and checking the registry's tables."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from catalog.db import schema
from catalog.db.database import Database
from catalog.db.models import metadata
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.errors import CatalogUnavailable, SchemaMismatch
from corpus_assets_tests.registry_states import add_orders

NEWEST = schema.newest()
HEAD = f'''"""The next revision"""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{NEWEST}"
branch_labels = None
depends_on = None


def upgrade() -> None:
'''
NEXT = f"""{HEAD}
    note = sa.Column("note", sa.Text(), nullable=False, server_default="")
    op.add_column("suppressions", note)
"""
FAILING = f"""{HEAD}
    op.create_table("half_done", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("DELETE FROM sources")
    op.execute("INSERT INTO no_such_table VALUES (1)")
"""


def migrations_with(tmp_path: Path, revision: str) -> Path:
    folder = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9999_next.py").write_text(revision)
    return folder


def test_models_and_migrations_make_the_same_tables(registry: Registry) -> None:
    with registry.database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": schema.VERSION_TABLE}
        )
        assert compare_metadata(context, metadata) == []
        found = set(inspect(connection).get_table_names())
    assert found == set(metadata.tables) | {schema.VERSION_TABLE}


def test_upgrading_twice_changes_nothing(empty_url: str) -> None:
    registry = Registry(empty_url)
    assert registry.upgrade() == (None, NEWEST)
    assert registry.upgrade() == (NEWEST, NEWEST)
    registry.check_schema()


def test_a_failing_migration_rolls_back(empty_url: str, tmp_path: Path) -> None:
    database = Database(empty_url)
    schema.upgrade(database)
    with database.write() as connection:
        connection.execute(text("INSERT INTO sources VALUES ('a', 'warc', 'web', 'x', 'y')"))
    with pytest.raises(SchemaMismatch, match="no_such_table"):
        schema.upgrade(database, migrations_with(tmp_path, FAILING))
    with database.read() as connection:
        assert "half_done" not in inspect(connection).get_table_names()
        assert connection.scalar(text("SELECT count(*) FROM sources")) == 1
    schema.check(database)


def test_an_upgrade_to_the_next_revision_keeps_rows(registry: Registry, tmp_path: Path) -> None:
    add_orders(registry, [SuppressionRow("near_text", "v1:00")])
    folder = migrations_with(tmp_path, NEXT)
    assert schema.upgrade(registry.database, folder) == (NEWEST, "9999")
    schema.check(registry.database, folder)
    with registry.database.read() as connection:
        rows = connection.execute(text("SELECT kind, value, note FROM suppressions")).all()
    assert [tuple(row) for row in rows] == [("near_text", "v1:00", "")]


def test_an_empty_database_asks_for_an_upgrade(postgres_schema_url: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match="is empty: run `catalog upgrade`"):
        Registry(postgres_schema_url).check_schema()
    (tmp_path / "catalog.db").touch()
    with pytest.raises(SchemaMismatch, match="is empty: run `catalog upgrade`"):
        Registry(f"sqlite:///{tmp_path / 'catalog.db'}").check_schema()


def test_a_missing_file_is_not_created_by_reading(tmp_path: Path) -> None:
    registry = Registry(f"sqlite:///{tmp_path / 'none' / 'catalog.db'}")
    with pytest.raises(CatalogUnavailable, match="run `catalog upgrade` to create it"):
        registry.check_schema()
    assert not (tmp_path / "none").exists()


def test_an_older_schema_asks_for_an_upgrade(registry: Registry, tmp_path: Path) -> None:
    newer = migrations_with(tmp_path, FAILING)
    with pytest.raises(
        SchemaMismatch, match=f"has schema {NEWEST}, this package 9999: run `catalog up"
    ):
        schema.check(registry.database, newer)


@pytest.mark.parametrize("unknown", ["9998", "0014"])
def test_a_schema_of_a_newer_release_or_a_development_tree_is_refused(
    registry: Registry, unknown: str
) -> None:
    with registry.database.write() as connection:
        connection.execute(
            text(f"UPDATE {schema.VERSION_TABLE} SET version_num = :unknown"), {"unknown": unknown}
        )
    refused = f"has schema {unknown}, which this corpus-assets does not know.*begin with a new home"
    with pytest.raises(SchemaMismatch, match=refused):
        registry.check_schema()
    with pytest.raises(SchemaMismatch, match=refused):
        registry.upgrade()


def test_using_tables_that_are_not_there_asks_for_an_upgrade(empty_url: str) -> None:
    database = Database(empty_url)
    with database.write(create=True):
        pass
    with pytest.raises(SchemaMismatch, match="run `catalog upgrade`"):
        Registry(empty_url).versions()
