"""One pace for all processes of a machine that ask the same server from the same home.

Two files a server in a folder of the home, guarded by file locks, which the system releases when
a process dies:

- `*.turn` holds the time of the next free turn, and the time until which no process asks. Whoever
  wants to ask takes the first and moves it on by 1 / requests_per_s. A server that asks for
  time moves both on for everybody, those included who have a turn and wait for it.
- `*.line-N` is locked while connection N is in use.

Times are the system's monotonic clock, which all processes of a machine share; one from before
a restart is at most `LONGEST_S` ahead and is then overwritten.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus_assets.core.errors import SourceError

LONGEST_S = 600.0
POLL_S = 0.05

_TIMES = re.compile(r"(\d+(?:\.\d+)?)(?: (\d+(?:\.\d+)?))?")


class Pace:
    """The pace of one server. `folder` None: this process has it alone (nothing is written)."""

    def __init__(
        self,
        folder: Path | None,
        server: str,
        requests_per_s: float,
        connections: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        random: Callable[[], float],
    ) -> None:
        name = re.sub(r"[^a-z0-9.-]", "_", server.lower())[:100]
        self._folder = folder
        self._name = name
        self._between = 1.0 / requests_per_s
        self._connections = connections
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._times = (0.0, 0.0)
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise SourceError(
                    f"cannot make {folder}: {error.strerror}; check the home"
                ) from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a free connection, then for the next turn; hold the connection inside."""
        with self._line():
            self.wait()
            yield

    def wait(self) -> None:
        """Wait for the next turn, and for another one where a hold-off has come over it."""
        while True:
            at, _ = self._move(lambda free, held: (free + self._between, held))
            now = self._clock()
            if at > now:
                self._sleep(at - now)
            _, held = self._move(lambda free, held: (free, held))
            if held <= max(at, self._clock()):
                return

    def hold_off(self, seconds: float) -> None:
        """Send no request to this server for a while, from any process."""
        until = self._clock() + min(seconds, LONGEST_S)
        self._move(lambda free, held: (max(free, until), max(held, until)))

    def _move(self, step: Callable[[float, float], tuple[float, float]]) -> tuple[float, float]:
        """Take the next free turn (not in the past) and the end of the hold-off, write what
        follows them; both under the lock."""
        if self._folder is None:
            taken = (max(self._times[0], self._clock()), self._times[1])
            self._times = step(*taken)
            return taken
        descriptor = self._open(f"{self._name}.turn")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            now = self._clock()
            text = os.pread(descriptor, 64, 0).decode("ascii", "replace").strip()
            stored = _TIMES.fullmatch(text)
            times = [float(time or 0) for time in stored.groups()] if stored else [0.0, 0.0]
            free, held = (time if time <= now + LONGEST_S else 0.0 for time in times)
            taken = (max(now, free), held)
            after = step(*taken)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, "{:.6f} {:.6f}".format(*after).encode(), 0)
            return taken
        finally:
            os.close(descriptor)

    @contextmanager
    def _line(self) -> Iterator[None]:
        if self._folder is None:
            yield
            return
        descriptor = self._take_line()
        try:
            yield
        finally:
            os.close(descriptor)

    def _take_line(self) -> int:
        """Return a lock on one of the connections' files; looks again, not too often, until one is
        free."""
        while True:
            first = int(self._random() * self._connections)
            for i in range(self._connections):
                number = (first + i) % self._connections
                descriptor = self._open(f"{self._name}.line-{number}")
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(descriptor)
                else:
                    return descriptor
            self._sleep(POLL_S * (1 + self._random()))

    def _open(self, name: str) -> int:
        if self._folder is None:  # unreachable: callers look first
            raise SourceError("a pace without a folder has no files")
        try:
            return os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SourceError(
                f"cannot open {self._folder / name}: {error.strerror}; check the home"
            ) from error
