"""The local engine: the same results from one process or several, whatever goes wrong."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from catalog.db.database import clock
from catalog.errors import LeaseLost
from corpus_assets.core.errors import EngineError
from corpus_assets.core.store import LocalStore, load_result, read_output
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine.base import Engine, OnDone
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets_tests.graph.engine import tiny_tasks

TINY = tiny_tasks.function_of


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture(params=[1, 2], ids=["one worker", "two workers"])
def engine(request: pytest.FixtureRequest, store: LocalStore) -> Iterator[LocalEngine]:
    made = LocalEngine(store.url, TINY, request.param)
    yield made
    made.close()


@pytest.fixture
def pool(store: LocalStore) -> Iterator[LocalEngine]:
    made = LocalEngine(store.url, TINY, 2)
    yield made
    made.close()


def tasks(stage: str, numbers: list[int], **params: str) -> list[Task]:
    return [Task(stage, 1, {"n": n}, params=params, label=f"number {n}") for n in numbers]


def nothing(number: int, finished: Finished) -> None:
    return


def results_of(engine: Engine, todo: Sequence[Task], also: OnDone = nothing) -> list[Finished]:
    """Run tasks; return what came of them, in their order. Each is told once."""
    found: dict[int, Finished] = {}

    def on_done(number: int, finished: Finished) -> None:
        assert number not in found
        found[number] = finished
        also(number, finished)

    engine.run(todo, on_done)
    return [found[number] for number in range(len(todo))]


def test_every_result_is_told_once_with_the_number_of_its_task(
    engine: LocalEngine, store: LocalStore
) -> None:
    numbers = [5, 3, 9, 1, 4, 8]
    done = results_of(engine, tasks("square", numbers))
    assert [d.result.counts["n"] for d in done] == numbers
    assert [read_output(store, d.result.outputs["square.txt"]) for d in done] == [
        str(n * n).encode() for n in numbers
    ]
    assert not any(d.cached for d in done)


def test_one_and_two_workers_leave_the_same_files(tmp_path: Path) -> None:
    trees = []
    for workers in (1, 2):
        store = LocalStore(tmp_path / str(workers))
        engine = LocalEngine(store.url, TINY, workers)
        results_of(engine, tasks("square", list(range(6))))
        engine.close()
        trees.append({name: store.read(name) for name in store.list("artifacts")})
    assert trees[0] == trees[1]
    assert len(trees[0]) == 12


def test_no_tasks_are_no_work(engine: LocalEngine) -> None:
    assert results_of(engine, []) == []


def test_finished_tasks_are_found_and_not_run_again(engine: LocalEngine, tmp_path: Path) -> None:
    log = tmp_path / "log"
    results_of(engine, tasks("note_and_square", [1, 2, 3], log=str(log)))
    done = results_of(engine, tasks("note_and_square", [1, 2, 3, 4], log=str(log)))
    assert [d.cached for d in done] == [True, True, True, False]
    assert sorted(log.read_text().split()) == ["1", "2", "3", "4"]


def test_a_worker_killed_while_idle_is_replaced(pool: LocalEngine, store: LocalStore) -> None:
    done = results_of(pool, tasks("environment", [1, 2]))
    worker = int(read_output(store, done[0].result.outputs["environment.txt"]).split()[-1])
    os.kill(worker, signal.SIGKILL)
    done = results_of(pool, tasks("square", [1, 2]))
    assert [d.result.counts["n"] for d in done] == [1, 2]


def test_one_worker_is_this_process(store: LocalStore) -> None:
    [done] = results_of(LocalEngine(store.url, TINY), tasks("environment", [1]))
    pid = read_output(store, done.result.outputs["environment.txt"]).split()[-1]
    assert int(pid) == os.getpid()


def test_ctrl_c_ends_workers_that_look_at_no_signal(store: LocalStore, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    engine = LocalEngine(store.url, TINY, 2)

    def interrupt() -> None:
        while len(log.read_text().split()) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            results_of(engine, tasks("sleep", [1, 2], log=str(log)))
    finally:
        waiting.join()
        engine.close()
        signal.signal(signal.SIGINT, before)
    for pid in log.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.parametrize("workers", [0, -2])
def test_fewer_than_one_worker_is_refused(store: LocalStore, workers: int) -> None:
    with pytest.raises(EngineError, match=f"--workers must be 1 or more, not {workers}"):
        LocalEngine(store.url, TINY, workers)


def test_workers_use_one_thread_each_and_end_with_the_engine(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.delenv(name, raising=False)
    engine = LocalEngine(store.url, TINY, 2)
    done = results_of(engine, tasks("environment", [1, 2]))
    engine.close()
    engine.close()
    for each in done:
        *found, pid = read_output(store, each.result.outputs["environment.txt"]).split()
        assert found == [b"1", b"1", b"false"]
        assert int(pid) != os.getpid()
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_after_the_moment_that_it_is_allowed_until_nothing_is_stored(
    engine: LocalEngine, store: LocalStore
) -> None:
    first, second = tasks("square", [1, 2]), tasks("square", [3, 4])
    engine.allow_until(clock() + 600)
    results_of(engine, first)
    engine.allow_until(0.0)
    with pytest.raises(LeaseLost, match=r"square \(number [34]\) was not stored: .*lease ran out"):
        results_of(engine, second)
    assert [load_result(store, "square", task.fingerprint) for task in second] == [None, None]
    assert all(done.cached for done in results_of(engine, first)), "what is there is found"
