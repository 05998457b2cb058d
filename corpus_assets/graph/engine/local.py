"""The local engine: a pool of worker processes on this machine.

Workers are started once and kept for the whole build, since loading the extractor and the
compiled kernels costs seconds. They are spawned, not forked: the parent may hold threads.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized

from catalog.db.database import clock
from catalog.errors import LeaseLost
from corpus_assets.core.errors import EngineError
from corpus_assets.core.store import open_store
from corpus_assets.core.task import Finished, Task, TaskContext, execute
from corpus_assets.graph.engine.base import OnDone

FunctionOf = Callable[[str], Callable[[TaskContext], None]]
SPAWNED = get_context("spawn")
RENEWED_IN_S = 30.0  # after a pause, or a native call that let no other thread run
SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class LocalEngine:
    """`workers=1` runs tasks in this process; more run them in that many processes.

    `function_of` gives the function of a stage; it travels to workers by name, so that what it
    loads is loaded there.
    """

    def __init__(self, store_url: str, function_of: FunctionOf, workers: int = 1) -> None:
        if workers < 1:
            raise EngineError(f"--workers must be 1 or more, not {workers}")
        self.store_url = store_url
        self.function_of = function_of
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._until: Synchronized[float] = SPAWNED.Value("d", math.inf)

    def allow_until(self, moment: float) -> None:
        self._until.value = moment

    def run(self, tasks: Sequence[Task], on_done: OnDone) -> list[Finished]:
        if self.workers == 1 or len(tasks) <= 1:
            return [self._inline(task, on_done) for task in tasks]
        futures = self._submit(tasks)
        try:
            return self._collect(tasks, futures, on_done)
        except BaseException as error:
            if not isinstance(error, Exception):  # Ctrl-C: native code would run for minutes on
                self._kill()
            raise

    def _collect(
        self, tasks: Sequence[Task], futures: dict[Future[Finished], int], on_done: OnDone
    ) -> list[Finished]:
        finished: list[Finished | None] = [None] * len(tasks)
        failure: Exception | None = None
        for future in as_completed(futures):
            task = tasks[futures[future]]
            try:
                finished[futures[future]] = done = future.result()
            except BrokenProcessPool as error:
                self._pool = None
                raise _died(task) from error
            except Exception as error:
                failure = failure or error
                for other in futures:
                    other.cancel()
            else:
                on_done(task, done)
        if failure is not None:
            raise failure
        return [done for done in finished if done is not None]

    def _submit(self, tasks: Sequence[Task]) -> dict[Future[Finished], int]:
        """Hand all tasks to the pool; one that lost a worker while idle is replaced first."""
        lost: BrokenProcessPool | None = None
        for _ in range(2):
            pool = self._start()
            try:
                return {
                    pool.submit(run_task, task, self.store_url, self.function_of): i
                    for i, task in enumerate(tasks)
                }
            except BrokenProcessPool as error:
                self._pool, lost = None, error
        raise _died(tasks[0]) from lost

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _kill(self) -> None:
        """End the workers at once; what they had not finished does not exist for anybody."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _inline(self, task: Task, on_done: OnDone) -> Finished:
        done = run_task(task, self.store_url, self.function_of, self._until)
        on_done(task, done)
        return done

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=SPAWNED,
                initializer=_worker_started,
                initargs=(self._until,),
            )
        return self._pool


def _died(task: Task) -> EngineError:
    return EngineError(
        f"a worker process died during {task.stage} ({task.label}); it may have been killed for "
        "memory: run the same command again with fewer --workers, finished parts are kept"
    )


def run_task(
    task: Task, store_url: str, function_of: FunctionOf, until: "Synchronized[float] | None" = None
) -> Finished:
    """Return what a worker does with a task."""
    allowed = until or _worker.get("until")

    def before_commit() -> None:
        patience = clock() + RENEWED_IN_S
        while allowed is not None and clock() >= allowed.value:
            if allowed.value and clock() < patience:
                time.sleep(0.1)
                continue
            raise LeaseLost(
                f"{task.stage} ({task.label}) was not stored: the build's lease ran out, because it "
                "was paused, the machine slept or the catalog could not be reached; run the same "
                "command again, finished parts are kept"
            )

    return execute(task, open_store(store_url), function_of(task.stage), before_commit)


_worker: "dict[str, Synchronized[float]]" = {}  # of this process, if it is a worker


def _worker_started(until: "Synchronized[float]") -> None:
    """Workers leave Ctrl-C to the parent, use one thread, and go when the parent is gone."""
    _worker["until"] = until
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in SINGLE_THREADED:
        os.environ.setdefault(name, "1")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()


def _leave_with(parent: int) -> None:
    """Exit within a second of the parent's death, so a killed build leaves no strays."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(1.0)
    os._exit(1)
