"""What every engine does about tasks that fail: tries them again, sets them aside, goes on."""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from corpus_assets.core.errors import (
    CorruptArtifact,
    EngineError,
    MissingExtra,
    NodeLost,
    OtherCode,
    RecipeError,
    SourceError,
    StoreError,
)
from corpus_assets.core.store import LocalStore, load_result
from corpus_assets.core.task import Task
from corpus_assets.graph.engine import tries as policy
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.engine.ray import RayEngine
from corpus_assets.graph.engine.tries import FailedTask, PartsFailed, Tries
from corpus_assets_tests.graph.engine import tiny_tasks
from corpus_assets_tests.graph.engine.test_local import results_of
from corpus_assets_tests.ray_cluster import NODE


@pytest.fixture(autouse=True)
def _short_pauses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "tmp_path" in request.fixturenames:
        monkeypatch.setattr(policy, "FIRST_PAUSE_S", 0.001)
        monkeypatch.setattr(policy, "LONGEST_PAUSE_S", 0.002)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return LocalStore(tmp_path_factory.mktemp("store"))


AnEngine = LocalEngine | RayEngine
RAY = pytest.param("ray", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def processes(store: LocalStore) -> Iterator[LocalEngine]:
    made = LocalEngine(store.url, tiny_tasks.function_of, 2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ray_engine(request: pytest.FixtureRequest, store: LocalStore) -> Iterator[RayEngine]:
    cluster = request.getfixturevalue("ray_cluster")
    second = cluster.add_node(**NODE)
    made = RayEngine(store.url, tiny_tasks.function_of, address=cluster.address)
    yield made
    made.close()
    cluster.remove_node(second)


@pytest.fixture(params=["two processes", RAY])
def pool(request: pytest.FixtureRequest) -> AnEngine:
    """An engine with workers that can die."""
    name = "ray_engine" if request.param == "ray" else "processes"
    found: AnEngine = request.getfixturevalue(name)
    return found


@pytest.fixture(params=["this process", "two processes", RAY])
def engine(request: pytest.FixtureRequest, store: LocalStore) -> AnEngine:
    if request.param == "this process":
        return LocalEngine(store.url, tiny_tasks.function_of)
    name = "ray_engine" if request.param == "ray" else "processes"
    found: AnEngine = request.getfixturevalue(name)
    return found


def tasks(stage: str, numbers: Sequence[int], log: Path, **params: str) -> list[Task]:
    """Tasks that no other test has run."""
    return [
        Task(
            stage,
            1,
            {"n": n, "of": str(log)},
            params=params | {"log": f"file:{log}"},
            label=f"number {n}",
        )
        for n in numbers
    ]


def faulty(log: Path, fault: str, times: int, numbers: Sequence[int] = (1, 2, 3, 4)) -> list[Task]:
    return tasks("faulty", numbers, log, fault=fault, times=str(times))


def tries(log: Path, number: int = 3) -> int:
    path = log / f"{number}.tries"
    return len(path.read_text().split()) if path.exists() else 0


def stored(store: LocalStore, todo: list[Task]) -> list[bool]:
    return [load_result(store, task.stage, task.fingerprint) is not None for task in todo]


@pytest.mark.parametrize("fault", ["source", "surprise", "memory"])
def test_a_part_that_fails_twice_is_done_at_the_third_try(
    engine: AnEngine, tmp_path: Path, fault: str
) -> None:
    done = results_of(engine, faulty(tmp_path, fault, 2))
    assert [each.result.counts["n"] for each in done] == [1, 2, 3, 4]
    assert [each.tries for each in done] == [1, 1, 3, 1]
    assert tries(tmp_path) == 3


def test_a_part_that_fails_three_times_is_set_aside_and_the_others_are_done(
    engine: AnEngine, store: LocalStore, tmp_path: Path
) -> None:
    todo = faulty(tmp_path, "source", 9)
    told: list[int] = []
    with pytest.raises(PartsFailed) as caught:
        engine.run(todo, lambda number, finished: told.append(number))
    [failed] = caught.value.failures
    assert (failed.task, failed.number) == (todo[2], 2)
    assert failed.reason == "three cannot be read"
    assert (failed.tries.own, failed.tries.world) == (3, 0)
    assert tries(tmp_path) == 3
    assert stored(store, todo) == [True, True, False, True]
    assert sorted(told) == [0, 1, 3]
    again = results_of(engine, [task for task in todo if task is not todo[2]])
    assert all(each.cached for each in again)


def test_the_last_try_is_made_with_nothing_beside_it(engine: AnEngine, tmp_path: Path) -> None:
    done = results_of(engine, tasks("alone_at_last", range(1, 6), tmp_path))
    assert len(done) == 5
    assert [tries(tmp_path, n) for n in range(1, 6)] == [3] * 5
    assert [each.tries for each in done] == [3] * 5


def test_an_error_that_nobody_expected_is_named_by_its_place_and_quotes_nothing(
    engine: AnEngine, tmp_path: Path
) -> None:
    with pytest.raises(PartsFailed) as caught:
        results_of(engine, faulty(tmp_path, "surprise", 9))
    [failed] = caught.value.failures
    assert failed.reason.startswith("ValueError at tiny_tasks.py:")
    assert "secret" not in failed.reason + str(caught.value)


@pytest.mark.parametrize("fault", ["away", "reset"])
def test_a_failure_of_the_world_is_waited_for(engine: AnEngine, tmp_path: Path, fault: str) -> None:
    done = results_of(engine, faulty(tmp_path, fault, 19))
    assert len(done) == 4
    assert tries(tmp_path) == 20


def test_a_world_that_stays_away_is_given_up_after_twenty_tries(
    engine: AnEngine, tmp_path: Path
) -> None:
    with pytest.raises(PartsFailed) as caught:
        results_of(engine, faulty(tmp_path, "away", 99))
    assert caught.value.failures[0].tries == Tries(own=0, world=20)
    assert tries(tmp_path) == 20


def test_pauses_grow_and_stay_bounded() -> None:
    pauses = [Tries(world=n).pause_s for n in range(21)]
    assert pauses[:4] == [0.0, 0.5, 1.0, 2.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60.0


@pytest.mark.parametrize(
    ("fault", "error"), [("recipe", RecipeError), ("disk", StoreError), ("damage", CorruptArtifact)]
)
def test_what_concerns_the_whole_build_ends_it_at_once(
    engine: AnEngine, tmp_path: Path, fault: str, error: type[Exception]
) -> None:
    numbers = (3, *range(10, 60))
    with pytest.raises(error):
        results_of(engine, faulty(tmp_path, fault, 9, numbers))
    assert tries(tmp_path) == 1


def test_an_absent_extra_is_no_reason_to_set_parts_aside() -> None:
    assert policy.fault_of(MissingExtra("install it")) is policy.Fault.BUILD
    assert policy.fault_of(OtherCode("install the same")) is policy.Fault.BUILD
    assert policy.fault_of(KeyboardInterrupt()) is policy.Fault.BUILD
    assert policy.fault_of(OSError(28, "No space left on device")) is policy.Fault.BUILD


@pytest.mark.parametrize("fault", ["killed", "exit"])
def test_a_worker_that_dies_fails_its_own_task_and_no_other(
    pool: AnEngine, store: LocalStore, tmp_path: Path, fault: str
) -> None:
    done = results_of(pool, faulty(tmp_path, fault, 2))
    assert [each.result.counts["n"] for each in done] == [1, 2, 3, 4]
    for_ever = tmp_path / "for ever"
    for_ever.mkdir()
    poison = faulty(for_ever, fault, 99, range(1, 7))
    with pytest.raises(PartsFailed) as caught:
        results_of(pool, poison)
    [failed] = caught.value.failures
    assert isinstance(failed.error, EngineError)
    assert failed.reason.startswith("a worker process died during faulty (number 3)")
    assert "if it was killed for memory" in failed.reason
    if isinstance(pool, LocalEngine):  # Ray does not say how
        how = {"killed": "ended by SIGKILL", "exit": "exit code 137"}[fault]
        assert f": {how}; " in failed.reason
    assert (failed.tries.own, failed.tries.world, tries(for_ever)) == (3, 0, 3)
    assert stored(store, poison) == [True, True, False, True, True, True]


def test_a_task_that_hangs_is_started_a_second_time(
    pool: AnEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "patience_s", 0.5)
    done = results_of(pool, faulty(tmp_path, "stopped", 1))
    assert [each.result.counts["n"] for each in done] == [1, 2, 3, 4]
    assert tries(tmp_path) == 2
    again = results_of(pool, tasks("square", [1, 2, 3], tmp_path))
    assert len(again) == 3
    for pid in (tmp_path / "3.tries").read_text().split()[:1]:  # Ray cannot end what is stopped
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def test_workers_that_are_stopped_are_replaced_where_none_of_their_like_is_done(
    processes: LocalEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One task waits to be alone, the other is stopped: neither may wait for the other."""
    monkeypatch.setattr(processes, "patience_s", 0.5)
    logs = [tmp_path / "stopped", tmp_path / "killed"]
    todo = []
    for log in logs:
        log.mkdir()
        todo += faulty(log, log.name, 1 + (log.name == "killed"), [3])
    assert len(results_of(processes, todo)) == 2
    assert [tries(log) for log in logs] == [2, 3]


def test_a_callback_that_fails_ends_the_run(engine: AnEngine, tmp_path: Path) -> None:
    def refuse(number: int, finished: object) -> None:
        raise RuntimeError("the catalog is gone")

    with pytest.raises(RuntimeError, match="the catalog is gone"):
        engine.run(tasks("square", [1, 2, 3], tmp_path), refuse)
    assert len(results_of(engine, tasks("square", [4, 5, 6], tmp_path))) == 3


def test_a_node_that_is_gone_is_a_failure_of_the_world() -> None:
    assert policy.fault_of(NodeLost("preempted")) is policy.Fault.WORLD


def test_reasons_are_one_line() -> None:
    failed = FailedTask(Task("square", 1, {}), SourceError("one\n  two"), Tries(3))
    assert failed.reason == "one two"
