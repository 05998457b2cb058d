"""Creating and upgrading the registry's tables with Alembic, without an alembic.ini.

An upgrade is one write transaction from the present revision to the newest: two upgrades cannot
run at once, and one that fails leaves the schema as it was, on SQLite too.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select, text

from catalog.db.database import Database
from catalog.db.models import metadata
from catalog.errors import SchemaMismatch

if TYPE_CHECKING:  # Alembic takes longer to import than most questions take to answer
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
REVISION = re.compile(r"^(down_)?revision\b[^=]*=\s*[\"']([^\"']+)[\"']", re.MULTILINE)
VERSION_TABLE = "catalog_schema"  # Dagster keeps its own alembic_version in the same database


def config(migrations: Path = MIGRATIONS) -> "Config":
    """Return Alembic's settings for the migrations shipped in this package."""
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return settings


def upgrade(database: Database, migrations: Path = MIGRATIONS) -> tuple[str | None, str]:
    """Bring the schema to the newest revision; return the revisions before and after."""
    with database.write(create=True) as connection:
        before = _revision(connection)
        _refuse_unknown(database, before, migrations)
        if before == newest(migrations):
            return before, before
        from alembic import command

        settings = config(migrations)
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
        after = _revision(connection)
    return before, after or ""


def check(database: Database, migrations: Path = MIGRATIONS) -> None:
    """Raise `SchemaMismatch` unless the schema is the newest one this package knows."""
    with database.read() as connection:
        present = _revision(connection)
    _refuse_unknown(database, present, migrations)
    expected = newest(migrations)
    if present != expected:
        state = "is empty" if present is None else f"has schema {present}, this package {expected}"
        raise SchemaMismatch(f"the catalog at {database} {state}: run `catalog upgrade`")


def integrity(connection: Connection) -> list[str]:
    """Return what the database finds wrong with itself. PostgreSQL keeps references whole by
    itself; a damaged page is met by reading every row."""
    if connection.dialect.name != "sqlite":
        for table in metadata.sorted_tables:
            connection.execute(select(func.count()).select_from(table))
        return []
    pages = connection.exec_driver_sql("PRAGMA integrity_check")
    found = [row[0] for row in pages if row[0] != "ok"]
    dangling = connection.exec_driver_sql("PRAGMA foreign_key_check")
    return found + [
        f"a row of {row[0]} refers to a row of {row[2]} that is absent" for row in dangling
    ]


def newest(migrations: Path = MIGRATIONS) -> str:
    """Name the revision that an upgrade ends at."""
    revisions, before = _revisions(migrations)
    return next(iter(revisions - before))


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.execute(
        text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608, a constant
    ).scalar()
    return found


def _revisions(migrations: Path) -> tuple[set[str], set[str]]:
    """Return all revisions, and those that another one follows; read from the files'
    assignments."""
    known: dict[str, set[str]] = {"": set(), "down_": set()}
    for path in (migrations / "versions").glob("*.py"):
        for kind, name in REVISION.findall(path.read_text(encoding="utf-8")):
            known[kind].add(name)
    return known[""], known["down_"]


def _refuse_unknown(database: Database, present: str | None, migrations: Path) -> None:
    if present is not None and present not in _revisions(migrations)[0]:
        raise SchemaMismatch(
            f"the catalog at {database} has schema {present}, which this corpus-assets does not know: "
            "it was made by a newer release, or by a development tree from before the first one; use "
            "what made it, or begin with a new home (`--home` or CORPUS_HOME)"
        )
