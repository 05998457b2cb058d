"""A signal ends a command: not inside a write, and not without it."""

import gc
import os
import signal
import sqlite3
import sys
import weakref
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.stopping import expect_no_stop, stoppable, uninterrupted

BOTH = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    for _ in range(1000):  # handlers run between two instructions
        pass


@BOTH
def test_a_signal_is_raised_at_once_and_known_afterwards(number: int, code: int) -> None:
    with stoppable() as stopped:
        expect_no_stop()
        assert stopped.exit_code() is None
        with pytest.raises(KeyboardInterrupt):
            send(number)
        assert stopped.exit_code() == code


@BOTH
def test_in_an_uninterrupted_block_it_waits_for_the_end(number: int, code: int) -> None:
    steps: list[str] = []

    def work() -> None:
        with uninterrupted():
            with uninterrupted():
                send(number)
                steps.append("inner")
            steps.append("outer")

    with stoppable() as stopped:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert stopped.exit_code() == code
    assert steps == ["inner", "outer"]


def test_handlers_are_as_they_were_afterwards() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    hook = sys.unraisablehook
    with stoppable(), uninterrupted():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    assert sys.unraisablehook is hook


def test_one_that_is_lost_in_a_destructor_is_found_at_the_next_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Thing:
        pass

    with stoppable():
        thing = Thing()
        gone = weakref.ref(thing, lambda _: send(signal.SIGINT))
        del thing
        gc.collect()
        assert gone() is None
        with pytest.raises(KeyboardInterrupt):
            expect_no_stop()
    assert capsys.readouterr().err == ""


def test_a_stopped_write_is_whole_and_leaves_no_lock(tmp_path: Path) -> None:
    registry = Registry(f"sqlite:///{tmp_path / 'catalog.db'}")
    registry.upgrade()

    def write() -> None:
        with registry.database.write() as connection:
            connection.exec_driver_sql("CREATE TABLE mine (number INTEGER)")
            send(signal.SIGINT)
            connection.exec_driver_sql("INSERT INTO mine VALUES (1)")

    with stoppable(), pytest.raises(KeyboardInterrupt):
        write()
    with sqlite3.connect(tmp_path / "catalog.db", timeout=0.1) as other:
        assert other.execute("SELECT number FROM mine").fetchall() == [(1,)]
        other.execute("DELETE FROM mine")
