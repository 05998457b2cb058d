"""Files on a server, read as if they lay here: https://, or s3://bucket/key.

A file is read in ranges of a few MiB, so no connection stays open while pages are being
extracted, and a transfer that breaks goes on at the byte where it broke. Each request names the
ETag that was pinned: an object that changed is refused, never mixed with the old one.

What may pass (resets, timeouts, short bodies, 403, 429, 5xx) is tried again after a random time
up to a bound that doubles (exponential back-off with full jitter), or after what the server asks
for in Retry-After. The budget is `attempts` for each range, and one more for each MiB that
arrived, so that the number of requests is bounded whatever the server does. When the server
says it is overloaded, all processes of this machine that share the home hold off (`pace`).
"""

import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Self, TypeVar, cast

from corpus_assets.core.errors import AbsentSource, ChangedSource, SourceError
from corpus_assets.ingest.fetch.http import HttpTransport
from corpus_assets.ingest.fetch.pace import Pace
from corpus_assets.ingest.fetch.s3 import S3Transport
from corpus_assets.ingest.fetch.settings import CONNECTIONS, MIB, REQUESTS, FetchSettings
from corpus_assets.ingest.fetch.transport import (
    Changed,
    Limits,
    Missing,
    Refused,
    Stat,
    Transport,
    Trouble,
    host_of,
    shown_url,
)

LONGEST_RETRY_AFTER_S = 300.0
AGAIN = "nothing is lost: run the same command again later, finished parts are kept"

T = TypeVar("T")


class Fetcher:
    """Reads ranges of remote files, patiently and politely.

    `folder` in the home is where all processes agree on their pace; `base` is the recipe's own
    address, which says how far redirects may go. `is_public`: no server of the local network is
    asked, that of `base` included. `tokens` are sent to the hosts that they are for, and to no others.
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
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings
        self._tokens = dict(tokens or {})
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
                f"{shown_url(url)}: has {stat.size} bytes, more than the {max_bytes} such a file may "
                "have; check the address"
            )
        return self.range(url, stat, 0, stat.size)

    def answer(self, url: str, max_bytes: int) -> bytes:
        """Return what a server answers to a question, whose length it need not say before."""
        return self._patiently(
            url, lambda transport: transport.answer(url, max_bytes, self._limits)
        )

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
                self.settings.requests_per_s,
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
                    base, self._one_more, self.settings.allow_http, self._is_public, self._tokens
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
        return ChangedSource(
            f"{shown_url(url)}: has changed since it was pinned ({error}); a snapshot is frozen: "
            "restore the file, or pin it as a new snapshot under another name"
        )
    if isinstance(error, Missing):
        return AbsentSource(
            f"{shown_url(url)}: does not exist ({error}); check the URL and the snapshot's name"
        )
    return SourceError(f"{shown_url(url)}: cannot be read: {error}")


def _given_up(url: str, failures: int, trouble: Trouble) -> str:
    advice = ""
    if trouble.overload:
        advice = f"the server wants fewer requests: lower {REQUESTS} and {CONNECTIONS}; "
    return f"{shown_url(url)}: given up after {failures} attempts ({trouble}); {advice}{AGAIN}"
