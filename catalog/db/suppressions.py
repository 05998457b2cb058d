"""Standing orders in the registry and the requests that hold them, inside a transaction of the
caller.

A suppression is stored once, whoever asked for it. Each request that brought it holds it; one
that was added by hand (no request) is held by nobody and stays until it is removed by hand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from catalog.db.models import Suppression, SuppressionHolder
from catalog.db.rows import SUPPRESSION_KINDS, SuppressionRow
from catalog.errors import CatalogError, OrdersChanged

BATCH = 400  # SQLite's limit on bound values is far above 3 * BATCH

Order = tuple[str, str]  # kind and value of a suppression
Item = TypeVar("Item")


def batches(items: Sequence[Item], size: int = BATCH) -> Iterator[Sequence[Item]]:
    """`items` in pieces that one statement can bind."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def by_kind(orders: Iterable[Order]) -> Iterator[tuple[str, list[str]]]:
    """Values of each kind. SQLite searches an index for `kind = ? AND value IN (...)`, and scans
    the whole of it for `(kind, value) IN (...)`."""
    values: dict[str, dict[str, None]] = {}
    for kind, value in orders:
        values.setdefault(kind, {})[value] = None
    return ((kind, list(some)) for kind, some in values.items())


def add(connection: Connection, rows: Iterable[SuppressionRow], now: str) -> int:
    """Write what is new among `rows` and who holds it; gives how many were new."""
    wanted: dict[Order, SuppressionRow] = {}
    held: dict[int, list[Order]] = {}
    for row in rows:
        if row.kind not in SUPPRESSION_KINDS or not row.value:
            raise CatalogError(
                f"a suppression is one of {', '.join(SUPPRESSION_KINDS)} with a value, "
                f"not {row.kind!r} {row.value!r}"
            )
        wanted.setdefault((row.kind, row.value), row)
        if row.request_id is not None:
            held.setdefault(row.request_id, []).append((row.kind, row.value))
    numbers = _numbers(connection, list(wanted))
    fresh = [row for order, row in wanted.items() if order not in numbers]
    if fresh:
        written = connection.scalars(
            insert(Suppression).returning(Suppression.id, sort_by_parameter_order=True),
            [
                {
                    "kind": row.kind,
                    "value": row.value,
                    "request_id": row.request_id,
                    "created_at": row.created_at or now,
                }
                for row in fresh
            ],
        ).all()
        orders = ((row.kind, row.value) for row in fresh)
        numbers |= dict(zip(orders, written, strict=True))
    if held:
        _link(connection, held, numbers)
    return len(fresh)


def listed(connection: Connection, kind: str | None) -> list[SuppressionRow]:
    """Standing orders in the order they were added."""
    wanted = select(Suppression).order_by(Suppression.id)
    if kind is not None:
        wanted = wanted.where(Suppression.kind == kind)
    found = connection.execute(wanted)
    return [SuppressionRow(r.kind, r.value, r.request_id, r.created_at) for r in found]


def state(connection: Connection) -> str:
    """A short name for the set of orders in force: another one whenever the set changes."""
    count, last, total = connection.execute(
        select(func.count(), func.max(Suppression.id), func.sum(Suppression.id))
    ).one()
    return f"{count}.{last or 0}.{total or 0}"


def expect(connection: Connection, known: str) -> None:
    """`OrdersChanged` unless the orders in force are those of that state."""
    if state(connection) != known:
        raise OrdersChanged(
            "takedowns were filed or withdrawn while this version was built, so it is not "
            "published: build it again, what they do not touch is there already"
        )


def held_by(connection: Connection, request_id: int) -> list[SuppressionRow]:
    """The standing orders that a request holds, shared ones included."""
    found = connection.execute(
        select(Suppression)
        .join(SuppressionHolder, SuppressionHolder.suppression_id == Suppression.id)
        .where(SuppressionHolder.request_id == request_id)
        .order_by(Suppression.id)
    )
    return [SuppressionRow(r.kind, r.value, request_id, r.created_at) for r in found]


def let_go(connection: Connection, request_id: int) -> int:
    """End a request's hold; gives how many suppressions nobody holds any more and are gone."""
    connection.execute(delete(SuppressionHolder).where(SuppressionHolder.request_id == request_id))
    still_held = exists().where(SuppressionHolder.suppression_id == Suppression.id)
    gone = connection.execute(
        delete(Suppression).where(Suppression.request_id == request_id, ~still_held)
    )
    heir = (
        select(SuppressionHolder.request_id)
        .where(SuppressionHolder.suppression_id == Suppression.id)
        .order_by(SuppressionHolder.request_id)
        .limit(1)
        .scalar_subquery()
    )
    connection.execute(
        update(Suppression).where(Suppression.request_id == request_id).values(request_id=heir)
    )
    return int(gone.rowcount)


def _numbers(connection: Connection, orders: list[Order]) -> dict[Order, int]:
    found: dict[Order, int] = {}
    for kind, values in by_kind(orders):
        for some in batches(values):
            for row in connection.execute(
                select(Suppression.id, Suppression.value).where(
                    Suppression.kind == kind, Suppression.value.in_(some)
                )
            ):
                found[(kind, row.value)] = row.id
    return found


def _link(
    connection: Connection, held: Mapping[int, Sequence[Order]], numbers: Mapping[Order, int]
) -> None:
    known: set[tuple[int, int]] = set()
    for some in batches(list(held)):
        known.update(
            (row.request_id, row.suppression_id)
            for row in connection.execute(
                select(SuppressionHolder).where(SuppressionHolder.request_id.in_(some))
            )
        )
    links = {(request, numbers[order]) for request, orders in held.items() for order in orders}
    fresh = sorted(links - known)
    if fresh:
        connection.execute(
            insert(SuppressionHolder),
            [{"request_id": request, "suppression_id": number} for request, number in fresh],
        )
