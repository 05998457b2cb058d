"""Who may work on a home at the same time, over processes and machines.

    building    any number at once, but not while files are collected
    collecting  alone: waits for the builds that run, and builds that come later wait for it
    takedowns   one run at a time
    publishing  one at a time of each name

A turn is a lease in the catalog. It is renewed while the work goes on, ends soon after its
holder was killed, and at once where the holder was killed on this machine. Whoever has to wait
says for whom.
"""

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator

from catalog.errors import CatalogError, LeaseHeld
from catalog.registry import Registry
from catalog.rows import LeaseRow

LEASE_S = 120.0
POLL_S = 0.5
BUILD, COLLECT, TAKEDOWNS = "build/", "collect", "takedowns"

Tell = Callable[[str], None]


def _silent(_: str) -> None:
    return


def owner_name() -> str:
    """This process, and which of its turns: host, process and a number of its own."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex}"


def is_gone(owner: str) -> bool:
    """Whether an owner was a process of this machine that is not there any more."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and not is_alive(int(pid))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def building(registry: Registry, tell: Tell = _silent) -> Iterator[None]:
    """A turn to write artifacts: what is stored meanwhile is not collected."""
    owner = owner_name()
    name = BUILD + owner
    waiting = _Waiting(tell, "files are being collected")
    while True:  # first say that we build, then look: of two that come at once, both know
        registry.acquire_lease(name, owner, LEASE_S)
        if not _others(registry, COLLECT, owner):
            break
        registry.release_lease(name, owner)
        waiting.another_while()
    with _kept(registry, name, owner):
        yield


@contextlib.contextmanager
def collecting(registry: Registry, tell: Tell = _silent) -> Iterator[None]:
    """The only turn at the store: no build runs, and none begins before it ends."""
    with _alone(registry, COLLECT, tell, "files are being collected already") as owner:
        waiting = _Waiting(tell, "a build is running; files are deleted when it ends")
        while _others(registry, BUILD, owner):
            waiting.another_while()
        yield


@contextlib.contextmanager
def takedown_run(registry: Registry, tell: Tell = _silent) -> Iterator[None]:
    """The only run of takedowns."""
    with _alone(registry, TAKEDOWNS, tell, "another takedown run is at work"):
        yield


@contextlib.contextmanager
def publishing(registry: Registry, version: str) -> Iterator[None]:
    """The only turn at a version's folder; short."""
    with _alone(registry, f"version/{version}", _silent, ""):
        yield


@contextlib.contextmanager
def _alone(registry: Registry, name: str, tell: Tell, why: str) -> Iterator[str]:
    owner = owner_name()
    waiting = _Waiting(tell, why)
    while True:
        _others(registry, name, owner)  # what a killed process of this machine held ends here
        try:
            registry.acquire_lease(name, owner, LEASE_S)
        except LeaseHeld:
            waiting.another_while()
        else:
            break
    with _kept(registry, name, owner):
        yield owner


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
def _kept(registry: Registry, name: str, owner: str) -> Iterator[None]:
    """Renew a lease until the work is done, then give it back."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(LEASE_S / 4):
            # One that fails is made up for by the next: a lease lasts for four of them.
            with contextlib.suppress(CatalogError):
                registry.renew_lease(name, owner, LEASE_S)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        registry.release_lease(name, owner)


class _Waiting:
    """Sleeps a little each time, and says why once."""

    def __init__(self, tell: Tell, why: str) -> None:
        self._tell, self._why, self._told = tell, why, False

    def another_while(self) -> None:
        if not self._told:
            self._tell(f"waiting: {self._why}")
            self._told = True
        time.sleep(POLL_S)
