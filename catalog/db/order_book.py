"""The registry's copy of the order book, and its tables as views of it.

Whoever changes standing orders, requests, certificates or what was revoked appends an entry in the
same transaction (`record`), so entries are numbered without gaps however many write at once. They
are written to the store right after (`catalog.takedown.book`); `is_stored` says which were.

An entry's body says what changed, by these names:

    requests      columns of requests: all of a new one, else `id` and those that changed
    holds         request -> [[kind, value] ...], standing orders that it holds from now on
    released      requests that hold none any more
    actions       what was done for requests; `requests` in place of `request_id`
    certificates  certificates that were written
    revoked       version -> the version in its place

`fold` adds up what holds after all entries: one pass, in time linear in the book. A request that is
being worked on counts as pending; attempts, errors and claims are not kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, text, update

from catalog.db.database import Database, batches, timestamp
from catalog.db.models import (
    OrderBook,
    Suppression,
    SuppressionHolder,
    TakedownAction,
    TakedownCertificate,
    TakedownRequest,
    Version,
    pick,
    read_rows,
    values_of,
)
from catalog.db.rows import (
    ActionRow,
    CertificateRow,
    OrderBookRow,
    SuppressionRow,
    TakedownRow,
)
from catalog.errors import OrderBookError
from catalog.figures import counted
from catalog.formats.order_book import Entry, broken_chain, entry_sha256, parse_entry

Order = tuple[str, str]  # kind and value of a suppression
NOT_KEPT = ("error", "attempts", "owner", "claim_expires_at", "updated_at")
KEPT = tuple(each.name for each in fields(TakedownRow) if each.name not in NOT_KEPT)


# Writing, inside a transaction.


def record(
    connection: Connection,
    kind: str,
    requests: Iterable[Mapping[str, Any]] = (),
    holds: Iterable[tuple[int, Order]] = (),
    released: Iterable[int] = (),
    actions: Iterable[ActionRow] = (),
    certificates: Iterable[CertificateRow] = (),
    revoked: Mapping[str, str] | None = None,
) -> None:
    """Append an entry; none where nothing changed."""
    held: dict[str, list[list[str]]] = {}
    for request, order in holds:
        held.setdefault(str(request), []).append(list(order))
    changes = {
        "requests": list(requests),
        "holds": held,
        "released": list(released),
        "actions": _by_step(actions),
        "certificates": [values_of(row) for row in certificates],
        "revoked": dict(revoked or {}),
    }
    body = {name: value for name, value in changes.items() if value}
    if not body:
        return
    newest = pick(OrderBook, OrderBookRow).order_by(OrderBook.c.number.desc()).limit(1)
    book, number, previous = uuid4().hex, 0, None
    for last in read_rows(connection, OrderBookRow, newest):
        book, number, previous = parse_entry(last.entry).book, last.number, last.sha256
    entry = Entry(book, number + 1, previous, timestamp(), kind, body).text()
    row = OrderBookRow(number + 1, entry_sha256(entry), entry)
    connection.execute(insert(OrderBook).values(**values_of(row)))


def kept(row: TakedownRow) -> dict[str, Any]:
    """Return the columns of a request that the book keeps."""
    values = {name: getattr(row, name) for name in KEPT}
    return values | {"status": "pending" if row.status == "running" else row.status}


def changed(before: Iterable[TakedownRow], after: Iterable[TakedownRow]) -> list[dict[str, Any]]:
    """Return what changed of requests; all of those that were not there before."""
    known = {row.id: kept(row) for row in before}
    found = []
    for row in after:
        was = known.get(row.id, {})
        now = kept(row).items()
        fresh = {name: value for name, value in now if name not in was or was[name] != value}
        if fresh:
            found.append({"id": row.id} | fresh)
    return found


def _by_step(actions: Iterable[ActionRow]) -> list[dict[str, Any]]:
    """A run does the same for all its requests, at some length: it is written once."""

    def step(action: ActionRow) -> dict[str, Any]:
        return {name: value for name, value in values_of(action).items() if name != "request_id"}

    return [
        {"requests": [action.request_id for action in same]} | shared
        for shared, same in groupby(actions, step)
    ]


# Adding up.


@dataclass(frozen=True)
class Standing:
    """What holds after the entries of a book."""

    requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    holds: dict[int, dict[Order, str]] = field(default_factory=dict)  # with when it began
    actions: list[ActionRow] = field(default_factory=list)
    certificates: list[CertificateRow] = field(default_factory=list)
    revoked: dict[str, str] = field(default_factory=dict)


def fold(entries: Iterable[Entry]) -> Standing:
    """Return what holds after entries; `OrderBookError` where one cannot be read."""
    standing = Standing()
    for entry in entries:
        try:
            _apply(standing, entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise OrderBookError(
                f"entry {entry.number} of the order book cannot be read: restore the "
                "folder order_book/ from a backup of the store"
            ) from error
    return standing


def _apply(standing: Standing, entry: Entry) -> None:
    body = entry.body
    for values in body.get("requests", ()):
        standing.requests.setdefault(values["id"], {}).update(values)
    for request in body.get("released", ()):
        standing.holds.pop(request, None)
    for request, orders in body.get("holds", {}).items():
        held = standing.holds.setdefault(int(request), {})
        for kind, value in orders:
            held.setdefault((kind, value), entry.at)
    for values in body.get("actions", ()):
        rest = dict(values)
        standing.actions.extend(ActionRow(number, **rest) for number in rest.pop("requests"))
    standing.certificates.extend(CertificateRow(**row) for row in body.get("certificates", ()))
    standing.revoked.update(body.get("revoked", {}))


# The registry's methods.


@dataclass(frozen=True)
class OrderBookState:
    """The registry's book, whether it is whole, and whether the tables are what it adds up to."""

    rows: list[OrderBookRow]
    book: str | None  # its id; None while it is empty
    problem: str | None  # of the entries themselves
    differences: list[str]  # of the tables


class OrderBookMethods:
    """What `Registry` knows of the order book; each method is one transaction."""

    database: Database

    def order_book(self) -> OrderBookState:
        """Return the registry's book, held against the registry's tables; reads both once."""
        with self.database.read() as connection:
            rows = _rows(connection)
            try:
                entries = checked_entries(rows)
            except ValueError as error:
                return OrderBookState(rows, None, str(error), [])
            found = _differences(connection, fold(entries))
        return OrderBookState(rows, entries[0].book if entries else None, None, found)

    def book_head(self) -> tuple[str, int, str] | None:
        """Return the book's id, and number and digest of its last entry; None while it is empty."""
        newest = pick(OrderBook, OrderBookRow).order_by(OrderBook.c.number.desc()).limit(1)
        with self.database.read() as connection:
            for row in read_rows(connection, OrderBookRow, newest):
                return parse_entry(row.entry).book, row.number, row.sha256
        return None

    def entries_to_store(self) -> list[OrderBookRow]:
        """Return the entries that the store is not known to have."""
        wanted = pick(OrderBook, OrderBookRow).where(OrderBook.c.is_stored.is_(False))
        with self.database.read() as connection:
            return read_rows(connection, OrderBookRow, wanted.order_by(OrderBook.c.number))

    def mark_stored(self, numbers: Sequence[int]) -> None:
        """Note that the store has entries."""
        with self.database.write() as connection:
            for some in batches(numbers):
                written = update(OrderBook).where(OrderBook.c.number.in_(some))
                connection.execute(written.values(is_stored=True))

    def replay_book(self, rows: Sequence[OrderBookRow]) -> Standing:
        """Make the tables what a book adds up to; the registry's own entries must be its beginning.

        Requests, their orders, actions and certificates are rewritten, and versions that the book
        calls revoked become revoked. Orders that belong to no request stay.
        """
        standing = fold(checked_entries(rows))
        with self.database.write() as connection:
            for own, given in zip(_rows(connection), rows, strict=False):
                if own.sha256 != given.sha256:
                    raise OrderBookError(
                        f"entry {own.number} of the catalog's order book differs from the "
                        "store's: this catalog belongs to another store, name the right one"
                    )
            connection.execute(delete(OrderBook))
            _insert(connection, OrderBook, [values_of(row) for row in rows])
            _rewrite(connection, standing)
        return standing


def _rows(connection: Connection) -> list[OrderBookRow]:
    wanted = pick(OrderBook, OrderBookRow).order_by(OrderBook.c.number)
    return read_rows(connection, OrderBookRow, wanted)


def checked_entries(rows: Sequence[OrderBookRow]) -> list[Entry]:
    """Return the entries of a whole book; ValueError says what is wrong with it."""
    entries = []
    for row in rows:
        try:
            entries.append(parse_entry(row.entry))
        except ValueError as error:
            raise ValueError(f"entry {row.number} cannot be read: {error}") from error
        if entry_sha256(row.entry) != row.sha256:
            raise ValueError(f"entry {row.number} was altered")
    wrong = broken_chain([(entry, row.sha256) for entry, row in zip(entries, rows, strict=True)])
    if wrong is not None:
        raise ValueError(wrong)
    return entries


def revoked_in(connection: Connection, version: str) -> str | None:
    """Return the version that took the place of a revoked one, by the book alone."""
    return fold(checked_entries(_rows(connection))).revoked.get(version)


def _differences(connection: Connection, standing: Standing) -> list[str]:
    """Return what the tables say otherwise than the book."""
    found: list[str] = []
    requests = read_rows(connection, TakedownRow, pick(TakedownRequest, TakedownRow))
    known = {row.id: kept(row) for row in requests}
    for number in sorted(known.keys() | standing.requests.keys()):
        was, now = standing.requests.get(number), known.get(number)
        if now is None:
            found.append(f"takedown {number} is not in the catalog")
        elif was is None:
            found.append(f"no entry is about takedown {number}")
        elif was != now:
            names = ", ".join(name for name in KEPT if was.get(name) != now[name])
            found.append(f"takedown {number} was altered in the catalog ({names})")
    held = connection.execute(
        select(SuppressionHolder.c.request_id, Suppression.c.kind, Suppression.c.value).join(
            Suppression, Suppression.c.id == SuppressionHolder.c.suppression_id
        )
    )
    now_held = {tuple(row) for row in held.all()}
    was_held = {(number, *order) for number, orders in standing.holds.items() for order in orders}
    for count, what in (
        (len(was_held - now_held), "of the book not in force in the catalog"),
        (len(now_held - was_held), "in the catalog without an entry"),
    ):
        if count:
            found.append(f"{counted(count, 'suppression')} {what}")
    wanted = pick(TakedownCertificate, CertificateRow).order_by(TakedownCertificate.c.id)
    if read_rows(connection, CertificateRow, wanted) != standing.certificates:
        found.append("the catalog lists other certificates")
    live = connection.scalars(select(Version.c.name).where(Version.c.status == "live"))
    found += [
        f"version {name} is live in the catalog, and was revoked"
        for name in live
        if name in standing.revoked
    ]
    return found


def _rewrite(connection: Connection, standing: Standing) -> None:
    for table in (SuppressionHolder, TakedownAction, TakedownCertificate):
        connection.execute(delete(table))
    connection.execute(delete(Suppression).where(Suppression.c.request_id.is_not(None)))
    connection.execute(delete(TakedownRequest))
    now = timestamp()
    _insert(
        connection,
        TakedownRequest,
        [values_of(TakedownRow(**row, updated_at=now)) for row in standing.requests.values()],
    )
    if connection.dialect.name == "postgresql" and standing.requests:  # its numbers go on from here
        connection.execute(
            text("SELECT setval(pg_get_serial_sequence('takedown_requests', 'id'), :last)"),
            {"last": max(standing.requests)},
        )
    stay = select(Suppression.c.kind, Suppression.c.value, Suppression.c.id)
    numbers = {(row.kind, row.value): row.id for row in connection.execute(stay)}
    orders: dict[Order, SuppressionRow] = {}
    for request, held in standing.holds.items():
        for order, since in held.items():
            if order not in numbers:
                orders.setdefault(order, SuppressionRow(*order, request, since))
    if orders:
        fresh = connection.scalars(
            insert(Suppression).returning(Suppression.c.id, sort_by_parameter_order=True),
            [values_of(row) for row in orders.values()],
        ).all()
        numbers |= dict(zip(orders, fresh, strict=True))
    _insert(
        connection,
        SuppressionHolder,
        [
            {"request_id": request, "suppression_id": numbers[order]}
            for request, held in standing.holds.items()
            for order in held
        ],
    )
    _insert(connection, TakedownAction, [values_of(row) for row in standing.actions])
    _insert(connection, TakedownCertificate, [values_of(row) for row in standing.certificates])
    for version, instead in standing.revoked.items():
        marked = update(Version).where(Version.c.name == version, Version.c.status == "live")
        connection.execute(marked.values(status="revoked", superseded_by=instead))


def _insert(connection: Connection, table: Any, values: Sequence[Mapping[str, Any]]) -> None:
    if values:
        connection.execute(insert(table), list(values))
