"""What an engine runs next: batches of small tasks, and what became of them."""

import pytest

from corpus_assets.core.errors import EngineError, RecipeError
from corpus_assets.core.store import Result
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine.schedule import BEGIN_PATIENCE_S, LARGEST_BATCH, Schedule

DONE = Finished(Result("square", "", {}), 0.0, cached=False)


def schedule(number: int) -> Schedule:
    return Schedule([Task("square", 1, {"n": n}) for n in range(number)], patience_s=30.0)


def batch(run: Schedule, slots: int = 1) -> list[int]:
    return run.next_batch(now=0.0, is_idle=True, batch_s=20.0, slots=slots)


def test_tasks_go_singly_until_one_is_measured_then_fill_the_time() -> None:
    run = schedule(100)
    assert batch(run) == [0]
    assert batch(run) == [1]
    run.done(0, DONE, seconds=5.0)
    assert batch(run) == [2, 3, 4, 5]
    run.done(1, DONE, seconds=55.0)
    assert batch(run) == [6], "longer than a batch should take"


def test_a_batch_leaves_work_for_the_others_and_has_an_upper_bound() -> None:
    run = schedule(1001)
    run.next(0.0, is_idle=True)
    run.done(0, DONE, seconds=0.0)
    assert len(batch(run, slots=10)) == 100
    assert len(batch(run)) == LARGEST_BATCH


def test_a_task_that_failed_or_lost_its_batch_goes_alone() -> None:
    run = schedule(12)
    run.next(0.0, is_idle=True)
    run.done(0, DONE, seconds=5.0)
    first = batch(run)
    assert first == [1, 2, 3, 4]
    run.failed(2, EngineError("died"))
    run.put_back([1, 3], is_suspect=True)
    run.put_back([4])
    assert [batch(run) for _ in range(3)] == [[4], [1], [3]]
    assert batch(run) == [5, 6, 7, 8]
    assert batch(run) == [9, 10, 11]
    assert batch(run) == [2]


def test_a_task_with_none_of_its_like_done_is_copied_after_an_hour() -> None:
    run = schedule(2)
    running = {run.next(0.0, is_idle=True): 0.0, run.next(0.0, is_idle=False): 0.0}
    assert run.straggler(running, now=3600.0) is None  # type: ignore[arg-type]
    assert run.straggler(running, now=3601.0) == 0  # type: ignore[arg-type]
    assert run.straggler(running, now=3601.0) == 1, "each once"  # type: ignore[arg-type]
    assert run.straggler(running, now=9999.0) is None  # type: ignore[arg-type]


def test_a_task_that_went_out_and_did_not_begin_is_copied_once() -> None:
    run = schedule(3)
    numbers = [run.next(0.0, is_idle=True) for _ in range(2)]
    sent = dict.fromkeys(numbers, 5.0)
    assert run.straggler({}, 200.0, sent) is None, "another one waits"  # type: ignore[arg-type]
    run.next(0.0, is_idle=False)
    assert run.straggler({}, 5.0 + BEGIN_PATIENCE_S, sent) is None  # type: ignore[arg-type]
    copied = [run.straggler({}, 200.0, sent) for _ in range(3)]  # type: ignore[arg-type]
    assert copied == [0, 1, None]
    assert run.straggler({0: 0.0}, 9999.0) is None, "not again as a slow one"


def test_a_last_try_is_not_copied_while_it_runs_but_where_it_has_not_begun() -> None:
    run = schedule(1)
    for _ in range(2):
        run.next(0.0, is_idle=True)
        run.failed(0, EngineError("died"))
    assert run.next(0.0, is_idle=True) == 0
    assert run.tries_of(0).is_last
    assert run.straggler({0: 0.0}, 9999.0) is None
    assert run.straggler({}, 9999.0, {0: 0.0}) == 0


def test_what_comes_back_after_the_end_of_a_build_is_not_waited_for() -> None:
    run = schedule(8)
    run.next(0.0, is_idle=True)
    run.done(0, DONE, seconds=5.0)
    batch(run)
    run.failed(1, RecipeError("wrong"))
    assert run.is_open
    run.put_back([2, 3, 4])
    assert not run.is_open
    with pytest.raises(RecipeError):
        run.close()
