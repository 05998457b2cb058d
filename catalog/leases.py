"""Advisory leases: who may work on a named thing, until when.

A lease is taken by compare-and-swap inside a write transaction, so of two that ask at once one
gets it. It ends by itself when its holder dies: nobody has to clean up by hand.
"""

import time

from sqlalchemy import Connection, delete, insert, select, update

from catalog.errors import LeaseHeld, LeaseLost
from catalog.models import Lease
from catalog.rows import LeaseRow


def now(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock, so that machines need not agree on theirs."""
    if connection.dialect.name == "postgresql":
        answer = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(answer.scalar_one())
    return time.time()


def acquire(connection: Connection, name: str, owner: str, ttl_s: float) -> LeaseRow:
    """Take or extend the lease; `LeaseHeld` names the holder when it is another's."""
    moment = now(connection)
    held = connection.execute(select(Lease).where(Lease.name == name)).one_or_none()
    if held is not None and held.owner != owner and held.expires_at > moment:
        raise LeaseHeld(
            f"{name} is being worked on by {held.owner}, whose lease ends in "
            f"{held.expires_at - moment:.0f} s: wait for it, or stop that run and try again then"
        )
    row = LeaseRow(name, owner, moment + ttl_s)
    values = {"owner": row.owner, "expires_at": row.expires_at}
    if held is None:
        connection.execute(insert(Lease).values(name=name, **values))
    else:
        connection.execute(update(Lease).where(Lease.name == name).values(**values))
    return row


def renew(connection: Connection, name: str, owner: str, ttl_s: float) -> LeaseRow:
    """Extend a lease that is still ours, late or not; `LeaseLost` when another took it."""
    row = LeaseRow(name, owner, now(connection) + ttl_s)
    done = connection.execute(
        update(Lease)
        .where(Lease.name == name, Lease.owner == owner)
        .values(expires_at=row.expires_at)
    )
    if done.rowcount != 1:
        holder = connection.scalar(select(Lease.owner).where(Lease.name == name))
        state = f"{holder} holds it now" if holder else "it was released"
        raise LeaseLost(
            f"{owner} no longer holds the lease on {name}: {state}; this run came too late to "
            "renew it and must stop, start it again to continue"
        )
    return row


def held(connection: Connection, prefix: str) -> list[LeaseRow]:
    """The leases that run now, of all names that begin so."""
    found = connection.execute(
        select(Lease)
        .where(Lease.name.startswith(prefix, autoescape=True), Lease.expires_at > now(connection))
        .order_by(Lease.name)
    )
    return [LeaseRow(row.name, row.owner, row.expires_at) for row in found]


def release(connection: Connection, name: str, owner: str) -> bool:
    """Give the lease back; False when it was no longer ours."""
    done = connection.execute(delete(Lease).where(Lease.name == name, Lease.owner == owner))
    return bool(done.rowcount == 1)
