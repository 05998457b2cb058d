"""The registry's methods for takedowns: standing orders, requests, claims and certificates.

    pending -> running -> done
       ^          |
       +- failed -+        with the error on it
       +------> withdrawn  only while no runner works on it

One request is one (kind, value, near_duplicates), for ever: filing it again finds it. A standing
order (suppression) is stored once, whoever asked for it. Each request that brought it holds it;
one that was added by hand is held by no request and stays until it is removed by hand.
A claim is a lease on a request. It is taken in a write transaction, so of two runners that ask at
once one gets it; it ends by itself when its owner dies.
All but claims and errors is written to the order book too, in the same transaction (`order_book.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from catalog.db import fencing
from catalog.db.database import Database, batches, by_kind, timestamp
from catalog.db.models import (
    Suppression,
    SuppressionHolder,
    TakedownAction,
    TakedownCertificate,
    TakedownRequest,
    pick,
    read_rows,
    values_of,
)
from catalog.db.order_book import changed, record
from catalog.db.rows import (
    SUPPRESSION_KINDS,
    TAKEDOWN_KINDS,
    TAKEDOWN_STATES,
    ActionRow,
    CertificateRow,
    NewTakedown,
    SuppressionRow,
    TakedownRow,
)
from catalog.errors import (
    CatalogConflict,
    CatalogError,
    LeaseLost,
    OrdersChanged,
    TakedownRefused,
    UnknownName,
)
from catalog.formats.store import relative_path

FILED, ALREADY_THERE, REOPENED = "filed", "already_there", "reopened"
WITHDRAWN, REFRESHED, FINISHED, CERTIFIED = "withdrawn", "refreshed", "finished", "certified"
NOTES = (WITHDRAWN, REOPENED)  # actions that people took, not runs
MAX_ERROR_CHARS = 500

Key = tuple[str, str, bool]
Order = tuple[str, str]  # kind and value of a suppression
Hold = tuple[int, Order]  # a request and an order that it holds


def key_of(request: NewTakedown | TakedownRow) -> Key:
    """Return what makes two requests one."""
    return request.kind, request.value, request.near_duplicates


class TakedownMethods:
    """What `Registry` knows of takedowns; each method is one transaction."""

    database: Database

    # Standing orders.

    def suppressions(self, kind: str | None = None) -> list[SuppressionRow]:
        """Return standing orders in the order they were added."""
        with self.database.read() as connection:
            return _orders(connection, kind)

    def orders(self) -> tuple[str, list[SuppressionRow]]:
        """Return the standing orders and the state they are in, which changes whenever they do."""
        with self.database.read() as connection:
            return _orders_state(connection), _orders(connection)

    def orders_state(self) -> str:
        """Return the state of the standing orders, without them."""
        with self.database.read() as connection:
            return _orders_state(connection)

    def expect_orders(self, state: str) -> None:
        """`OrdersChanged` unless the standing orders are still in that state."""
        with self.database.read() as connection:
            expect_orders(connection, state)

    def takedown_suppressions(self, request_id: int) -> list[SuppressionRow]:
        """Return the standing orders that a request holds, shared ones included."""
        return self.suppressions_of([request_id])[request_id]

    def suppressions_of(self, request_ids: Sequence[int]) -> dict[int, list[SuppressionRow]]:
        """Return the standing orders that each of some requests holds, shared ones included."""
        holder = SuppressionHolder.c
        found: dict[int, list[SuppressionRow]] = {number: [] for number in request_ids}
        with self.database.read() as connection:
            _requests(connection, request_ids)
            for some in batches(list(found)):
                held = (
                    select(holder.request_id.label("holder"), Suppression)
                    .join(Suppression, holder.suppression_id == Suppression.c.id)
                    .where(holder.request_id.in_(some))
                    .order_by(Suppression.c.id)
                )
                for r in connection.execute(held):
                    row = SuppressionRow(r.kind, r.value, r.holder, r.created_at)
                    found[r.holder].append(row)
        return found

    # Requests.

    def file_takedowns(self, requests: Sequence[NewTakedown]) -> list[tuple[TakedownRow, str]]:
        """File requests with their suppressions; return each row and what became of it, in the
        order given.

        `filed`: it is new. `already_there`: nothing but what it found was brought up to date; one
        that is being worked on is left alone. `reopened`: it was withdrawn, or was done and finds
        documents in live versions all the same, and is pending again.
        """
        wanted: dict[Key, NewTakedown] = {}
        for request in requests:
            if request.kind not in TAKEDOWN_KINDS or not request.value:
                raise CatalogError(
                    f"a takedown is one of {', '.join(TAKEDOWN_KINDS)} with a value, "
                    f"not {request.kind!r} {request.value!r}"
                )
            wanted.setdefault(key_of(request), request)
        with self.database.write() as connection:
            known = _find(connection, list(wanted))
            fresh = [request for key, request in wanted.items() if key not in known]
            outcomes = {key_of(request): FILED for request in fresh}
            rows = {key_of(row): row for row in _insert_requests(connection, fresh)}
            orders = [
                order for key, row in rows.items() for order in _orders_of(row.id, wanted[key])
            ]
            notes: list[ActionRow] = []
            for key, row in known.items():
                outcomes[key], held, noted = _file_again(connection, row, wanted[key])
                orders += held
                notes += noted
            _, holds = _add_orders(connection, orders)
            rows |= _find(connection, list(known))
            record(connection, FILED, changed(known.values(), rows.values()), holds, actions=notes)
        answer = []
        for request in requests:
            key = key_of(request)
            answer.append((rows[key], outcomes[key]))
            outcomes[key] = ALREADY_THERE  # for the same request further down
        return answer

    def refresh_takedowns(self, found: Iterable[tuple[int, NewTakedown]]) -> list[TakedownRow]:
        """Bring up to date what requests find, whatever their status, and the orders they hold."""
        pairs = list(found)
        numbers = [number for number, _ in pairs]
        with self.database.write() as connection:
            known = {row.id: row for row in _requests(connection, numbers)}
            orders: list[SuppressionRow] = []
            for number, request in pairs:
                if request.documents or not known[number].documents:
                    # What a killed run has taken out is not there to be found: what it was stays.
                    found_now = {"documents": request.documents, "found": dict(request.found)}
                    _set(connection, [number], **found_now)
                orders += _orders_of(number, request)
            _, holds = _add_orders(connection, orders)
            rows = _requests(connection, numbers)
            record(connection, REFRESHED, changed(known.values(), rows), holds)
            return rows

    def find_takedowns(self, keys: Sequence[Key]) -> dict[Key, TakedownRow]:
        """Return the requests that are there among (kind, value, near_duplicates)."""
        with self.database.read() as connection:
            return _find(connection, keys)

    def takedown(self, request_id: int) -> TakedownRow:
        """Return the request of that number."""
        with self.database.read() as connection:
            return _request(connection, request_id)

    def takedowns_of(self, request_ids: Sequence[int]) -> list[TakedownRow]:
        """Return requests by number; a number that is not there is refused."""
        with self.database.read() as connection:
            return _requests(connection, request_ids)

    def takedowns(self, status: str | None = None, limit: int | None = None) -> list[TakedownRow]:
        """Return requests in the order they were filed; `failed` are the pending ones with an
        error."""
        wanted = pick(TakedownRequest, TakedownRow).order_by(TakedownRequest.c.id)
        if status == "failed":
            wanted = wanted.where(TakedownRequest.c.error.is_not(None))
        elif status is not None and status not in TAKEDOWN_STATES:
            raise CatalogError(
                f"a takedown is one of {', '.join(TAKEDOWN_STATES)} or failed, not {status!r}"
            )
        if status is not None:
            state = "pending" if status == "failed" else status
            wanted = wanted.where(TakedownRequest.c.status == state)
        with self.database.read() as connection:
            return read_rows(connection, TakedownRow, wanted.limit(limit))

    def withdraw_takedown(self, request_id: int) -> tuple[TakedownRow, int]:
        """Take a pending request back; return it and how many suppressions went with it."""
        with self.database.write() as connection:
            row = _request(connection, request_id)
            if row.status == "withdrawn":
                return row, 0
            if row.status == "done":
                raise TakedownRefused(
                    f"takedown {request_id} is done and cannot be withdrawn: the documents are "
                    "gone from the live versions; to ingest them again, deliver them in a new "
                    "snapshot under another address"
                )
            if row.status == "running":
                raise TakedownRefused(
                    f"takedown {request_id} is in use by {row.owner} and cannot be "
                    "withdrawn now: wait until that run ends (`catalog takedown show` shows its progress)"
                )
            gone = _let_go(connection, request_id)
            _set(connection, [request_id], status="withdrawn", error=None)
            note = _note(connection, request_id, WITHDRAWN, {"suppressions_removed": gone})
            after = _request(connection, request_id)
            changes = changed([row], [after])
            record(connection, WITHDRAWN, changes, released=[request_id], actions=[note])
            return after, gone

    # Working on them.

    def free_takedowns(self, limit: int | None = None) -> list[TakedownRow]:
        """Return requests that wait for a run: pending ones, and those whose run died and whose
        claim has run out, in the order they were filed."""
        table = TakedownRequest.c
        with self.database.read() as connection:
            ran_out = table.claim_expires_at.is_(None) | (
                table.claim_expires_at <= fencing.now(connection)
            )
            is_free = (table.status == "pending") | ((table.status == "running") & ran_out)
            wanted = pick(TakedownRequest, TakedownRow).where(is_free).order_by(table.id)
            return read_rows(connection, TakedownRow, wanted.limit(limit))

    def claim_takedowns(self, ids: Sequence[int], owner: str, ttl_s: float) -> list[TakedownRow]:
        """Take what is free among `ids` for `ttl_s` seconds; another's claim is passed over.

        Our own claims are extended, and one that ran out is taken from whoever had it.
        """
        with self.database.write() as connection:
            moment = fencing.now(connection)
            free = []
            for row in _requests(connection, ids):
                ran_out = row.claim_expires_at is None or row.claim_expires_at <= moment
                ours = row.owner == owner
                if row.status == "pending" or (row.status == "running" and (ours or ran_out)):
                    free.append(row)
            for fresh in (True, False):  # extending our own claim is not another attempt
                _set(
                    connection,
                    [r.id for r in free if (r.status == "running" and r.owner == owner) != fresh],
                    status="running",
                    owner=owner,
                    claim_expires_at=moment + ttl_s,
                    attempts=TakedownRequest.c.attempts + int(fresh),
                )
            return _requests(connection, [row.id for row in free])

    def finish_takedowns(
        self, ids: Sequence[int], owner: str, actions: Sequence[ActionRow] = ()
    ) -> None:
        """Mark our requests done; `LeaseLost`, and nothing changed, when one is not ours."""
        with self.database.write() as connection:
            running = _ours(connection, ids, owner, "done")
            before = _requests(connection, running)
            fresh = record_actions(connection, actions)
            _set(connection, running, status="done", error=None, claim_expires_at=None)
            after = _requests(connection, running)
            record(connection, FINISHED, changed(before, after), actions=fresh)

    def fail_takedowns(self, ids: Sequence[int], owner: str, error: str) -> None:
        """Give our requests back, pending, with the error on them; all of them or none."""
        line = " ".join(error.split())[:MAX_ERROR_CHARS] or "the run failed and gave no reason"
        with self.database.write() as connection:
            running = _ours(connection, ids, owner, "pending")
            _set(connection, running, status="pending", error=line, claim_expires_at=None)

    def takedown_actions(self, request_id: int) -> list[ActionRow]:
        """Return what runs did for a request, in order."""
        return [row for row in self.takedown_history(request_id) if row.action not in NOTES]

    def actions_of(self, request_ids: Sequence[int]) -> Iterator[ActionRow]:
        """Yield what runs did for some requests, those of a request in order."""
        for some in batches(list(request_ids)):
            with self.database.read() as connection:
                found = _actions(connection, some)
            yield from (row for row in found if row.action not in NOTES)

    def takedown_history(self, request_id: int) -> list[ActionRow]:
        """Return all that happened to a request, with what people did: `withdrawn` and
        `reopened`."""
        with self.database.read() as connection:
            _request(connection, request_id)
            return _actions(connection, [request_id])

    def takedowns_replacing(self, version: str) -> list[int]:
        """Return numbers of the requests that a version was replaced for."""
        table = TakedownAction.c
        with self.database.read() as connection:
            found = connection.scalars(
                select(table.request_id).where(table.version_before == version)
            )
            return sorted(set(found))

    # Certificates.

    def put_certificates(self, rows: Sequence[CertificateRow]) -> int:
        """Append certificates to the chain, each naming the one before it; return how many are new.

        `CatalogConflict` when one does not name the chain's last before it (None for the first).
        """
        for row in rows:
            relative_path(row.path)
        with self.database.write() as connection:
            _requests(connection, [row.request_id for row in rows])
            known = {row.sha256: row for row in _known_certificates(connection, rows)}
            end = select(TakedownCertificate.c.sha256).order_by(TakedownCertificate.c.id.desc())
            last = connection.execute(end.limit(1)).scalar()
            fresh: list[CertificateRow] = []
            for row in rows:
                if (same := known.get(row.sha256)) is not None:
                    if (same.request_id, same.path) == (row.request_id, row.path):
                        continue
                    raise CatalogConflict(
                        f"certificate {row.sha256[:12]} is recorded for takedown {same.request_id} "
                        f"at {same.path}: one certificate belongs to one request"
                    )
                if row.previous_sha256 != last:
                    raise CatalogConflict(
                        f"the certificate names {row.previous_sha256 or 'none'} as the one before "
                        f"it, the chain ends with {last or 'none'}: write it again on top of that one"
                    )
                fresh.append(replace(row, created_at=timestamp()))
                last = row.sha256
            if fresh:
                connection.execute(insert(TakedownCertificate), [values_of(row) for row in fresh])
                record(connection, CERTIFIED, certificates=fresh)
            return len(fresh)

    def certificates(self, request_id: int | None = None) -> list[CertificateRow]:
        """Return certificates in the order of the chain, of one request or of all."""
        with self.database.read() as connection:
            return _certificates(connection, request_id)


# Standing orders, inside a transaction.


def expect_orders(connection: Connection, known: str) -> None:
    """`OrdersChanged` unless the orders in force are those of that state."""
    if _orders_state(connection) != known:
        raise OrdersChanged(
            "takedowns were filed or withdrawn while this version was built, so it is not "
            "published: build it again, parts that they do not affect are cached"
        )


def _orders_state(connection: Connection) -> str:
    """Return a short name for the set of orders in force: another one whenever the set changes."""
    number = Suppression.c.id
    count, last, total = connection.execute(
        select(func.count(), func.max(number), func.sum(number)).select_from(Suppression)
    ).one()
    return f"{count}.{last or 0}.{total or 0}"


def _orders(connection: Connection, kind: str | None = None) -> list[SuppressionRow]:
    wanted = pick(Suppression, SuppressionRow).order_by(Suppression.c.id)
    if kind is not None:
        wanted = wanted.where(Suppression.c.kind == kind)
    return read_rows(connection, SuppressionRow, wanted)


def _orders_of(number: int, request: NewTakedown) -> list[SuppressionRow]:
    return [SuppressionRow(kind, value, number) for kind, value in request.suppressions]


def _add_orders(
    connection: Connection, rows: Iterable[SuppressionRow]
) -> tuple[list[Order], list[Hold]]:
    """Write what is new among `rows` and who holds it; return both."""
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
    numbers: dict[Order, int] = {}
    for kind, values in by_kind(wanted):
        for some in batches(values):
            known = (Suppression.c.kind == kind, Suppression.c.value.in_(some))
            for row_found in connection.execute(select(Suppression).where(*known)):
                numbers[(kind, row_found.value)] = row_found.id
    now = timestamp()
    fresh = [row for order, row in wanted.items() if order not in numbers]
    if fresh:
        written = connection.scalars(
            insert(Suppression).returning(Suppression.c.id, sort_by_parameter_order=True),
            [values_of(row) | {"created_at": row.created_at or now} for row in fresh],
        ).all()
        numbers |= {(row.kind, row.value): n for row, n in zip(fresh, written, strict=True)}
    holds = _link(connection, held, numbers) if held else []
    return [(row.kind, row.value) for row in fresh], holds


def _link(
    connection: Connection, held: Mapping[int, Sequence[Order]], numbers: Mapping[Order, int]
) -> list[Hold]:
    """Note which requests hold which orders; return what is new."""
    known: set[tuple[int, int]] = set()
    for some in batches(list(held)):
        found = select(SuppressionHolder).where(SuppressionHolder.c.request_id.in_(some))
        known.update((row.request_id, row.suppression_id) for row in connection.execute(found))
    links = {
        (request, numbers[order]): order for request, orders in held.items() for order in orders
    }
    fresh = sorted(links.keys() - known)
    if fresh:
        connection.execute(
            insert(SuppressionHolder),
            [{"request_id": request, "suppression_id": number} for request, number in fresh],
        )
    return [(request, links[request, number]) for request, number in fresh]


def _let_go(connection: Connection, request_id: int) -> int:
    """End a request's hold; return how many suppressions are held no more and were removed."""
    holder = SuppressionHolder.c
    connection.execute(delete(SuppressionHolder).where(holder.request_id == request_id))
    still_held = exists().where(holder.suppression_id == Suppression.c.id)
    ours = Suppression.c.request_id == request_id
    gone = connection.execute(delete(Suppression).where(ours, ~still_held))
    heir = (
        select(holder.request_id)
        .where(holder.suppression_id == Suppression.c.id)
        .order_by(holder.request_id)
        .limit(1)
        .scalar_subquery()
    )
    connection.execute(update(Suppression).where(ours).values(request_id=heir))
    return int(gone.rowcount)


# Requests, inside a transaction.


def _request(connection: Connection, number: int) -> TakedownRow:
    """Return the request of that number."""
    wanted = pick(TakedownRequest, TakedownRow).where(TakedownRequest.c.id == number)
    for found in read_rows(connection, TakedownRow, wanted):
        return found
    raise UnknownName(f"there is no takedown {number}: `catalog takedown list` shows all")


def _requests(connection: Connection, numbers: Sequence[int]) -> list[TakedownRow]:
    """Return requests by number; unknown numbers are refused."""
    rows: dict[int, TakedownRow] = {}
    for some in batches(list(dict.fromkeys(numbers))):
        wanted = pick(TakedownRequest, TakedownRow).where(TakedownRequest.c.id.in_(some))
        rows |= {row.id: row for row in read_rows(connection, TakedownRow, wanted)}
    for number in numbers:
        if number not in rows:
            _request(connection, number)
    return [rows[number] for number in sorted(rows)]


def _find(connection: Connection, keys: Sequence[Key]) -> dict[Key, TakedownRow]:
    """Return the requests that are there among `keys`."""
    found: dict[Key, TakedownRow] = {}
    asked = set(keys)
    for kind, values in by_kind((kind, value) for kind, value, _ in keys):
        for some in batches(values):
            wanted = pick(TakedownRequest, TakedownRow).where(
                TakedownRequest.c.kind == kind, TakedownRequest.c.value.in_(some)
            )
            for row in read_rows(connection, TakedownRow, wanted):
                if key_of(row) in asked:
                    found[key_of(row)] = row
    return found


def _insert_requests(connection: Connection, requests: Sequence[NewTakedown]) -> list[TakedownRow]:
    if not requests:
        return []
    now = timestamp()
    values = [
        values_of(request) | {"status": "pending", "created_at": now, "updated_at": now}
        for request in requests
    ]
    numbers = connection.scalars(
        insert(TakedownRequest).returning(TakedownRequest.c.id, sort_by_parameter_order=True),
        values,
    ).all()
    return [TakedownRow(id=n, **row) for n, row in zip(numbers, values, strict=True)]


def _file_again(
    connection: Connection, row: TakedownRow, request: NewTakedown
) -> tuple[str, list[SuppressionRow], list[ActionRow]]:
    """Bring a known request up to date; return what became of it, the orders it brings, and what
    was noted."""
    if row.status == "running":
        return ALREADY_THERE, [], []
    notes = []
    reopened = row.status == "withdrawn" or (row.status == "done" and request.documents > 0)
    changes: dict[str, Any] = {}
    differs = (row.documents, row.found) != (request.documents, request.found)
    if differs and (row.status != "done" or reopened):
        changes = {"documents": request.documents, "found": dict(request.found)}
    if row.status == "withdrawn":
        changes |= {
            "reason": request.reason,
            "requester": request.requester,
            "reference": request.reference,
            "given": request.given,
        }
    if reopened:
        changes |= {"status": "pending", "error": None}
        notes.append(_note(connection, row.id, REOPENED, {"status_before": row.status}))
    if changes:
        _set(connection, [row.id], **changes)
    return (REOPENED if reopened else ALREADY_THERE), _orders_of(row.id, request), notes


def _set(connection: Connection, numbers: Sequence[int], **values: Any) -> None:
    """Change columns of requests."""
    changed = update(TakedownRequest).values(updated_at=timestamp(), **values)
    for some in batches(numbers):
        connection.execute(changed.where(TakedownRequest.c.id.in_(some)))


def _ours(connection: Connection, ids: Sequence[int], owner: str, ended_as: str) -> list[int]:
    """Return those that still run; refused unless we work on each, late or not, or ended it so
    before."""
    rows = _requests(connection, ids)
    for row in rows:
        ended = row.status == ended_as and row.owner == owner
        if not ended and (row.status != "running" or row.owner != owner):
            holder = (
                f"{row.owner} works on it" if row.status == "running" else f"it is {row.status}"
            )
            raise LeaseLost(
                f"{owner} no longer works on takedown {row.id}: {holder} now; nothing was "
                "changed, start the run again to continue"
            )
    return [row.id for row in rows if row.status == "running"]


# Actions and certificates, inside a transaction.


def record_actions(connection: Connection, actions: Sequence[ActionRow]) -> list[ActionRow]:
    """Write actions and return those that are new; the same step from one version to another is
    written once."""
    known: set[tuple[int, str, str | None, str | None]] = set()
    for some in batches(sorted({action.request_id for action in actions})):
        _requests(connection, some)
        known.update(_step(row) for row in _actions(connection, some))
    now = timestamp()
    steps = {_step(action): action for action in actions if _step(action) not in known}
    fresh = [replace(action, created_at=action.created_at or now) for action in steps.values()]
    if fresh:
        connection.execute(insert(TakedownAction), [values_of(row) for row in fresh])
    return fresh


def _actions(connection: Connection, numbers: Sequence[int]) -> list[ActionRow]:
    wanted = pick(TakedownAction, ActionRow).where(TakedownAction.c.request_id.in_(numbers))
    return read_rows(connection, ActionRow, wanted.order_by(TakedownAction.c.id))


def _step(action: ActionRow) -> tuple[int, str, str | None, str | None]:
    return action.request_id, action.action, action.version_before, action.version_after


def _note(connection: Connection, number: int, action: str, detail: dict[str, Any]) -> ActionRow:
    """Record what a person did with a request."""
    row = ActionRow(number, detail=detail, action=action, created_at=timestamp())
    connection.execute(insert(TakedownAction).values(**values_of(row)))
    return row


def _known_certificates(
    connection: Connection, rows: Sequence[CertificateRow]
) -> Iterator[CertificateRow]:
    """Yield what is recorded with the digests of certificates."""
    for some in batches([row.sha256 for row in rows]):
        same = pick(TakedownCertificate, CertificateRow)
        wanted = same.where(TakedownCertificate.c.sha256.in_(some))
        yield from read_rows(connection, CertificateRow, wanted)


def _certificates(connection: Connection, number: int | None = None) -> list[CertificateRow]:
    wanted = pick(TakedownCertificate, CertificateRow).order_by(TakedownCertificate.c.id)
    if number is not None:
        wanted = wanted.where(TakedownCertificate.c.request_id == number)
    return read_rows(connection, CertificateRow, wanted)
