"""What a worker does with a task, whatever engine gave it."""

import math
import os
import pickle
import time
import traceback
from collections.abc import Callable

from catalog.db.database import clock
from catalog.errors import CatalogError, LeaseLost
from corpus_assets.core.errors import CorpusError, EngineError
from corpus_assets.core.store import open_store
from corpus_assets.core.task import Finished, Task, TaskContext, execute
from corpus_assets.graph.engine.tries import place_of

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
        if not isinstance(error, CorpusError | CatalogError):
            error.place = place_of(error)  # type: ignore[attr-defined]
            error.add_note(traceback.format_exc())  # which does not travel by itself
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception:
            return EngineError(f"{task.stage} ({task.label}): {type(error).__name__}")
        return error
