"""The local engine: a pool of worker processes on this machine.

Workers are started once and kept for the whole build, since loading the extractor and the
compiled kernels costs seconds. They are spawned, not forked: the parent may hold threads. Each
has a pipe of its own, so that one that dies fails the task it had and no other.
"""

import contextlib
import math
import os
import pickle
import signal
import statistics
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from typing import cast

from catalog.db.database import clock
from catalog.errors import CatalogError, LeaseLost
from catalog.stopping import expect_no_stop
from corpus_assets.core.errors import CorpusError, EngineError
from corpus_assets.core.store import open_store
from corpus_assets.core.task import Finished, Task, TaskContext, execute
from corpus_assets.graph.engine.base import OnDone
from corpus_assets.graph.engine.tries import (
    FailedTask,
    Fault,
    PartsFailed,
    Tries,
    fault_of,
    place_of,
)

FunctionOf = Callable[[str], Callable[[TaskContext], None]]
SPAWNED = get_context("spawn")
SLOWER = 3  # than the median of its like: when nothing else is to do, a task is started again
PATIENCE_S = 30.0  # that it has run at least
FAREWELL_S = 10.0
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
        self.patience_s = PATIENCE_S
        self._pool: list[_Worker] = []
        self._until: Synchronized[float] = SPAWNED.Value("d", math.inf)

    def allow_until(self, moment: float) -> None:
        self._until.value = moment

    def run(self, tasks: Sequence[Task], on_done: OnDone) -> list[Finished]:
        if self.workers == 1 or len(tasks) <= 1:
            run = _Run(tasks, self.patience_s)
            while (number := run.next(now=math.inf, is_idle=True)) is not None:
                expect_no_stop()
                self._inline(run, number, on_done)
            return run.results()
        try:
            return self._in_processes(_Run(tasks, self.patience_s), on_done)
        except BaseException:  # Ctrl-C, or a catalog that cannot be written: native code runs on
            self._kill()
            raise

    def _inline(self, run: "_Run", number: int, on_done: OnDone) -> None:
        time.sleep(run.tries[number].pause_s)
        try:
            done = run_task(run.tasks[number], self.store_url, self.function_of, self._until)
        except Exception as error:
            run.failed(number, error)
        else:
            run.done(number, done)
            on_done(run.tasks[number], done)

    def _in_processes(self, run: "_Run", on_done: OnDone) -> list[Finished]:
        while run.is_open:
            expect_no_stop()
            self._hand_out(run)
            busy = {worker.connection: worker for worker in self._pool if worker.is_busy}
            for connection in wait(list(busy), timeout=run.look_again_s):
                worker = busy[cast("Connection", connection)]
                number = worker.number
                answer = worker.answer()
                if number is None or run.has(number):
                    continue  # a second copy, which the first was faster than
                if isinstance(answer, Finished):
                    run.done(number, answer)
                    on_done(run.tasks[number], answer)
                    self._end_copies(number)
                elif not self._copies(number):
                    run.failed(number, answer)
        return run.results()

    def _hand_out(self, run: "_Run") -> None:
        """Give every idle worker a task, as long as there are some to start."""
        self._pool = [worker for worker in self._pool if worker.is_alive or worker.is_busy]
        idle = [worker for worker in self._pool if not worker.is_busy]
        for _ in range(self.workers - len(self._pool) + len(idle)):
            busy = {w.number: w.began for w in self._pool if w.number is not None}
            number = run.next(time.monotonic(), not busy)
            if number is None:
                number = run.straggler(busy, time.monotonic())
            if number is None:
                return
            worker = idle.pop() if idle else self._started()
            worker.give(number, (run.tasks[number], self.store_url, self.function_of))

    def _started(self) -> "_Worker":
        self._pool.append(_Worker(self._until))
        return self._pool[-1]

    def _copies(self, number: int) -> "list[_Worker]":
        return [w for w in self._pool if w.is_busy and w.number == number]

    def _end_copies(self, number: int) -> None:
        for worker in self._copies(number):
            worker.kill()

    def close(self) -> None:
        for worker in self._pool:
            worker.dismiss()
        self._kill()

    def _kill(self) -> None:
        """End the workers at once; what they had not finished does not exist for anybody."""
        for worker in self._pool:
            worker.kill()
        self._pool = []


class _Run:
    """The tasks of one run: which wait, how often each was tried, what came of it."""

    def __init__(self, tasks: Sequence[Task], patience_s: float) -> None:
        self.tasks = tasks
        self.tries = [Tries() for _ in tasks]
        self._patience_s = patience_s
        self._finished: list[Finished | None] = [None] * len(tasks)
        self._waiting = deque(range(len(tasks)))
        self._paused: dict[int, float] = {}  # until when
        self._alone: deque[int] = deque()  # their last try
        self._open = len(tasks)
        self._failures: list[FailedTask] = []
        self._fatal: Exception | None = None
        self._seconds: list[float] = []  # of tasks that were run
        self._began: dict[int, float] = {}
        self._copied: set[int] = set()

    @property
    def is_open(self) -> bool:
        """Whether a result or a failure is still to come."""
        return self._open > 0

    @property
    def look_again_s(self) -> float:
        """How long to wait for a result before something else may be to do."""
        if self._paused:
            return min(max(min(self._paused.values()) - time.monotonic(), 0.0), 1.0)
        return 60.0 if self._waiting else 1.0

    def next(self, now: float, is_idle: bool) -> int | None:
        """Take the next task to start; one that has to be alone only where nothing runs."""
        for number in [n for n, until in self._paused.items() if until <= now]:
            del self._paused[number]
            self._waiting.append(number)
        if not self._waiting and self._alone and is_idle and not self._paused:
            self._waiting.append(self._alone.popleft())
        if not self._waiting:
            return None
        number = self._waiting.popleft()
        self._began[number] = time.monotonic()
        return number

    def straggler(self, running: Mapping[int, float], now: float) -> int | None:
        """Return a task that has run three times longer than its like, once."""
        if self._waiting or self._paused or not self._seconds:
            return None
        allowed = max(SLOWER * statistics.median(self._seconds), self._patience_s)
        for number, began in running.items():
            is_new = number not in self._copied and not self.tries[number].is_last
            if is_new and now - began > allowed:
                self._copied.add(number)
                return number
        return None

    def has(self, number: int) -> bool:
        return self._finished[number] is not None

    def done(self, number: int, finished: Finished) -> None:
        self._finished[number] = finished
        self._open -= 1
        if not finished.cached:
            self._seconds.append(time.monotonic() - self._began[number])

    def failed(self, number: int, error: Exception) -> None:
        """Put a task back to be tried again, or give it up."""
        tries = self.tries[number]
        if fault_of(error) is Fault.BUILD:
            self._fatal = self._fatal or error
            self._open -= 1 + len(self._waiting) + len(self._paused) + len(self._alone)
            self._waiting.clear()
            self._paused.clear()
            self._alone.clear()
        elif self._fatal is not None or not tries.failed(error):
            self._failures.append(FailedTask(self.tasks[number], error, tries))
            self._open -= 1
        elif fault_of(error) is Fault.WORLD:
            self._paused[number] = time.monotonic() + tries.pause_s
        elif tries.is_last:
            self._alone.append(number)
        else:
            self._waiting.append(number)

    def results(self) -> list[Finished]:
        """Return all results, or raise what went wrong."""
        if self._fatal is not None:
            raise self._fatal
        if self._failures:
            raise PartsFailed(self._failures) from self._failures[0].error
        return [done for done in self._finished if done is not None]


class _Worker:
    """A process that runs one task at a time. Its death is the failure of the task it had."""

    def __init__(self, until: "Synchronized[float]") -> None:
        self.connection, theirs = SPAWNED.Pipe()
        self._process = SPAWNED.Process(target=_serve, args=(theirs, until), daemon=True)
        self._process.start()
        theirs.close()
        self.number: int | None = None
        self.began = 0.0
        self._label = ""

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    @property
    def is_busy(self) -> bool:
        return self.number is not None

    def give(self, number: int, work: tuple[Task, str, FunctionOf]) -> None:
        self.number, self.began = number, time.monotonic()
        self._label = f"{work[0].stage} ({work[0].label})"
        with contextlib.suppress(OSError):  # it died while idle: `answer` tells
            self.connection.send(work)

    def answer(self) -> "Finished | Exception":
        """Return what came of the task."""
        self.number = None
        try:
            found: Finished | Exception = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            how = _ending(self._process.exitcode)
            self.connection.close()
            return EngineError(
                f"a worker process died during {self._label}: {how}; if it was killed for memory, "
                "use fewer --workers"
            )
        return found

    def dismiss(self) -> None:
        """Let an idle one go: it ends when nobody is at the other end."""
        if not self.is_busy:
            self.connection.close()
            self._process.join(FAREWELL_S)

    def kill(self) -> None:
        self.number = None
        self._process.kill()
        self._process.join()
        self.connection.close()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"exit code {code}"


def _serve(connection: Connection, until: "Synchronized[float]") -> None:
    """Run tasks until the engine is gone."""
    _worker_started(until)
    while True:
        try:
            task, store_url, function_of = connection.recv()
        except EOFError:
            return
        answer: Finished | Exception
        try:
            answer = run_task(task, store_url, function_of)
        except Exception as error:
            if not isinstance(error, CorpusError | CatalogError):
                error.place = place_of(error)  # type: ignore[attr-defined]
                error.add_note(traceback.format_exc())  # which does not travel by itself
            answer = error
        try:
            connection.send(answer)
        except (pickle.PicklingError, TypeError, AttributeError):  # an error that cannot travel
            connection.send(EngineError(f"{task.stage} ({task.label}): {type(answer).__name__}"))


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
