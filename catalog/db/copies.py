"""The registry's methods for copies: what commands wrote beside the store's results.

A copy is registered before its first byte is written, and of live versions alone, in one
transaction. A takedown revokes versions first and asks for copies then: whatever was begun before
is listed, and whatever comes after is refused.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from catalog.db.database import Database, timestamp
from catalog.db.models import Copy, Version, pick, read_rows, values_of
from catalog.db.rows import CopyRow
from catalog.errors import VersionRevoked


class CopyMethods:
    """What `Registry` knows of copies; each method is one transaction."""

    database: Database

    def begin_copy(self, row: CopyRow) -> CopyRow | None:
        """Register a copy that is about to be written; return the row of its place before.

        What that held counts as well until `put_copy`: it may still be there. `VersionRevoked`
        unless all versions of the copy are live.
        """
        with self.database.write() as connection:
            _expect_live(connection, row)
            wanted = pick(Copy, CopyRow).where(*_same(row))
            known = next(iter(read_rows(connection, CopyRow, wanted)), None)
            _put(connection, row if known is None else replace(row, holds=_joined(row, known)))
            return known

    def put_copy(self, row: CopyRow) -> None:
        """Register a copy that is whole, in place of the row of its place; `VersionRevoked`, and
        the row stays, unless all its versions are live."""
        with self.database.write() as connection:
            _expect_live(connection, row)
            _put(connection, row)

    def forget_copies(self, rows: Iterable[CopyRow], instead: CopyRow | None = None) -> None:
        """Forget copies that are gone; `instead` is put back."""
        with self.database.write() as connection:
            for row in rows:
                connection.execute(delete(Copy).where(*_same(row)))
            if instead is not None:
                _put(connection, instead)

    def copies(self) -> list[CopyRow]:
        """Return all that are registered, oldest first."""
        wanted = pick(Copy, CopyRow).order_by(Copy.c.created_at, Copy.c.place, Copy.c.machine)
        with self.database.read() as connection:
            return read_rows(connection, CopyRow, wanted)


def _same(row: CopyRow) -> tuple[ColumnElement[bool], ...]:
    return Copy.c.place == row.place, Copy.c.machine == row.machine


def _put(connection: Connection, row: CopyRow) -> None:
    connection.execute(delete(Copy).where(*_same(row)))
    values = values_of(row) | {"created_at": row.created_at or timestamp()}
    connection.execute(insert(Copy).values(**values))


def _expect_live(connection: Connection, row: CopyRow) -> None:
    for version in row.holds:
        status = connection.scalar(select(Version.c.status).where(Version.c.name == version))
        if status != "live":
            raise VersionRevoked(
                f"version {version} was revoked by a takedown, and {row.place} would hold what was "
                "removed; use its replacement (`catalog versions` lists it)"
            )


def _joined(*rows: CopyRow) -> dict[str, Any]:
    """Return all that copies of one place may hold together."""
    joined: dict[str, Any] = {}
    for row in rows:
        for version, ids in row.holds.items():
            known = joined.get(version, ())
            joined[version] = None if ids is None or known is None else sorted({*known, *ids})
    return joined
