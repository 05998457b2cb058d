"""Leases: who may work on a named thing, until when.

A lease is taken by compare-and-swap inside a write transaction, so of two that ask at once one
gets it. It ends by itself when its holder dies: nobody has to clean up by hand.

It may also end while its holder lives, who was paused or could not reach the database. So each
has a token, counted up by the database, and every write under a lease asks in its own
transaction whether the lease is still its own under that token (`expect`). One that ran out is
lost as soon as somebody has taken it, or one of its rivals, even if they are gone again.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from catalog.errors import LeaseHeld, LeaseLost
from catalog.models import Lease, LeaseToken
from catalog.processes import shown
from catalog.rows import LeaseRow


def now(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock, so that machines need not agree on theirs."""
    if connection.dialect.name == "postgresql":
        answer = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(answer.scalar_one())
    return time.time()


def acquire(
    connection: Connection,
    name: str,
    owner: str,
    ttl_s: float,
    rivals: tuple[str, ...] | None = None,
) -> LeaseRow:
    """Take or extend the lease; `LeaseHeld` names the holder when it is another's."""
    moment = now(connection)
    held = connection.execute(select(Lease).where(Lease.name == name)).one_or_none()
    runs = held is not None and held.expires_at > moment
    if held is not None and runs and held.owner != owner:
        raise LeaseHeld(
            f"{name} is being worked on by {shown(held.owner)}, whose lease ends in "
            f"{held.expires_at - moment:.0f} s: wait for it, or stop that run and try again then"
        )
    token = held.token if held is not None and runs else _next_token(connection)
    row = LeaseRow(name, owner, moment + ttl_s, token, rivals)
    values = {"owner": row.owner, "expires_at": row.expires_at, "token": row.token}
    if held is None:
        connection.execute(insert(Lease).values(name=name, **values))
    else:
        connection.execute(update(Lease).where(Lease.name == name).values(**values))
    return row


def _next_token(connection: Connection) -> int:
    if connection.execute(update(LeaseToken).values(last=LeaseToken.last + 1)).rowcount == 0:
        connection.execute(insert(LeaseToken).values(last=1))
    return connection.scalars(select(LeaseToken.last)).one()


def renew(connection: Connection, lease: LeaseRow, ttl_s: float) -> LeaseRow:
    """Extend a lease; `LeaseLost` when it is no longer ours."""
    expect(connection, [lease])
    row = replace(lease, expires_at=now(connection) + ttl_s)
    connection.execute(
        update(Lease).where(Lease.name == row.name).values(expires_at=row.expires_at)
    )
    return row


def expect(connection: Connection, leases: Sequence[LeaseRow]) -> float:
    """Raise `LeaseLost` unless all of them are ours; gives the seconds until the first one ends."""
    moment = now(connection)
    left = float("inf")
    for lease in leases:
        found = connection.execute(select(Lease).where(Lease.name == lease.name)).one_or_none()
        if found is None or not found.owner:
            raise LeaseLost(_lost(lease, "it was taken back"))
        if found.token != lease.token:
            raise LeaseLost(_lost(lease, f"{shown(found.owner)} has it now"))
        if found.expires_at <= moment and _rival_came(connection, lease):
            raise LeaseLost(_lost(lease, f"it ran out {moment - found.expires_at:.0f} s ago"))
        left = min(left, found.expires_at - moment)
    return left


def _rival_came(connection: Connection, lease: LeaseRow) -> bool:
    if lease.rivals is None:
        return True
    taken = select(Lease.name).where(Lease.name.in_(lease.rivals), Lease.token > lease.token)
    return connection.execute(taken).first() is not None


def _lost(lease: LeaseRow, how: str) -> str:
    what = lease.name.removesuffix(lease.owner).rstrip("/")
    return (
        f"this run lost its lease ({what}): {how}. It was not renewed in time, because the process "
        "was paused, the machine slept or the catalog could not be reached; others may have "
        "deleted or published since, so nothing more is written: run the same command again, "
        "finished parts are kept"
    )


def held(connection: Connection, prefix: str) -> list[LeaseRow]:
    """The leases that run now, of all names that begin so."""
    found = connection.execute(
        select(Lease)
        .where(Lease.name.startswith(prefix, autoescape=True), Lease.expires_at > now(connection))
        .order_by(Lease.name)
    )
    return [LeaseRow(row.name, row.owner, row.expires_at, row.token) for row in found]


def release(connection: Connection, name: str, owner: str) -> bool:
    """Give the lease back; False when it was no longer ours. Its token stays, for those whose
    rival it was, unless the name is the owner's alone."""
    ours = (Lease.name == name, Lease.owner == owner)
    if name.endswith(owner):
        done = connection.execute(delete(Lease).where(*ours))
    else:
        done = connection.execute(update(Lease).where(*ours).values(owner="", expires_at=0.0))
    return bool(done.rowcount == 1)
