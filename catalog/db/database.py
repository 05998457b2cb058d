"""Connections and transactions, the same promises on SQLite and PostgreSQL.

A write transaction excludes every other write from its first statement to its commit: by
`BEGIN IMMEDIATE` on SQLite, by a transaction-scoped advisory lock on PostgreSQL. So whatever a
write reads stays true until it commits, and no update is lost. Writes are few and short (bulk
rows go in by the thousand), which is why one writer at a time costs nothing that matters.
A read transaction sees one consistent state. Connections are opened per transaction, so a
`Database` may be shared by threads and carried through a fork.
"""

import copy
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from catalog.db import fencing
from catalog.db.rows import LeaseRow
from catalog.errors import (
    CatalogBusy,
    CatalogConflict,
    CatalogError,
    CatalogUnavailable,
    MissingDriver,
    SchemaMismatch,
    is_full,
)
from catalog.formats.private_files import make_folder, private
from catalog.stopping import uninterrupted

WRITE_LOCK = 0x43_41_54  # "CAT"; the second key is the schema's name
LOCK_TIMEOUT_STATES = {"55P03", "40P01"}
MISSING_TABLE_STATES = {"42P01", "42703"}
SURE_S = 1.0
KNOCK_AGAIN_S = 0.2
BATCH = 400  # SQLite's limit on bound values is far above 3 * BATCH

Item = TypeVar("Item")


def batches(items: Sequence[Item], size: int = BATCH) -> Iterator[Sequence[Item]]:
    """Yield `items` in pieces that one statement can bind."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def by_kind(orders: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Return values of each kind, of pairs. SQLite searches an index for `kind = ? AND value IN
    (...)`, and scans the whole of it for `(kind, value) IN (...)`."""
    values: dict[str, dict[str, None]] = {}
    for kind, value in orders:
        values.setdefault(kind, {})[value] = None
    return ((kind, list(some)) for kind, some in values.items())


def timestamp() -> str:
    """Return now, as ISO 8601 UTC to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock() -> float:
    """Return seconds since boot, which go on while a process is paused or the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Database:
    """One registry database. `busy_timeout_s` is how long a write waits for its turn."""

    def __init__(self, url: str | URL, busy_timeout_s: float = 30.0) -> None:
        self.url = parse_url(url)
        self.busy_timeout_s = busy_timeout_s
        self.leases: tuple[LeaseRow, ...] = ()
        self._sure_until = 0.0
        self._was_there = False
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        # An absent driver is noticed here, a wrong host or password at the first transaction.
        options = {"creator": self._open_sqlite} if self.is_sqlite else {}
        try:
            self.engine = create_engine(self.url, poolclass=NullPool, **options)
        except ImportError as error:
            raise MissingDriver(
                f"the catalog at {self} needs the PostgreSQL driver ({error.name} is not "
                "installed): run `pip install 'corpus-assets[postgres]'`"
            ) from error
        if self.is_sqlite:
            event.listen(self.engine, "begin", _begin_sqlite)

    def __str__(self) -> str:
        return str(self.file or self.url.render_as_string(hide_password=True))

    @property
    def file(self) -> Path | None:
        """The SQLite file, or None on PostgreSQL."""
        return Path(self.url.database or "") if self.is_sqlite else None

    @property
    def is_read_only(self) -> bool:
        """Whether the catalog is a file that cannot be written here."""
        places = [place for place in (self.file, self.file and self.file.parent) if place]
        return any(place.exists() and not os.access(place, os.W_OK) for place in places)

    def _open_sqlite(self) -> sqlite3.Connection:
        """Open the file. Where it cannot be written no lock or log is made beside it: what it
        says is taken as final, unless the log of somebody who does write lies there."""
        file = Path(self.url.database or "")
        if self.is_read_only:
            log = file.with_name(f"{file.name}-wal")
            mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
            address = f"{file.resolve().as_uri()}?{mode}"
            connection = sqlite3.connect(address, self.busy_timeout_s, uri=True)
        else:
            connection = sqlite3.connect(file, self.busy_timeout_s)
        _prepare_sqlite(connection, self.is_read_only)
        return connection

    def under(self, held: Sequence[LeaseRow]) -> "Database":
        """Return the same database for the holder of leases: it writes nothing once one is lost."""
        fenced = copy.copy(self)
        fenced.leases = (*self.leases, *held)
        fenced._sure_until = 0.0
        return fenced

    def expect_leases(self) -> None:
        """Raise `LeaseLost` when a lease is lost; asks the database once a second, since until
        then, or until the lease ends, no other process can have got it."""
        asked = clock()
        if self.leases and asked >= self._sure_until:
            with self.read() as connection:
                left = fencing.expect(connection, self.leases)
            self._sure_until = asked + min(left, SURE_S)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one consistent state and writes nothing."""
        if self.file is not None and not self.file.exists():
            raise CatalogUnavailable(
                f"there is no catalog at {self.file}: run `catalog upgrade` to create it, or "
                "choose another with --catalog-url, --home or CORPUS_HOME"
            )
        with self._translated(), self._connected() as connection:
            if not self.is_sqlite:
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    @contextmanager
    def write(self, create: bool = False) -> Iterator[Connection]:
        """A transaction that no other writer overlaps. Commits at the end, or changes nothing.

        Under leases (`under`) they are looked at first, in the same transaction. Ctrl-C waits
        for its end.
        """
        if self.file is not None:
            if create:
                try:
                    make_folder(self.file.parent)
                    if not self.file.exists():
                        with open(self.file, "ab", opener=private):
                            pass
                except OSError as error:
                    raise CatalogUnavailable(
                        f"cannot create the catalog {self.file}: {error.strerror}; choose another with --home or --catalog-url"
                    ) from error
            elif not self.file.exists():
                raise CatalogUnavailable(
                    f"there is no catalog at {self.file}: run `catalog upgrade` to create it"
                )
        with uninterrupted(), self._translated(), self._connected() as connection:
            connection.execution_options(catalog_write=True)
            with connection.begin():
                if not self.is_sqlite:
                    wait_ms = max(1, int(self.busy_timeout_s * 1000))
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait_ms}")
                    connection.exec_driver_sql(
                        f"SELECT pg_advisory_xact_lock({WRITE_LOCK}, hashtext(current_schema()))"
                    )
                fencing.expect(connection, self.leases)
                yield connection

    def _connected(self) -> Connection:
        """Connect; a server that was there before may be starting again, and is waited for as
        long as a turn is."""
        end = time.monotonic() + self.busy_timeout_s
        while True:
            try:
                connection = self.engine.connect()
            except OperationalError:
                if self.is_sqlite or not self._was_there or time.monotonic() > end:
                    raise
                time.sleep(KNOCK_AGAIN_S)
            else:
                self._was_there = True
                return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the database's errors into ours; ours pass through untouched."""
        try:
            yield
        except IntegrityError as error:
            raise CatalogConflict(
                f"the catalog refused the write, nothing was changed: {_first_line(error)}; "
                "record first what it refers to (source, snapshot, recipe, lock, version), and each row "
                "once"
            ) from error
        except (DBAPIError, sqlite3.Error) as error:
            raise self._explain(error) from error
        except SQLAlchemyError as error:
            raise CatalogError(f"the catalog at {self} failed: {_first_line(error)}") from error

    def _explain(self, error: DBAPIError | sqlite3.Error) -> CatalogError:
        message = _first_line(error)
        state = getattr(getattr(error, "orig", None), "pgcode", None)
        if state in LOCK_TIMEOUT_STATES or "database is locked" in message:
            where = self.file if self.file is not None else self
            finder = f"`fuser {where}` names it" if self.is_sqlite else "see pg_stat_activity"
            return CatalogBusy(
                f"the catalog {where} was locked by another process for {self.busy_timeout_s:g} s "
                "and nothing was changed: look for a running `corpus`, `catalog` or Dagster "
                f"process or an open database browser ({finder}), let it finish or stop it, "
                "then try again"
            )
        if state == "53100" or is_full(error) or self._has_no_room(message):
            return CatalogUnavailable(
                f"the disk of the catalog {self} is full and nothing was changed: free some space "
                "and run the same command again"
            )
        if "readonly database" in message:
            return CatalogUnavailable(
                f"the catalog {self} cannot be written: its disk, folder or file is read-only here; "
                "make it writable, or run this where it is"
            )
        if "no such table" in message or "no such column" in message:
            state = "42P01"
        if isinstance(error, ProgrammingError | OperationalError) and state in MISSING_TABLE_STATES:
            return SchemaMismatch(
                f"the catalog at {self} does not have the tables of this version ({message}): "
                "run `catalog upgrade`"
            )
        return CatalogUnavailable(
            f"cannot use the catalog at {self}: {message}; check the address, that the server "
            "runs (PostgreSQL) or that the file is a catalog you may write to (SQLite)"
        )

    def _has_no_room(self, message: str) -> bool:
        """Whether SQLite's `disk I/O error` comes from a full disk, which it does not
        tell."""
        if self.file is None or "disk I/O error" not in message:
            return False
        room = os.statvfs(self.file.parent)
        return room.f_bavail * room.f_frsize < 1 << 16


def parse_url(url: str | URL) -> URL:
    """Return the database's address, with the one driver we support for each kind."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise CatalogError(
            "the catalog's address is not a database URL: write sqlite:///path/to/catalog.db "
            "or postgresql+psycopg2://user@host/database"
        ) from error
    backend = parsed.drivername.partition("+")[0]
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise CatalogError("a catalog needs a file: write sqlite:///path/to/catalog.db")
        return parsed.set(drivername="sqlite+pysqlite")
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg2")
    raise CatalogError(
        f"a catalog lives in sqlite or postgresql, not in {backend!r}: write "
        "sqlite:///path/to/catalog.db or postgresql+psycopg2://user@host/database"
    )


def _prepare_sqlite(connection: sqlite3.Connection, is_read_only: bool) -> None:
    connection.isolation_level = None  # sqlite3 would begin late, and never before DDL
    connection.execute("PRAGMA foreign_keys = ON")
    if is_read_only:
        return
    connection.execute("PRAGMA secure_delete = ON")  # words that a takedown deletes are overwritten
    # The mode belongs to the file and is switched once, by whoever comes first. The switch does
    # not wait for its turn: where another connection holds the file it is left to a later one,
    # and the transaction that follows waits, or says who is in the way, as it always does.
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("catalog_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "orig", None) or error).strip()
    return " ".join(text.splitlines()[:1]) or type(error).__name__
