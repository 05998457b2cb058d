"""What an engine is: it runs tasks and says when each one is done; and what a worker does with a task,
whatever engine gave it.

Engines differ in where tasks run, never in what comes out: a task is pure data and its result
goes to the store, so any mix of engines, orders and retries gives the same bytes.
"""

import math
import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from catalog.db import clock
from catalog.errors import LeaseLost
from corpus_assets.core.errors import EngineError
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.core.store import open_store
from corpus_assets.core.task import Finished, Task, TaskContext, execute
from corpus_assets.graph.engine.tries import place_of

OnDone = Callable[[int, Finished], None]
"""Told of every result, with the number of its task."""
FunctionOf = Callable[[str], Callable[[TaskContext], None]]
LeftS = Callable[[], float]  # seconds for which results may be stored; -inf: never again
RENEWED_IN_S = 30.0  # after a pause, or a native call that let no other thread run
SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class Cleared(NamedTuple):
    """A machine, and how many copies of files were deleted there; None: it did not answer."""

    node: str
    files: int | None


class Engine(Protocol):
    def run(self, tasks: Sequence[Task], on_done: OnDone) -> None:
        """Run all tasks and hand over each result as it comes. Neither tasks nor results are kept:
        `tasks` may make each when it is asked for.

        One that fails is tried again, as `engine.tries` says. `PartsFailed` names those that were
        given up, once all others are done. An error that concerns the whole build is raised as
        soon as the tasks already running have ended, so that their finished work is kept.
        """
        ...

    def allow_until(self, moment: float) -> None:
        """Set the moment (by `catalog.db.database.clock`) after which no result is stored, 0 for
        never again: a worker may outlive the lease that its build holds."""
        ...

    def forget_copies(self) -> list[Cleared]:
        """Delete the copies of files that other machines keep, which hold text; return which
        machines were asked."""
        ...

    def close(self) -> None: ...


# What a worker does with a task.


def use_one_thread() -> None:
    """Leave the other cores to the other workers. To be called before a stage is loaded."""
    for name in SINGLE_THREADED:
        os.environ.setdefault(name, "1")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def left_until(moment: float) -> float:
    """Return the seconds until a moment that `Engine.allow_until` was given."""
    return moment - clock() if moment else -math.inf


def run_task(task: Task, store_url: str, function_of: FunctionOf, left_s: LeftS) -> Finished:
    """Run a task; its result is stored while the lease of the build holds."""

    def before_commit() -> None:
        patience = clock() + RENEWED_IN_S
        while (left := left_s()) <= 0:
            if left > -math.inf and clock() < patience:
                time.sleep(0.1)
                continue
            raise LeaseLost(
                f"{task.stage} ({task.label}) was not stored: the build's lease ran out, because it "
                "was paused, the machine slept or the catalog could not be reached; run the same "
                "command again, finished parts are kept"
            )

    return execute(task, open_store(store_url), function_of(task.stage), before_commit)


def answer_of(
    task: Task, store_url: str, function_of: FunctionOf, left_s: LeftS
) -> Finished | Exception:
    """Run a task; return its result, or its error in a form that can travel."""
    try:
        return run_task(task, store_url, function_of, left_s)
    except Exception as error:
        if not isinstance(error, KNOWN_ERRORS):
            error.place = place_of(error)  # type: ignore[attr-defined]
            error.add_note(traceback.format_exc())  # which does not travel by itself
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception:
            return EngineError(f"{task.stage} ({task.label}): {type(error).__name__}")
        return error
