"""Takedown requests in the registry: filing, listing, withdrawing, inside a transaction of the
caller.

    pending -> running -> done
       ^          |
       +- failed -+        with the error on it
       +------> withdrawn  only while nobody works on it

One request is one (kind, value, near_duplicates), for ever: filing it again finds it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from catalog.db import suppressions
from catalog.db.models import TakedownAction, TakedownRequest
from catalog.db.rows import (
    TAKEDOWN_KINDS,
    TAKEDOWN_STATES,
    NewTakedown,
    SuppressionRow,
    TakedownRow,
)
from catalog.errors import CatalogError, TakedownRefused, UnknownName

COLUMNS = tuple(TakedownRow.__dataclass_fields__)
GIVEN = tuple(name for name in NewTakedown.__dataclass_fields__ if name != "suppressions")
FILED, ALREADY_THERE, REOPENED = "filed", "already_there", "reopened"
WITHDRAWN = "withdrawn"
NOTES = (WITHDRAWN, REOPENED)  # actions that people took, not runs

Key = tuple[str, str, bool]


def file(
    connection: Connection, requests: Sequence[NewTakedown], now: str
) -> list[tuple[TakedownRow, str]]:
    """Write requests with their suppressions; gives each row and what became of it.

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
    known = find(connection, list(wanted))
    fresh = [request for key, request in wanted.items() if key not in known]
    outcomes: dict[Key, str] = {key_of(request): FILED for request in fresh}
    orders: list[SuppressionRow] = []
    rows: dict[Key, TakedownRow] = {}
    for request, row in zip(fresh, _insert(connection, fresh, now), strict=True):
        rows[key_of(request)] = row
        orders += _orders(row.id, request.suppressions)
    for key, row in known.items():
        outcomes[key], held = _file_again(connection, row, wanted[key], now)
        orders += held
    suppressions.add(connection, orders, now)
    rows |= find(connection, list(known))
    first: set[Key] = set()
    answer = []
    for request in requests:
        key = key_of(request)
        answer.append((rows[key], ALREADY_THERE if key in first else outcomes[key]))
        first.add(key)
    return answer


def refresh(
    connection: Connection, found: Iterable[tuple[int, NewTakedown]], now: str
) -> list[TakedownRow]:
    """Bring up to date what requests find, whatever their status, and the orders they hold."""
    pairs = list(found)
    numbers, orders = [number for number, _ in pairs], []
    known = {row.id: row.documents for row in by_ids(connection, numbers)}
    for number, request in pairs:
        if request.documents or not known[number]:
            # What a killed run has taken out is not there to be found: what it was stays noted.
            _set(connection, number, now, documents=request.documents, found=dict(request.found))
        orders += _orders(number, request.suppressions)
    suppressions.add(connection, orders, now)
    return by_ids(connection, numbers)


def key_of(request: NewTakedown | TakedownRow) -> Key:
    """What makes two requests one."""
    return request.kind, request.value, request.near_duplicates


def find(connection: Connection, keys: Sequence[Key]) -> dict[Key, TakedownRow]:
    """The requests that are there among `keys`."""
    found: dict[Key, TakedownRow] = {}
    asked = set(keys)
    for kind, values in suppressions.by_kind((kind, value) for kind, value, _ in keys):
        for some in suppressions.batches(values):
            for record in connection.execute(
                select(TakedownRequest).where(
                    TakedownRequest.kind == kind, TakedownRequest.value.in_(some)
                )
            ):
                row = as_row(record)
                if key_of(row) in asked:
                    found[key_of(row)] = row
    return found


def one(connection: Connection, number: int) -> TakedownRow:
    """The request of that number."""
    row = connection.execute(
        select(TakedownRequest).where(TakedownRequest.id == number)
    ).one_or_none()
    if row is None:
        raise UnknownName(f"there is no takedown {number}: `catalog takedown list` shows all")
    return as_row(row)


def by_ids(connection: Connection, numbers: Sequence[int]) -> list[TakedownRow]:
    """Requests by number; unknown numbers are refused."""
    rows: dict[int, TakedownRow] = {}
    for some in suppressions.batches(list(dict.fromkeys(numbers))):
        for record in connection.execute(
            select(TakedownRequest).where(TakedownRequest.id.in_(some))
        ):
            rows[record.id] = as_row(record)
    missing = [number for number in numbers if number not in rows]
    if missing:
        one(connection, missing[0])
    return [rows[number] for number in sorted(rows)]


def listed(connection: Connection, status: str | None, limit: int | None) -> list[TakedownRow]:
    """Requests in the order they were filed; `failed` are the pending ones with an error."""
    wanted = select(TakedownRequest).order_by(TakedownRequest.id)
    if status == "failed":
        wanted = wanted.where(
            TakedownRequest.status == "pending", TakedownRequest.error.is_not(None)
        )
    elif status in TAKEDOWN_STATES:
        wanted = wanted.where(TakedownRequest.status == status)
    elif status is not None:
        raise CatalogError(
            f"a takedown is one of {', '.join(TAKEDOWN_STATES)} or failed, not {status!r}"
        )
    return [as_row(row) for row in connection.execute(wanted.limit(limit))]


def withdraw(connection: Connection, number: int, now: str) -> tuple[TakedownRow, int]:
    """Take a pending request back; gives it and how many suppressions went with it."""
    row = one(connection, number)
    if row.status == "withdrawn":
        return row, 0
    if row.status == "done":
        raise TakedownRefused(
            f"takedown {number} is done and cannot be withdrawn: the documents are gone from the "
            "live versions; to take them in again, deliver them in a new snapshot under another "
            "address"
        )
    if row.status == "running":
        raise TakedownRefused(
            f"takedown {number} is being worked on by {row.owner} and cannot be withdrawn now: "
            "wait until that run ends (`catalog takedown show` tells)"
        )
    gone = suppressions.let_go(connection, number)
    _set(connection, number, now, status="withdrawn", error=None)
    _note(connection, number, WITHDRAWN, {"suppressions_removed": gone}, now)
    return one(connection, number), gone


def as_row(record: Any) -> TakedownRow:
    return TakedownRow(**{name: getattr(record, name) for name in COLUMNS})


def _insert(connection: Connection, requests: Sequence[NewTakedown], now: str) -> list[TakedownRow]:
    if not requests:
        return []
    dates = {"status": "pending", "created_at": now, "updated_at": now}
    values = [{name: getattr(request, name) for name in GIVEN} | dates for request in requests]
    numbers = connection.scalars(
        insert(TakedownRequest).returning(TakedownRequest.id, sort_by_parameter_order=True), values
    ).all()
    return [TakedownRow(id=n, **row) for n, row in zip(numbers, values, strict=True)]


def _file_again(
    connection: Connection, row: TakedownRow, request: NewTakedown, now: str
) -> tuple[str, list[SuppressionRow]]:
    if row.status == "running":
        return ALREADY_THERE, []
    reopened = row.status == "withdrawn" or (row.status == "done" and request.documents > 0)
    changes: dict[str, Any] = {}
    differs = (row.documents, row.found) != (request.documents, request.found)
    if differs and (row.status != "done" or reopened):
        changes = {"documents": request.documents, "found": dict(request.found)}
    if row.status == "withdrawn":
        told = ("reason", "requester", "reference", "given")
        changes |= {name: getattr(request, name) for name in told}
    if reopened:
        changes |= {"status": "pending", "error": None}
        _note(connection, row.id, REOPENED, {"status_before": row.status}, now)
    if changes:
        _set(connection, row.id, now, **changes)
    return (REOPENED if reopened else ALREADY_THERE), _orders(row.id, request.suppressions)


def _orders(number: int, orders: Iterable[tuple[str, str]]) -> list[SuppressionRow]:
    return [SuppressionRow(kind, value, number) for kind, value in orders]


def _set(connection: Connection, number: int, now: str, **values: Any) -> None:
    connection.execute(
        update(TakedownRequest).where(TakedownRequest.id == number).values(updated_at=now, **values)
    )


def _note(
    connection: Connection, number: int, action: str, detail: dict[str, Any], now: str
) -> None:
    connection.execute(
        insert(TakedownAction).values(
            request_id=number, action=action, detail=detail, created_at=now
        )
    )
