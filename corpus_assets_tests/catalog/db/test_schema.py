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
FAILING = f'''"""Makes a table, changes data, then fails."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{NEWEST}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("half_done", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("DELETE FROM sources")
    op.execute("INSERT INTO no_such_table VALUES (1)")
'''


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


def test_an_upgrade_keeps_requests_and_who_holds_their_suppressions(
    empty_url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "first"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for later in folder.glob("versions/*.py"):
        if later.name != "0001_first_tables.py":
            later.unlink()
    registry = Registry(empty_url)
    schema.upgrade(registry.database, folder)
    with registry.database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO takedown_requests VALUES "
                "(7, 'url', 'com,example)/', false, 'why', 'who', 'ref', 'pending', 'then')"
            )
        )
        connection.execute(
            text("INSERT INTO suppressions VALUES (100, 'url_key', 'com,example)/', 7, 'then')")
        )
    assert registry.upgrade() == ("0001", NEWEST)
    row = registry.takedown(7)
    assert (row.status, row.documents, row.found, row.attempts) == ("pending", 0, {}, 0)
    assert [order.value for order in registry.takedown_suppressions(7)] == ["com,example)/"]
    assert add_orders(registry, [SuppressionRow("near_text", "v1:00", 7)]) == 1
    assert registry.withdraw_takedown(7)[1] == 2
    assert registry.suppressions() == []


def test_versions_from_before_there_were_gates_count_as_released(
    empty_url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "before"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for later in folder.glob("versions/*.py"):
        if later.name >= "0011":
            later.unlink()
    registry = Registry(empty_url)
    schema.upgrade(registry.database, folder)
    with registry.database.write() as connection:
        connection.execute(text("INSERT INTO recipes VALUES ('r', 'demo', '{}', 'then')"))
        connection.execute(text("INSERT INTO locks VALUES ('l', '{}', 'then')"))
        connection.execute(
            text(
                "INSERT INTO versions (name, lock_digest, recipe_digest, manifest_path, "
                "manifest_sha256, documents, tokens, samples, status, created_at) "
                "VALUES ('v1', 'l', 'r', 'm', 'x', 1, 1, 1, 'live', 'then')"
            )
        )
    assert registry.upgrade() == ("0010", NEWEST)
    row = registry.version()
    assert (row.name, row.state, row.released_at) == ("v1", "released", "then")


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


def test_a_newer_schema_asks_for_a_newer_package(registry: Registry) -> None:
    with registry.database.write() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9998'"))
    with pytest.raises(SchemaMismatch, match="newer corpus-assets"):
        registry.check_schema()
    with pytest.raises(SchemaMismatch, match="newer corpus-assets"):
        registry.upgrade()


def test_using_tables_that_are_not_there_asks_for_an_upgrade(empty_url: str) -> None:
    database = Database(empty_url)
    with database.write(create=True):
        pass
    with pytest.raises(SchemaMismatch, match="run `catalog upgrade`"):
        Registry(empty_url).versions()
