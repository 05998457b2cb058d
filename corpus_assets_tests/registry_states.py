"""States of a registry that a test wants at once, without the takedown or release that makes them."""

from collections.abc import Iterable

from sqlalchemy import update

from catalog.db.models import Version
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.db.takedowns import _add_orders
from catalog.db.versions import _supersede


def add_orders(registry: Registry, rows: Iterable[SuppressionRow]) -> int:
    """Add standing orders of no request; return how many were new."""
    with registry.database.write() as connection:
        return len(_add_orders(connection, rows)[0])


def revoke(registry: Registry, name: str) -> None:
    """Mark a version revoked, with none in its place."""
    with registry.database.write() as connection:
        marked = update(Version).where(Version.c.name == name).values(status="revoked")
        assert connection.execute(marked).rowcount == 1


def supersede(registry: Registry, old: str, new: str) -> None:
    """Mark `old` revoked and say that `new`, which is published, took its place."""
    with registry.database.write() as connection:
        _supersede(connection, old, new)
