"""What to run next, whatever engine runs it: which tasks wait, pause or have to be alone, how often
each was tried, which are slower than their like."""

import math
import statistics
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine.tries import FailedTask, Fault, PartsFailed, Tries, fault_of

SLOWER = 3  # than the median of its like: when nothing else is to do, a task is started again
PATIENCE_S = 30.0  # that it has run at least
ALONE_PATIENCE_S = 3600.0  # with none of its like done, to compare with
BEGIN_PATIENCE_S = 90.0  # that it has not begun; by then a cluster knows which nodes it lost
MEASURED = 500  # of the tasks done last, to tell how long one takes
LARGEST_BATCH = 200


class Schedule:
    """The tasks of one run: which wait, how often each was tried, which are done. What is held of
    a task without a story is its number."""

    def __init__(self, tasks: Sequence[Task], patience_s: float) -> None:
        self.tasks = tasks
        self._tries: dict[int, Tries] = {}  # of those that failed
        self._patience_s = patience_s
        self._done = bytearray(len(tasks))
        self._waiting = deque(range(len(tasks)))
        self._paused: dict[int, float] = {}  # until when
        self._alone: deque[int] = deque()  # their last try
        self._open = len(tasks)
        self._failures: list[FailedTask] = []
        self._fatal: Exception | None = None
        self._seconds: deque[float] = deque(maxlen=MEASURED)  # of tasks that were run
        self._all_seconds: deque[float] = deque(maxlen=MEASURED)  # and of those that were found
        self._copied: set[int] = set()
        self._single: set[int] = set()

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
        return self._waiting.popleft()

    def next_batch(self, now: float, is_idle: bool, batch_s: float, slots: int) -> list[int]:
        """Take as many tasks as fill `batch_s` by what those before them took, and leave enough for
        all `slots`. One that failed before, or is still unmeasured, is taken by itself."""
        first = self.next(now, is_idle)
        if first is None:
            return []
        found = [first]
        if self._all_seconds and self._is_fresh(first):
            mean = statistics.fmean(self._all_seconds)
            size = min(
                math.ceil(batch_s / max(mean, batch_s / LARGEST_BATCH)),
                math.ceil((len(self._waiting) + 1) / slots),
            )
            while len(found) < size and self._is_fresh(self._waiting[0]):
                found.append(self._waiting.popleft())
        return found

    def _is_fresh(self, number: int) -> bool:
        return number not in self._tries and number not in self._single

    def put_back(self, numbers: Sequence[int], is_suspect: bool = False) -> None:
        """Let tasks wait again that were taken and not tried, or whose results were lost with
        another task of their batch: `is_suspect` ones are taken singly from now on."""
        if self._fatal is not None:
            self._open -= len(numbers)
            return
        self._waiting.extendleft(reversed(numbers))
        if is_suspect:
            self._single.update(numbers)

    def straggler(
        self, running: Mapping[int, float], now: float, not_begun: Mapping[int, float] | None = None
    ) -> int | None:
        """Return a task that has run three times longer than its like, or one that went out long
        ago and has not begun; each once."""
        if self._waiting or self._paused:
            return None
        allowed = ALONE_PATIENCE_S
        if self._seconds:
            allowed = max(SLOWER * statistics.median(self._seconds), self._patience_s)
        late = [
            number
            for number, began in running.items()
            if now - began > allowed and not self.tries_of(number).is_last  # that one is alone
        ]
        late += [n for n, sent in (not_begun or {}).items() if now - sent > BEGIN_PATIENCE_S]
        for number in late:
            if number not in self._copied:
                self._copied.add(number)
                return number
        return None

    def tries_of(self, number: int) -> Tries:
        """How often a task failed so far."""
        return self._tries.get(number, Tries())

    def has(self, number: int) -> bool:
        return bool(self._done[number])

    def done(self, number: int, finished: Finished, seconds: float) -> Finished:
        """Note a result; return it with how often it was tried."""
        tries = self._tries.pop(number, Tries())
        finished = replace(finished, tries=1 + tries.own + tries.world)
        self._done[number] = True
        self._open -= 1
        self._all_seconds.append(seconds)
        if not finished.cached:
            self._seconds.append(seconds)
        return finished

    def failed(self, number: int, error: Exception) -> None:
        """Put a task back to be tried again, or give it up."""
        tries = self._tries.setdefault(number, Tries())
        if fault_of(error) is Fault.BUILD:
            self._fatal = self._fatal or error
            self._open -= 1 + len(self._waiting) + len(self._paused) + len(self._alone)
            self._waiting.clear()
            self._paused.clear()
            self._alone.clear()
        elif self._fatal is not None or not tries.failed(error):
            self._failures.append(FailedTask(self.tasks[number], error, tries, number))
            self._open -= 1
        elif fault_of(error) is Fault.WORLD:
            self._paused[number] = time.monotonic() + tries.pause_s
        elif tries.is_last:
            self._alone.append(number)
        else:
            self._waiting.append(number)

    def close(self) -> None:
        """Raise what went wrong, if anything did."""
        if self._fatal is not None:
            raise self._fatal
        if self._failures:
            raise PartsFailed(self._failures) from self._failures[0].error
