"""Leases on a home: who may work on it at the same time, over processes and machines.

    building    any number at once, but not while files are collected
    collecting  alone: waits for the builds that run, and builds that come later wait for it
    takedowns   one run at a time
    publishing  one at a time of each name

A lease is a row of the catalog. It is renewed while the work goes on, expires soon after its
holder was killed, and at once where the holder was killed on this machine. A process that waits
says for what. Each lease gives the registry to work with: one that refuses to write once the lease
is lost, so that a process whose lease expired can neither publish nor delete.
"""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator

from catalog.db import LeaseRow, Registry, clock, is_gone, process_name
from catalog.errors import CatalogError, LeaseHeld, LeaseLost
from corpus_assets.core.home import seconds

POLL_S = 0.5
BUILD, COLLECT, TAKEDOWNS = "build/", "collect", "takedowns"

Tell = Callable[[str], None]
AllowUntil = Callable[[float], None]


def _silent(_: str) -> None:
    return


def _no_engine(_: float) -> None:
    return


def lease_s() -> float:
    """How long a lease lasts unrenewed: CORPUS_LEASE_S, at least a second."""
    return max(seconds("CORPUS_LEASE_S", 120.0), 1.0)


def owner_name() -> str:
    """Return a name for this process and one lease of it."""
    return f"{process_name()}:{uuid.uuid4().hex}"


@contextlib.contextmanager
def building(
    registry: Registry, tell: Tell = _silent, allow_until: AllowUntil = _no_engine
) -> Iterator[Registry]:
    """Hold a lease to write artifacts: what is stored meanwhile is not collected.

    `allow_until` hears until when (by `catalog.db.database.clock`) artifacts may be written.
    """
    owner = owner_name()
    name = BUILD + owner
    waiting = _Waiting(tell, "files are being collected")
    while True:  # first say that we build, then look: of two that come at once, both know
        lease = registry.acquire_lease(name, owner, lease_s(), rivals=(COLLECT,))
        if not _others(registry, COLLECT, owner):
            break
        registry.release_lease(name, owner)
        waiting.another_while()
    with _kept(registry, lease, allow_until) as fenced:
        yield fenced


@contextlib.contextmanager
def collecting(registry: Registry, tell: Tell = _silent) -> Iterator[Registry]:
    """Hold the store alone: no build runs, and none begins before this ends."""
    why = "garbage collection is already running"
    with _alone(registry, COLLECT, tell, why, rivals=None) as fenced:  # any build is one
        waiting = _Waiting(tell, "a build is running; files are deleted when it ends")
        while _others(registry, BUILD, ""):
            waiting.another_while()
        yield fenced


@contextlib.contextmanager
def takedown_run(registry: Registry, tell: Tell = _silent) -> Iterator[Registry]:
    """Hold the lease of takedown runs; there is one at a time."""
    with _alone(registry, TAKEDOWNS, tell, "another takedown run is in progress") as fenced:
        yield fenced


@contextlib.contextmanager
def publishing(registry: Registry, version: str) -> Iterator[Registry]:
    """Hold a version's folder alone, for a short time."""
    with _alone(registry, f"version/{version}", _silent, "") as fenced:
        yield fenced


@contextlib.contextmanager
def _alone(
    registry: Registry, name: str, tell: Tell, why: str, rivals: tuple[str, ...] | None = ()
) -> Iterator[Registry]:
    owner = owner_name()
    waiting = _Waiting(tell, why)
    while True:
        _others(registry, name, owner)  # what a killed process of this machine held ends here
        try:
            lease = registry.acquire_lease(name, owner, lease_s(), rivals)
        except LeaseHeld:
            waiting.another_while()
        else:
            break
    with _kept(registry, lease) as fenced:
        yield fenced


def _others(registry: Registry, prefix: str, owner: str) -> list[LeaseRow]:
    """Leases of others who are there; those of the dead are released."""
    held = []
    for lease in registry.leases(prefix):
        if is_gone(lease.owner):
            registry.release_lease(lease.name, lease.owner)
        elif lease.owner != owner:
            held.append(lease)
    return held


@contextlib.contextmanager
def _kept(
    registry: Registry, lease: LeaseRow, allow_until: AllowUntil = _no_engine
) -> Iterator[Registry]:
    """Renew a lease until the work is done, then give it back."""
    lasts = lease_s()

    def renew() -> None:
        asked = clock()
        try:
            registry.renew_lease(lease, lasts)
        except LeaseLost:
            allow_until(0.0)
            raise
        allow_until(asked + lasts)

    with renewing(renew, lasts) as failures:
        renew()
        try:
            yield registry.under(lease)
        except LeaseLost as lost:
            if failures:
                raise LeaseLost(f"{lost}; the last renewal failed: {failures[-1]}") from lost
            raise
        finally:
            allow_until(float("inf"))
            with contextlib.suppress(LeaseLost):  # of a lease around this one, which says so
                registry.release_lease(lease.name, lease.owner)


@contextlib.contextmanager
def renewing(renew: Callable[[], object], lasts_s: float) -> Iterator[list[CatalogError]]:
    """Call `renew` four times in the time that what it renews lasts; gives what failed.

    What fails is tried again: the catalog may be busy. Nothing is lost in silence: whoever works
    under what ran out is refused by its next write, which says so.
    """
    done = threading.Event()
    failures: list[CatalogError] = []

    def keep() -> None:
        while not done.wait(lasts_s / 4):
            try:
                renew()
            except LeaseLost:
                return
            except CatalogError as error:
                failures.append(error)

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield failures
    finally:
        done.set()
        thread.join()


class _Waiting:
    """Sleeps a little each time, and says why once."""

    def __init__(self, tell: Tell, why: str) -> None:
        self._tell, self._why, self._told = tell, why, False

    def another_while(self) -> None:
        if not self._told:
            self._tell(f"waiting: {self._why}")
            self._told = True
        time.sleep(POLL_S)
