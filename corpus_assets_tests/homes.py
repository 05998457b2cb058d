"""Copies of a home that other test processes may have open."""

import shutil
import sqlite3
from contextlib import closing
from os import PathLike
from pathlib import Path


def copy_home(home: Path, to: Path) -> None:
    """Copy a home, without what other tests wrote elsewhere from it. Databases are read by SQLite:
    the files beside them come and go as others open and close them."""
    ignored = shutil.ignore_patterns("*.db-wal", "*.db-shm")
    shutil.copytree(home, to, ignore=ignored, copy_function=_copy)
    with closing(sqlite3.connect(to / "catalog.db")) as catalog:
        catalog.execute("delete from copies where place not like 'home:%'")
        catalog.commit()


def _copy(source: str | PathLike[str], to: str | PathLike[str]) -> None:
    if not str(source).endswith(".db"):
        shutil.copy2(source, to)
        return
    with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(to)) as copy:
        database.backup(copy)
    shutil.copymode(source, to)
