"""Ranges of remote files, fetched patiently and at one pace for all processes of a machine."""

import fcntl
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self, TypeVar, cast

from corpus_assets.core.errors import AbsentSource, SourceError
from corpus_assets.ingest.fetch.http import HttpTransport
from corpus_assets.ingest.fetch.s3 import S3Transport
from corpus_assets.ingest.fetch.transport import (
    MIB,
    Changed,
    FetchSettings,
    Limits,
    Missing,
    Refused,
    Stat,
    Transport,
    Trouble,
    host_of,
    shown,
)

# One pace for all processes of a machine that ask the same server from the same home.
#
# Two files a server in a folder of the home, guarded by file locks, which the system releases when
# a process dies:
#
# - `*.turn` holds the time of the next free turn, and the time until which nobody asks. Whoever
#   wants to ask takes the first and moves it on by 1 / requests_per_second. A server that asks for
#   time moves both on for everybody, those included who have a turn and wait for it.
# - `*.line-N` is locked while connection N is in use.
#
# Times are the system's monotonic clock, which all processes of a machine share; one from before
# a restart is at most `LONGEST_S` ahead and is then overwritten.

LONGEST_S = 600.0
POLL_S = 0.05

_TIMES = re.compile(r"(\d+(?:\.\d+)?)(?: (\d+(?:\.\d+)?))?")


class Pace:
    """The pace of one server. `folder` None: this process has it alone (nothing is written)."""

    def __init__(
        self,
        folder: Path | None,
        server: str,
        requests_per_second: float,
        connections: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        random: Callable[[], float],
    ) -> None:
        name = re.sub(r"[^a-z0-9.-]", "_", server.lower())[:100]
        self._folder = folder
        self._name = name
        self._between = 1.0 / requests_per_second
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
        """Nobody asks this server for a while."""
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


# Files on a server, read as if they lay here: https://, or s3://bucket/key.
#
# A file is read in ranges of a few MiB, so no connection stays open while pages are being
# extracted, and a transfer that breaks goes on at the byte where it broke. Each request names the
# ETag that was pinned: an object that changed is refused, never mixed with the old one.
#
# What may pass (resets, timeouts, short bodies, 403, 429, 5xx) is tried again after a random time
# up to a bound that doubles (exponential back-off with full jitter), or after what the server asks
# for in Retry-After. The budget is `attempts` for each range, and one more for each MiB that
# arrived, so that the number of requests is bounded whatever the server does. When the server
# says it is overloaded, all processes of this machine that share the home hold off.

LONGEST_RETRY_AFTER_S = 300.0
AGAIN = "nothing is lost: run the same command again later, finished parts are kept"

T = TypeVar("T")


class Fetcher:
    """Reads ranges of remote files, patiently and politely.

    `folder` in the home is where all processes agree on their pace; `base` is the recipe's own
    address, which says how far redirects may go. `is_public`: no server of the local network is
    asked, that of `base` included.
    """

    def __init__(
        self,
        settings: FetchSettings,
        folder: Path | None,
        base: str,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] | None = None,
        is_public: bool = False,
    ) -> None:
        self.settings = settings
        self._is_public = is_public
        self.folder = folder
        self.ignores_ranges = False  # met once: files are then fetched in one piece
        self._limits = Limits(settings.timeout_s)
        self._base = base
        self._clock = clock
        self._sleep = sleep
        self._draw = draw or random.Random().random  # noqa: S311, spreads requests, no secret
        self._transports: dict[str, Transport] = {}
        self._paces: dict[str, Pace] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of idle connections; the next request opens new ones."""
        for transport in self._transports.values():
            transport.close()

    # Questions.

    def stat(self, url: str) -> Stat:
        """Size and ETag of a file; one request."""
        return self._patiently(url, lambda transport: transport.stat(url, self._limits))

    def listed(self, url: str) -> list[tuple[str, Stat]]:
        """Return what lies below an s3 prefix: (name relative to it, stat), in name order."""
        return sorted(self._patiently(url, lambda transport: list(transport.listed(url))))

    def folders(self, url: str) -> list[str]:
        """Names of the folders right below an s3 prefix."""
        return self._patiently(url, lambda transport: sorted(transport.folders(url)))

    def read(self, url: str, max_bytes: int) -> bytes:
        """Return a whole small file: a list."""
        stat = self.stat(url)
        if stat.size > max_bytes:
            raise SourceError(
                f"{shown(url)}: has {stat.size} bytes, more than the {max_bytes} such a file may "
                "have; check the address"
            )
        return self.range(url, stat, 0, stat.size)

    def range(self, url: str, stat: Stat, start: int, end: int) -> bytes:
        """Bytes [start, end) of the object that `stat` describes."""
        found = bytearray()
        self.pull(url, stat, start, end, found.extend)
        return bytes(found)

    def pull(
        self, url: str, stat: Stat, start: int, end: int, take: Callable[[bytes], object]
    ) -> None:
        """Hand the bytes [start, end) to `take`, in order, each once, however often it breaks."""
        patience = _Patience(self.settings)
        place = start
        while place < end:
            before = place
            try:
                with self._pace(url).turn():
                    answer = self._transport(url).get(url, place, end, stat, self._limits)
                    try:
                        position = answer.start
                        self.ignores_ranges |= answer.is_whole and end - place < stat.size
                        for piece in answer.pieces():
                            fresh = piece[max(0, place - position) :][: end - place]
                            position += len(piece)
                            if fresh:
                                take(fresh)
                                place += len(fresh)
                    finally:
                        answer.close()
                if place < end:
                    raise Trouble("the transfer ended early")
            except Trouble as trouble:
                patience.got(place - before)
                self._wait(url, patience, trouble)
            except (Changed, Missing, Refused) as error:
                raise _final(url, error) from error

    def spool(self) -> IO[bytes]:
        """Return a nameless file on disk that goes when it is closed."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        return cast(IO[bytes], tempfile.TemporaryFile(dir=self.folder))

    # Patience.

    def _patiently(self, url: str, ask: Callable[[Transport], T]) -> T:
        patience = _Patience(self.settings)
        while True:
            try:
                with self._pace(url).turn():
                    return ask(self._transport(url))
            except Trouble as trouble:
                self._wait(url, patience, trouble)
            except (Changed, Missing, Refused) as error:
                raise _final(url, error) from error

    def _wait(self, url: str, patience: "_Patience", trouble: Trouble) -> None:
        delay = patience.next_delay(self._draw())
        if delay is None:
            raise SourceError(_given_up(url, patience.failures, trouble)) from trouble
        if trouble.retry_after_s is not None:
            delay = max(delay, min(trouble.retry_after_s, LONGEST_RETRY_AFTER_S))
        if trouble.overload:
            self._pace(url).hold_off(delay)
        self._sleep(delay)

    def _pace(self, url: str) -> Pace:
        server = host_of(url)
        if server not in self._paces:
            self._paces[server] = Pace(
                self.folder,
                server,
                self.settings.requests_per_second,
                self.settings.connections,
                self._clock,
                self._sleep,
                self._draw,
            )
        return self._paces[server]

    def _one_more(self, url: str) -> None:
        """A turn for a further request inside one: on the connection that is held already."""
        self._pace(url).wait()

    def _transport(self, url: str) -> Transport:
        kind = "s3" if url.startswith("s3://") else "http"
        if kind not in self._transports:
            if kind == "s3":
                self._transports[kind] = S3Transport(self._one_more)
            else:
                base = self._base if self._base.startswith("http") else url
                self._transports[kind] = HttpTransport(
                    base, self._one_more, self.settings.allow_http, self._is_public
                )
        return self._transports[kind]


class _Patience:
    """The budget of failures for one range, refilled by bytes that arrive."""

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._budget = float(settings.attempts)
        self._row = 0  # failures without a byte in between
        self.failures = 0

    def got(self, size: int) -> None:
        if size:
            self._row = 0
            self._budget = min(float(self._settings.attempts), self._budget + size / MIB)

    def next_delay(self, draw: float) -> float | None:
        """How long to wait before the next attempt; None when there is none."""
        self.failures += 1
        self._budget -= 1
        if self._budget <= 0:
            return None
        bound = min(
            self._settings.max_wait_s, self._settings.first_wait_s * 2.0 ** min(self._row, 60)
        )
        self._row += 1
        return draw * bound


def _final(url: str, error: Exception) -> SourceError:
    if isinstance(error, Changed):
        return SourceError(
            f"{shown(url)}: was changed since it was pinned ({error}); a snapshot is frozen: "
            "restore the file, or pin it as a new snapshot under another name"
        )
    if isinstance(error, Missing):
        return AbsentSource(
            f"{shown(url)}: is not there ({error}); check the address and the snapshot's name"
        )
    return SourceError(f"{shown(url)}: cannot be read: {error}")


def _given_up(url: str, failures: int, trouble: Trouble) -> str:
    advice = ""
    if trouble.overload:
        advice = "the server wants fewer requests: lower requests_per_second and connections; "
    return f"{shown(url)}: given up after {failures} attempts ({trouble}); {advice}{AGAIN}"
