"""Builds of one machine share its cores."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from corpus_assets.core.store import LocalStore
from corpus_assets.graph.engine import cores
from corpus_assets.graph.engine.cores import Cores, fair_shares
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets_tests.engine import tiny_tasks
from corpus_assets_tests.engine.test_failures import tasks
from corpus_assets_tests.engine.test_local import results_of

HOLD = """
import sys, pathlib
from corpus_assets.graph.engine.cores import Cores
with Cores(pathlib.Path(sys.argv[1]), 8).wanted(8):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "LOOK_S", 0.0)


@pytest.mark.parametrize(
    ("number", "wants", "shares"),
    [
        (8, [8], [8]),
        (2, [6], [6]),  # who is alone gets what it asked for
        (8, [8, 8], [4, 4]),
        (7, [8, 8], [4, 3]),
        (8, [2, 8], [2, 6]),
        (8, [8, 1, 3], [4, 1, 3]),
        (2, [2, 2, 2], [1, 1, 1]),
        (1, [1, 1], [1, 1]),
    ],
)
def test_cores_are_divided_fairly(number: int, wants: list[int], shares: list[int]) -> None:
    assert fair_shares(number, wants) == shares


def test_a_share_shrinks_when_another_build_comes_and_grows_when_it_goes(tmp_path: Path) -> None:
    machine = Cores(tmp_path / "notes", 8)
    with machine.wanted(8) as first:
        assert first() == 8
        with machine.wanted(8) as second, machine.wanted(2) as third:
            assert (first(), second(), third()) == (3, 3, 2)
        assert first() == 8
    assert list((tmp_path / "notes").iterdir()) == []


def test_a_build_that_is_stopped_or_killed_leaves_its_cores_to_others(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "holds\n"
    with Cores(tmp_path, 8).wanted(8) as share:
        assert share() == 4
        other.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, other.pid, os.WSTOPPED)
        assert share() == 8
        other.send_signal(signal.SIGCONT)
        os.waitid(os.P_PID, other.pid, os.WCONTINUED)
        assert share() == 4
        other.kill()
        other.communicate()
        assert share() == 8
        assert len(list(tmp_path.iterdir())) == 1, "the note of the dead is gone"


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "notes").symlink_to(elsewhere)
    with Cores(tmp_path / "notes", 8).wanted(5) as share:
        assert share() == 5
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
def test_two_builds_at_once_run_no_more_tasks_than_there_are_cores(tmp_path: Path) -> None:
    """Each task notes how many are at work; the first ones began before the other build came."""
    busy = tmp_path / "busy"
    busy.mkdir()

    def build(name: str) -> None:
        log = tmp_path / name
        log.mkdir()
        engine = LocalEngine(LocalStore(log / "store").url, tiny_tasks.function_of, 2)
        engine.cores = Cores(tmp_path / "notes", 2)
        todo = tasks("beside", range(20), log, busy=f"file:{busy}")
        try:
            results_of(engine, todo)
        finally:
            engine.close()

    builds = [threading.Thread(target=build, args=(name,)) for name in ("one", "two")]
    for each in builds:
        each.start()
    for each in builds:
        each.join()
    seen = Counter(
        int(line) for name in ("one", "two")
        for line in (tmp_path / name / "beside").read_text().split()[4:-4]
    )  # fmt: skip
    assert sum(seen.values()) == 24
    assert max(seen) <= 2
