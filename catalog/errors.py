"""Every error the catalog raises on purpose.

    CatalogError                the person at the keyboard can act on it
    +-- CatalogUnavailable      the database cannot be opened or reached
    |   +-- CatalogBusy         another process held the write lock for too long
    |   +-- MissingDriver       the database needs a driver that is not installed
    +-- SchemaMismatch          the database's schema is older or newer than this package
    +-- UnknownName             no such version, document, shard, snapshot ...
    |   +-- AmbiguousName       more than one thing has that name
    |   +-- VersionDeleted      a takedown replaced the version and its files are gone
    +-- BadName                 a version, snapshot, source or domain cannot have that name
    +-- CatalogConflict         a write contradicts what is already recorded
    |   +-- ContentDrift        one fingerprint or digest, two contents
    |   +-- SnapshotChanged     a snapshot is pinned with other files
    |   +-- VersionExists       a version of that name has another manifest
    |   +-- OrdersChanged       takedowns came in while a version was built
    |   +-- VersionRevoked      a copy was to be made of a version that a takedown has revoked
    +-- LeaseHeld               somebody else works on this right now
    +-- LeaseLost               our lease ran out: we must stop
    +-- StoreFileError          a file of the store is missing, unreadable or not what it should be
    |   +-- PathRefused         a path leads out of the store
    +-- SourceUnavailable       a source file is not where it was ingested from, or not the same
    +-- LineageBroken           tables of a version contradict each other
    +-- QueryRefused            `catalog sql` was asked for more than reading
    +-- OrderBookError          catalog, store and signing key disagree about standing orders
    +-- TakedownRefused         a takedown cannot be asked for, withdrawn or run like that
        +-- TakedownTooWide     it takes so much that somebody has to say yes

Each message says what happened, what it means and what to do next, on one line.
"""

import errno


class CatalogError(Exception):
    """Base of all errors that are meant to be read by the person running a command."""


class CatalogUnavailable(CatalogError):
    """The database cannot be opened or reached."""


class CatalogBusy(CatalogUnavailable):
    """Another process held the write lock for longer than the busy timeout."""


class MissingDriver(CatalogUnavailable):
    """The database needs a driver that is not installed."""


class SchemaMismatch(CatalogError):
    """The database's schema is not the one this package was written for."""


class UnknownName(CatalogError):
    """The catalog has nothing of that name."""


class AmbiguousName(UnknownName):
    """The name fits more than one thing."""


class VersionDeleted(UnknownName):
    """The version was revoked and its files were deleted; `instead` took its place, if any did."""

    def __init__(self, message: str, version: str, instead: str | None) -> None:
        super().__init__(message)
        self.version, self.instead = version, instead


class BadName(CatalogError, ValueError):
    """A version, snapshot, source or domain cannot have that name."""


class CatalogConflict(CatalogError):
    """A write contradicts what is already recorded."""


class ContentDrift(CatalogConflict):
    """One fingerprint or digest stands for two contents: a bug, reported as one."""


class SnapshotChanged(CatalogConflict):
    """A snapshot was pinned before, with other files."""


class VersionExists(CatalogConflict):
    """A version of that name was published before, with another manifest."""


class NotReleased(CatalogError):
    """A version's gates do not let it be released."""


class OrdersChanged(CatalogConflict):
    """A version was built under other standing orders than those in force now."""


class VersionRevoked(CatalogConflict):
    """A copy was to be made of a version that a takedown has revoked."""


class LeaseHeld(CatalogError):
    """Another owner holds the lease."""


class LeaseLost(CatalogError):
    """A lease ran out or was taken by another: its holder must stop."""


class StoreFileError(CatalogError):
    """A file of the store is missing, unreadable or not what it should be."""


class PathRefused(StoreFileError):
    """A path leads out of the store."""


class SourceUnavailable(CatalogError):
    """A source file cannot be read any more, or is not what was ingested."""


class LineageBroken(CatalogError):
    """Tables of a version contradict each other; `catalog verify` lists where."""


class QueryRefused(CatalogError):
    """A query asked for more than reading the catalog's own tables."""


class OrderBookError(CatalogError):
    """The order book in the store, the catalog's tables and the head record beside the signing key
    do not agree: something was lost, put back from an old copy, or altered."""


class TakedownRefused(CatalogError):
    """A takedown cannot be asked for, withdrawn or run like that."""


class TakedownTooWide(TakedownRefused):
    """A takedown takes so much that it is filed only when that is confirmed."""


def is_full(error: BaseException | None) -> bool:
    """Whether a full disk or quota is behind an error; chains can have loops."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "database or disk is full" in str(error):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
