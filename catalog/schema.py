"""Creating and upgrading the registry's tables with Alembic, without an alembic.ini.

An upgrade is one write transaction from the present revision to the newest: two upgrades cannot
run at once, and one that fails leaves the schema as it was, on SQLite too.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from catalog.errors import SchemaMismatch
from catalog.session import Database

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "catalog_schema"  # Dagster keeps its own alembic_version in the same database


def config(migrations: Path = MIGRATIONS) -> Config:
    """Alembic's settings for the migrations shipped in this package."""
    settings = Config()
    settings.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return settings


def upgrade(database: Database, migrations: Path = MIGRATIONS) -> tuple[str | None, str]:
    """Bring the schema to the newest revision; gives the revisions before and after."""
    settings = config(migrations)
    with database.write(create=True) as connection:
        before = _revision(connection)
        _refuse_newer(database, before, migrations)
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
        after = _revision(connection)
    return before, after or ""


def check(database: Database, migrations: Path = MIGRATIONS) -> None:
    """Raise `SchemaMismatch` unless the schema is the newest one this package knows."""
    with database.read() as connection:
        present = _revision(connection)
    _refuse_newer(database, present, migrations)
    newest = ScriptDirectory.from_config(config(migrations)).get_current_head()
    if present != newest:
        state = "is empty" if present is None else f"has schema {present}, this package {newest}"
        raise SchemaMismatch(f"the catalog at {database} {state}: run `catalog upgrade`")


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _refuse_newer(database: Database, present: str | None, migrations: Path) -> None:
    if present is None:
        return
    try:
        ScriptDirectory.from_config(config(migrations)).get_revision(present)
    except CommandError as error:
        raise SchemaMismatch(
            f"the catalog at {database} has schema {present}, which this package does not know: "
            "it was upgraded by a newer corpus-assets; install that one here too"
        ) from error
