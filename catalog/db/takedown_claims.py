"""Working on takedowns: claims, outcomes, actions and certificates, inside a transaction of the
caller.

A claim is a lease on a request. It is taken by compare-and-swap in a write transaction, so of
two runners that ask at once one gets it; it ends by itself when its owner dies.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from catalog.db import leases, suppressions
from catalog.db.models import TakedownAction, TakedownCertificate, TakedownRequest
from catalog.db.rows import ActionRow, CertificateRow, TakedownRow
from catalog.db.takedown_records import NOTES, as_row, by_ids, one
from catalog.errors import CatalogConflict, LeaseLost
from catalog.formats.store import relative_path

MAX_ERROR_CHARS = 500


def claim(
    connection: Connection, ids: Sequence[int], owner: str, ttl_s: float, now: str
) -> list[TakedownRow]:
    """Take what is free among `ids`: pending, ours already, or its claim ran out."""
    moment = leases.now(connection)
    free = []
    for row in by_ids(connection, ids):
        ran_out = row.claim_expires_at is None or row.claim_expires_at <= moment
        ours = row.owner == owner
        if row.status == "pending" or (row.status == "running" and (ours or ran_out)):
            free.append(row)
    for fresh in (True, False):  # extending our own claim is not another attempt
        numbers = [r.id for r in free if (r.status == "running" and r.owner == owner) != fresh]
        for some in suppressions.batches(numbers):
            connection.execute(
                update(TakedownRequest)
                .where(TakedownRequest.id.in_(some))
                .values(
                    status="running",
                    owner=owner,
                    claim_expires_at=moment + ttl_s,
                    attempts=TakedownRequest.attempts + int(fresh),
                    updated_at=now,
                )
            )
    return by_ids(connection, [row.id for row in free])


def free(connection: Connection, limit: int | None) -> list[TakedownRow]:
    """What a claim would get: pending requests, and running ones whose claim ran out."""
    ran_out = (TakedownRequest.status == "running") & (
        TakedownRequest.claim_expires_at.is_(None)
        | (TakedownRequest.claim_expires_at <= leases.now(connection))
    )
    found = connection.execute(
        select(TakedownRequest)
        .where((TakedownRequest.status == "pending") | ran_out)
        .order_by(TakedownRequest.id)
        .limit(limit)
    )
    return [as_row(row) for row in found]


def finish(
    connection: Connection, ids: Sequence[int], owner: str, actions: Sequence[ActionRow], now: str
) -> None:
    """Mark our requests done and record what was done; all of them or none."""
    rows = by_ids(connection, ids)
    _ours(rows, owner, "done")
    record_actions(connection, actions, now)
    _end(connection, rows, "done", None, now)


def fail(connection: Connection, ids: Sequence[int], owner: str, error: str, now: str) -> None:
    """Give our requests back, pending, with the error on them; all of them or none."""
    rows = by_ids(connection, ids)
    _ours(rows, owner, "pending")
    line = " ".join(error.split())[:MAX_ERROR_CHARS] or "the run failed and gave no reason"
    _end(connection, rows, "pending", line, now)


def record_actions(connection: Connection, actions: Sequence[ActionRow], now: str) -> int:
    """Write actions; the same step from one version to another is written once."""
    known: set[tuple[int, str, str | None, str | None]] = set()
    for some in suppressions.batches(sorted({action.request_id for action in actions})):
        by_ids(connection, some)
        known.update(_step(row) for row in _found(connection, some))
    fresh = {_step(action): action for action in actions if _step(action) not in known}
    if fresh:
        connection.execute(
            insert(TakedownAction),
            [
                {
                    "request_id": action.request_id,
                    "action": action.action,
                    "version_before": action.version_before,
                    "version_after": action.version_after,
                    "detail": dict(action.detail),
                    "created_at": action.created_at or now,
                }
                for action in fresh.values()
            ],
        )
    return len(fresh)


def history(connection: Connection, number: int) -> list[ActionRow]:
    """All that happened to a request, in order: what runs did, and what people did with it."""
    one(connection, number)
    return _found(connection, [number])


def actions(connection: Connection, number: int) -> list[ActionRow]:
    """What runs did for a request, in order."""
    return [action for action in history(connection, number) if action.action not in NOTES]


def behind(connection: Connection, version: str) -> list[int]:
    """Numbers of the requests that a version was replaced for."""
    wanted = select(TakedownAction.request_id).where(TakedownAction.version_before == version)
    return sorted(set(connection.scalars(wanted)))


def put_certificate(connection: Connection, certificate: CertificateRow, now: str) -> bool:
    """Append a certificate to the chain; False when that very one is in it already."""
    relative_path(certificate.path)
    one(connection, certificate.request_id)
    chain = certificates(connection)
    for known in chain:
        if known.sha256 == certificate.sha256:
            if known.request_id == certificate.request_id and known.path == certificate.path:
                return False
            raise CatalogConflict(
                f"certificate {certificate.sha256[:12]} is recorded for takedown "
                f"{known.request_id} at {known.path}: one certificate belongs to one request"
            )
    last = chain[-1].sha256 if chain else None
    if certificate.previous_sha256 != last:
        raise CatalogConflict(
            f"the certificate names {certificate.previous_sha256 or 'none'} as the one before it, "
            f"the chain ends with {last or 'none'}: write it again on top of that one"
        )
    connection.execute(
        insert(TakedownCertificate).values(
            request_id=certificate.request_id,
            path=certificate.path,
            sha256=certificate.sha256,
            previous_sha256=certificate.previous_sha256,
            created_at=certificate.created_at or now,
        )
    )
    return True


def certificates(connection: Connection, number: int | None = None) -> list[CertificateRow]:
    """Certificates in the order of the chain, of one request or of all."""
    wanted = select(TakedownCertificate).order_by(TakedownCertificate.id)
    if number is not None:
        wanted = wanted.where(TakedownCertificate.request_id == number)
    return [
        CertificateRow(r.request_id, r.path, r.sha256, r.previous_sha256, r.created_at)
        for r in connection.execute(wanted)
    ]


def _ours(rows: Sequence[TakedownRow], owner: str, ended_as: str) -> None:
    """Refuse unless we work on each of them, late or not, or have ended it so before."""
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


def _end(
    connection: Connection, rows: Sequence[TakedownRow], status: str, error: str | None, now: str
) -> None:
    running = [row.id for row in rows if row.status == "running"]
    for some in suppressions.batches(running):
        connection.execute(
            update(TakedownRequest)
            .where(TakedownRequest.id.in_(some))
            .values(status=status, error=error, claim_expires_at=None, updated_at=now)
        )


def _found(connection: Connection, numbers: Sequence[int]) -> list[ActionRow]:
    found = connection.execute(
        select(TakedownAction)
        .where(TakedownAction.request_id.in_(numbers))
        .order_by(TakedownAction.id)
    )
    return [
        ActionRow(r.request_id, r.version_before, r.version_after, r.detail, r.action, r.created_at)
        for r in found
    ]


def _step(action: ActionRow) -> tuple[int, str, str | None, str | None]:
    return action.request_id, action.action, action.version_before, action.version_after
