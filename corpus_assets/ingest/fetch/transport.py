"""One request for a range of a remote file, and what its answer means.

A transport makes a request once and never tries again: that is `fetcher.Fetcher`'s work, so that
one place decides how patient and how polite we are. Where one question takes several requests
(redirects, pages of a listing), it asks for a turn before each but the first: `OneMore`. What can
go wrong has four names:

| raised | meaning | what helps |
|---|---|---|
| `Trouble` | the server or the line is unwell: resets, timeouts, 403, 429, 5xx, short bodies | time |
| `Changed` | the object is not the one that was pinned | nothing: it is refused |
| `Missing` | there is no such object | another address |
| `Refused` | the server or we will not have it: 401, 400, a redirect to a private address | settings |
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from corpus_assets.core.errors import SourceError

PIECE_BYTES = 1 << 16

OneMore = Callable[[str], None]
"""Waits until the server of an address may be asked once more."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What a server says of an object. `etag` is without quotes; weak ones start with `W/`."""

    size: int
    etag: str = ""
    modified: str = ""  # Last-Modified as the server wrote it


class Trouble(Exception):
    """A failure that may pass. `overload`: the server asks everybody to slow down."""

    def __init__(
        self, message: str, overload: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.overload = overload
        self.retry_after_s = retry_after_s


class Changed(Exception):
    """The object is not the pinned one any more."""


class Missing(Exception):
    """There is no such object."""


class Refused(Exception):
    """Trying again would not help."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one request may take: `timeout_s` without a byte, and a slowest average speed."""

    timeout_s: float = 60.0
    slowest_bytes_per_s: float = 16 << 10

    def deadline_s(self, size: int) -> float:
        return self.timeout_s + size / self.slowest_bytes_per_s


class Answer(Protocol):
    """An answer's bytes from `start` on. `is_whole`: the server gives all of the file, as one
    that ignores ranges does."""

    start: int
    is_whole: bool

    def pieces(self) -> Iterator[bytes]:
        """Return the bytes as they come; `Trouble` where they end early."""
        ...

    def close(self) -> None: ...


class Transport(Protocol):
    """One way to reach objects by URL."""

    def stat(self, url: str, limits: Limits) -> Stat: ...

    def get(self, url: str, start: int, end: int, stat: Stat, limits: Limits) -> Answer:
        """Bytes [start, end) of the object that `stat` describes."""
        ...

    def answer(self, url: str, max_bytes: int, limits: Limits) -> bytes:
        """Return a whole answer of unknown length; `Refused` where it is longer than that."""
        ...

    def listed(self, url: str) -> Iterator[tuple[str, Stat]]:
        """Objects below a prefix as (name relative to it, stat), where the protocol can list."""
        ...

    def folders(self, url: str) -> list[str]:
        """Names of the folders right below a prefix, likewise."""
        ...

    def close(self) -> None:
        """Let go of idle connections."""
        ...


def host_of(url: str) -> str:
    """Server of an http(s) URL, bucket of an s3 one; `SourceError` for anything that is neither.

    Addresses come from recipes and from lists that a server gave us, so they are looked at
    before anything is sent: no user info (a password would end in logs), no control characters,
    a host name and a port that there can be.
    """
    match = re.fullmatch(r"(https?|s3)://([^/?#@\s\\]+)((?:/[^\x00-\x20\x7f\\]*)?)", url)
    if match is None or not _has_possible_server(url):
        raise SourceError(
            f"{shown_url(url)}: not an address of the form https://host/path or s3://bucket/key; "
            "correct it in the recipe"
        )
    return match.group(2).lower()


def _has_possible_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        return parts.port != 0
    except ValueError:  # a part of the name that is too long, a port of six digits
        return False


def is_remote(uri: str) -> bool:
    return uri.startswith(("https://", "http://", "s3://"))


def shown_url(url: str) -> str:
    """Return an address for messages: without user info and query, where secrets would be."""
    plain = re.sub(r"^(\w+://)[^/]*@", r"\1", url)
    return re.sub(r"[?#].*$", "", re.sub(r"[\x00-\x20\x7f]", "?", plain))[:300]
