"""Whether a lease is still its holder's, asked in the transaction that writes under it.

A lease may end while its holder lives, who was paused or could not reach the database. So each
has a token, counted up by the database, and every write under a lease asks in its own
transaction whether the lease is still its own under that token (`expect`). One that ran out is
lost as soon as somebody has taken it, or one of its rivals, even if they are gone again.
"""

import time
from collections.abc import Sequence

from sqlalchemy import Connection, select

from catalog.db.models import Lease
from catalog.db.processes import shown
from catalog.db.rows import LeaseRow
from catalog.errors import LeaseLost


def now(connection: Connection) -> float:
    """Return seconds since 1970 by the database's clock, so that machines need not agree on
    theirs."""
    if connection.dialect.name == "postgresql":
        answer = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(answer.scalar_one())
    return time.time()


def expect(connection: Connection, leases: Sequence[LeaseRow]) -> float:
    """Raise `LeaseLost` unless all of them are ours; return the seconds until the first one ends."""
    moment = now(connection)
    left = float("inf")
    for lease in leases:
        found = connection.execute(select(Lease).where(Lease.c.name == lease.name)).one_or_none()
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
    taken = select(Lease.c.name).where(Lease.c.name.in_(lease.rivals), Lease.c.token > lease.token)
    return connection.execute(taken).first() is not None


def _lost(lease: LeaseRow, how: str) -> str:
    what = lease.name.removesuffix(lease.owner).rstrip("/")
    return (
        f"this run lost its lease ({what}): {how}. It was not renewed in time, because the process "
        "was paused, the machine slept or the catalog could not be reached; others may have "
        "deleted or published since, so nothing more is written: run the same command again, "
        "finished parts are kept"
    )
