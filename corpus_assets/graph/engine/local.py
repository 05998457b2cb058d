"""The local engine: a pool of worker processes on this machine.

Workers are started once and kept for the whole build, since loading the extractor and the
compiled kernels costs seconds. They are spawned, not forked: the parent may hold threads. Each
has a pipe of its own, so that one that dies fails the task it had and no other.
"""

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import cast

from catalog.stopping import expect_no_stop
from corpus_assets.core.errors import EngineError
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine.base import (
    Cleared,
    FunctionOf,
    OnDone,
    answer_of,
    left_until,
    run_task,
    use_one_thread,
)
from corpus_assets.graph.engine.schedule import PATIENCE_S, Schedule

SPAWNED = get_context("spawn")
FAREWELL_S = 10.0
LOOK_S = 1.0  # how soon a worker that was stopped is seen


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

    def run(self, tasks: Sequence[Task], on_done: OnDone) -> None:
        if self.workers == 1 or len(tasks) <= 1:
            run = Schedule(tasks, self.patience_s)
            while (number := run.next(now=math.inf, is_idle=True)) is not None:
                expect_no_stop()
                self._inline(run, number, on_done)
            run.close()
            return
        try:
            self._in_processes(Schedule(tasks, self.patience_s), on_done)
        except BaseException:  # Ctrl-C, or a catalog that cannot be written: native code runs on
            self._kill()
            raise

    def _inline(self, run: Schedule, number: int, on_done: OnDone) -> None:
        time.sleep(run.tries_of(number).pause_s)
        try:
            began, left_s = time.monotonic(), partial(_left_s, self._until)
            done = run_task(run.tasks[number], self.store_url, self.function_of, left_s)
        except Exception as error:
            run.failed(number, error)
        else:
            on_done(number, run.done(number, done, time.monotonic() - began))

    def _in_processes(self, run: Schedule, on_done: OnDone) -> None:
        while run.is_open:
            expect_no_stop()
            self._end_stopped(run)
            self._hand_out(run)
            busy = {worker.connection: worker for worker in self._pool if worker.is_busy}
            for connection in wait(list(busy), timeout=min(run.look_again_s, LOOK_S)):
                worker = busy[cast("Connection", connection)]
                number = worker.number
                answer = worker.answer()
                if number is None or run.has(number):
                    continue  # a second copy, which the first was faster than
                if isinstance(answer, Finished):
                    on_done(number, run.done(number, answer, time.monotonic() - worker.began))
                    self._end_copies(number)
                elif not self._copies(number):
                    run.failed(number, answer)
        run.close()

    def _end_stopped(self, run: Schedule) -> None:
        """Take back the tasks of workers that somebody stopped, and did not let go on."""
        for worker in [w for w in self._pool if w.number is not None and w.is_stopped]:
            number = worker.number
            if number is None or time.monotonic() - worker.began < self.patience_s:
                continue
            worker.kill()
            if not run.has(number) and not self._copies(number):
                run.put_back([number], is_suspect=True)

    def _hand_out(self, run: Schedule) -> None:
        """Give idle workers a task, as long as there are some to start."""
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

    def forget_copies(self) -> list[Cleared]:
        return []  # those of this machine are searched with the home

    def close(self) -> None:
        for worker in self._pool:
            worker.dismiss()
        self._kill()

    def _kill(self) -> None:
        """End the workers at once; what they had not finished does not exist for anybody."""
        for worker in self._pool:
            worker.kill()
        self._pool = []


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
    def is_stopped(self) -> bool:
        return _is_stopped(self._process.pid or 0)

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
        """Let an idle worker go: it ends when its connection is closed."""
        if not self.is_busy:
            self.connection.close()
            self._process.join(FAREWELL_S)

    def kill(self) -> None:
        self.number = None
        self._process.kill()
        self._process.join()
        self.connection.close()


def _is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped (SIGSTOP); never, where there is no /proc."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    return False


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"exit code {code}"


def _serve(connection: Connection, until: "Synchronized[float]") -> None:
    """Run tasks until the engine is gone. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            task, store_url, function_of = connection.recv()
        except EOFError:
            return
        left_s = partial(_left_s, until)
        connection.send(answer_of(task, store_url, function_of, left_s))


def _left_s(until: "Synchronized[float]") -> float:
    return left_until(until.value)


def _leave_with(parent: int) -> None:
    """Exit within a second of the parent's death, so a killed build leaves no strays."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(1.0)
    os._exit(1)
