"""Leases: who may work on a named thing, until when.

A lease is taken by compare-and-swap inside a write transaction, so of two that ask at once one
gets it. It ends by itself when its holder dies: nothing has to be cleaned up by hand. `fencing` says
what keeps a holder from writing that lost its lease without noticing.
"""

from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from catalog.db.database import Database
from catalog.db.fencing import expect, now
from catalog.db.models import Lease, LeaseToken, pick, read_rows
from catalog.db.processes import shown
from catalog.db.rows import LeaseRow
from catalog.errors import LeaseHeld


class LeaseMethods:
    """The registry's methods for leases; each is one transaction."""

    database: Database

    def acquire_lease(
        self, name: str, owner: str, ttl_s: float, rivals: tuple[str, ...] | None = None
    ) -> LeaseRow:
        """Take the lease on `name`, or extend our own; `LeaseHeld` names another holder.

        `rivals` are the leases that others may take once it ran out: it is lost when one was.
        """
        with self.database.write() as connection:
            moment = now(connection)
            held = connection.execute(select(Lease).where(Lease.c.name == name)).one_or_none()
            runs = held is not None and held.expires_at > moment
            if held is not None and runs and held.owner != owner:
                raise LeaseHeld(
                    f"{name} is in use by {shown(held.owner)}, whose lease ends in "
                    f"{held.expires_at - moment:.0f} s: wait for it, or stop that run and try "
                    "again then"
                )
            token = held.token if held is not None and runs else _next_token(connection)
            row = LeaseRow(name, owner, moment + ttl_s, token, rivals)
            values = {"owner": row.owner, "expires_at": row.expires_at, "token": row.token}
            if held is None:
                connection.execute(insert(Lease).values(name=name, **values))
            else:
                connection.execute(update(Lease).where(Lease.c.name == name).values(**values))
            return row

    def renew_lease(self, lease: LeaseRow, ttl_s: float) -> LeaseRow:
        """Extend our lease; `LeaseLost` when it is no longer ours."""
        with self.database.write() as connection:
            expect(connection, [lease])
            row = replace(lease, expires_at=now(connection) + ttl_s)
            connection.execute(
                update(Lease).where(Lease.c.name == row.name).values(expires_at=row.expires_at)
            )
            return row

    def release_lease(self, name: str, owner: str) -> bool:
        """Give our lease back; False when it was no longer ours.

        Its token stays, for those whose rival it was, unless the name is the owner's alone.
        """
        ours = (Lease.c.name == name, Lease.c.owner == owner)
        with self.database.write() as connection:
            if name.endswith(owner):
                done = connection.execute(delete(Lease).where(*ours))
            else:
                given_back = update(Lease).where(*ours).values(owner="", expires_at=0.0)
                done = connection.execute(given_back)
            return bool(done.rowcount == 1)

    def leases(self, prefix: str) -> list[LeaseRow]:
        """Return the leases that run now, of all names that begin so."""
        with self.database.read() as connection:
            named = Lease.c.name.startswith(prefix, autoescape=True)
            wanted = pick(Lease, LeaseRow).where(named, Lease.c.expires_at > now(connection))
            return read_rows(connection, LeaseRow, wanted.order_by(Lease.c.name))

    def expect_leases(self) -> None:
        """Raise `LeaseLost` when a lease that we work under is lost: to be asked before files are
        deleted or published. Costs nothing where it was asked less than a second ago."""
        self.database.expect_leases()


def _next_token(connection: Connection) -> int:
    if connection.execute(update(LeaseToken).values(last=LeaseToken.c.last + 1)).rowcount == 0:
        connection.execute(insert(LeaseToken).values(last=1))
    return int(connection.scalars(select(LeaseToken.c.last)).one())
