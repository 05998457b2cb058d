"""Turns at a home: builds together, collections and takedown runs alone, the dead make way."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from catalog.db.database import clock
from catalog.db.models import Lease, LeaseToken
from catalog.db.processes import is_gone
from catalog.db.registry import Registry
from catalog.db.rows import SourceRow
from catalog.errors import LeaseLost
from corpus_assets.graph import leases as turns
from corpus_assets.graph.leases import building, collecting, publishing, takedown_run


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr(turns, "POLL_S", 0.01)
    registry = Registry(f"sqlite:///{tmp_path}/catalog.db")
    registry.upgrade()
    return registry


class Elsewhere:
    """Someone else who wants a turn, in a thread; `began` is set when the turn is theirs."""

    def __init__(self, turn: Callable[[], AbstractContextManager[object]]) -> None:
        self.began = threading.Event()
        self._turn, self._leave = turn, threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with self._turn():
            self.began.set()
            self._leave.wait(30)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


def _dead_owner() -> str:
    """The name of a process of this machine that has ended."""
    code = "from corpus_assets.graph.leases import owner_name; print(owner_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_builds_run_at_once_and_a_collection_waits_for_them_and_says_so(
    registry: Registry,
) -> None:
    told: list[str] = []
    with building(registry), building(registry):
        other = Elsewhere(lambda: collecting(registry, told.append))
        assert not other.began.wait(0.3)
        assert told == ["waiting: a build is running; files are deleted when it ends"]
    assert other.began.wait(10)
    other.leave()
    assert registry.leases("") == []


def test_a_build_that_comes_while_files_are_collected_waits(registry: Registry) -> None:
    told: list[str] = []
    with collecting(registry):
        other = Elsewhere(lambda: building(registry, told.append))
        assert not other.began.wait(0.3)
        assert told == ["waiting: files are being collected"]
    assert other.began.wait(10)
    other.leave()


@pytest.mark.parametrize("turn", [takedown_run, collecting, lambda r: publishing(r, "v-1")])
def test_of_two_who_must_be_alone_one_waits(
    registry: Registry, turn: Callable[[Registry], AbstractContextManager[object]]
) -> None:
    with turn(registry):
        other = Elsewhere(lambda: turn(registry))
        assert not other.began.wait(0.3)
    assert other.began.wait(10)
    other.leave()


def test_what_a_killed_process_of_this_machine_held_is_free_at_once(registry: Registry) -> None:
    dead = _dead_owner()
    assert is_gone(dead)
    assert not is_gone(turns.owner_name())
    assert not is_gone("another-host:1:x")
    for name in (turns.COLLECT, turns.TAKEDOWNS, turns.BUILD + dead):
        registry.acquire_lease(name, dead, 600)
    with takedown_run(registry), building(registry):
        pass
    with collecting(registry):
        pass
    assert registry.leases("") == []


def test_a_turn_ends_with_its_work_even_when_the_work_fails(registry: Registry) -> None:
    with pytest.raises(ZeroDivisionError), building(registry):
        raise ZeroDivisionError
    assert registry.leases("") == []


def test_a_long_turn_is_renewed(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUS_LEASE_S", "1")
    with building(registry) as held:
        (first,) = registry.leases(turns.BUILD)
        deadline = time.monotonic() + 60
        lease = first
        while lease.expires_at <= first.expires_at + 0.5 and time.monotonic() < deadline:
            time.sleep(0.05)
            (lease,) = registry.leases(turns.BUILD)
        assert lease.expires_at > first.expires_at + 0.5
        held.expect_leases()


def test_a_turn_that_could_not_be_renewed_is_over_and_says_why(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPUS_LEASE_S", "1")
    locked = Registry(registry.database.url, busy_timeout_s=0.05)

    def work() -> None:
        with building(locked) as held:
            with registry.database.write() as connection:  # the catalog is locked for too long
                time.sleep(2)
                connection.execute(update(LeaseToken).values(last=LeaseToken.c.last + 1))
                token = select(LeaseToken.c.last).scalar_subquery()
                lease = {"owner": "somebody", "expires_at": time.time() + 60, "token": token}
                connection.execute(insert(Lease).values(name=turns.COLLECT, **lease))
            held.put_source(SourceRow("web", "warc", "web", ""))

    with pytest.raises(LeaseLost) as caught:
        work()
    message = str(caught.value)
    assert "it ran out" in message
    assert "run the same command again, finished parts are kept" in message
    assert "the last renewal failed: the catalog" in message
    assert registry.sources() == []


def test_a_turn_that_ran_out_goes_on_where_nobody_came(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPUS_LEASE_S", "1")
    locked = Registry(registry.database.url, busy_timeout_s=0.05)
    with takedown_run(locked) as run, building(run) as held:
        with registry.database.write():  # or a native call that lets no other thread run
            time.sleep(2)
        held.put_source(SourceRow("web", "warc", "web", ""))
    assert [source.name for source in registry.sources()] == ["web"]


def test_a_paused_build_is_told_by_its_engine_until_when_it_may_store(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPUS_LEASE_S", "60")
    told: list[float] = []
    before = clock()
    with building(registry, allow_until=told.append):
        assert before + 59 <= told[-1] <= clock() + 60
    assert told[-1] == float("inf")


COLLECTOR = """
import sys
from catalog.db.registry import Registry
from corpus_assets.graph.leases import collecting

with collecting(Registry(sys.argv[1]), lambda line: print(line, flush=True)):
    print("began", flush=True)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs the `unshare` command")
def test_a_container_with_this_host_name_does_not_take_a_build_here_for_dead(
    empty_url: str,
) -> None:
    registry = Registry(empty_url)
    registry.upgrade()
    container = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*container, "true"], capture_output=True).returncode:
        pytest.skip("no container can be made here")
    with (
        building(registry),
        subprocess.Popen(
            [*container, sys.executable, "-c", COLLECTOR, empty_url],
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):
        assert other.stdout is not None
        first = other.stdout.readline()
        (lease,) = registry.leases(turns.BUILD)
        registry.release_lease(lease.name, lease.owner)
        assert other.stdout.readline() == "began\n"
    assert first == "waiting: a build is running; files are deleted when it ends\n"
