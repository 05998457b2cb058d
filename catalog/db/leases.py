"""Leases: who may work on a named thing, until when; and which process that is.

A lease is taken by compare-and-swap inside a write transaction, so of two that ask at once one
gets it. It ends by itself when its holder dies: nobody has to clean up by hand.

It may also end while its holder lives, who was paused or could not reach the database. So each
has a token, counted up by the database, and every write under a lease asks in its own
transaction whether the lease is still its own under that token (`expect`). One that ran out is
lost as soon as somebody has taken it, or one of its rivals, even if they are gone again.

A process is named by the running kernel, the space that its id is counted in, its id and the
moment it started: containers share host names and count their processes by themselves, and ids
are used again. Only a process of the same kernel and the same space can be known to be gone; of
any other nothing is assumed.
"""

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select, update

from catalog.db.models import Lease, LeaseToken, pick, read_rows
from catalog.db.rows import LeaseRow
from catalog.errors import LeaseHeld, LeaseLost

if TYPE_CHECKING:
    from catalog.db.database import Database


def now(connection: Connection) -> float:
    """Return seconds since 1970 by the database's clock, so that machines need not agree on
    theirs."""
    if connection.dialect.name == "postgresql":
        answer = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(answer.scalar_one())
    return time.time()


def _next_token(connection: Connection) -> int:
    if connection.execute(update(LeaseToken).values(last=LeaseToken.c.last + 1)).rowcount == 0:
        connection.execute(insert(LeaseToken).values(last=1))
    return int(connection.scalars(select(LeaseToken.c.last)).one())


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


class LeaseMethods:
    """The registry's methods for leases; each is one transaction."""

    database: "Database"

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
                    f"{name} is being worked on by {shown(held.owner)}, whose lease ends in "
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


# Processes.


BOOT = Path("/proc/sys/kernel/random/boot_id")


def process_name() -> str:
    """Return this process: `host:pid:place:start`; place and start are `-` where they are not
    known."""
    place = _place()
    start = _started(os.getpid()) if place else None
    return f"{socket.gethostname()}:{os.getpid()}:{place or '-'}:{start or '-'}"


def is_gone(name: str) -> bool:
    """Return whether a process, by a name that begins as `process_name` gives it, has surely
    ended."""
    fields = name.split(":")
    if len(fields) < 4 or not fields[1].isdigit():
        return False
    place, start = fields[2:4]
    if place != _place() or start == "-":
        return False
    try:
        os.kill(int(fields[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # it is there, and another user's
    return _started(int(fields[1])) not in (start, None)


def shown(name: str) -> str:
    """Return a process as people name it."""
    host, pid, *_ = (*name.split(":"), "")
    return f"process {pid} on {host}" if pid.isdigit() else name


def _place() -> str | None:
    """Return the kernel's boot and the space of process ids; None where /proc does not tell
    ours."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return None  # /proc shows the processes of another space
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
        return f"{BOOT.read_text(encoding='ascii').strip()}.{space}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """Return when a process started, in ticks since boot; `ended` for one that waits to be
    reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None  # hidden from this user, or just gone: the next look tells
    state, *rest = fields.rpartition(")")[2].split()
    return "ended" if state in "ZX" else rest[18]
