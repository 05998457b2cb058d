"""What an HTTP answer means: is it the object, the range, the length; and if not, what then."""

import http.client
import re
import ssl
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime

from corpus_assets.ingest.fetch.transport import (
    PIECE_BYTES,
    Changed,
    Missing,
    Refused,
    Stat,
    Trouble,
)

OVERLOADED = (403, 429, 503)  # Common Crawl says 403 to those who ask too fast
PASSING = (408, 425, 500, 502, 504, 509)
NEEDS_TOKEN = ("GatedRepo", "RepoNotFound")  # the second for what only some may see, too
LINE_ERRORS = (OSError, http.client.HTTPException)


class HttpAnswer:
    """A response whose body is being read."""

    def __init__(
        self,
        keep: Callable[[http.client.HTTPConnection], None],
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        deadline_s: float,
    ) -> None:
        self._keep = keep
        self._connection: http.client.HTTPConnection | None = connection
        self._response = response
        self._until = time.monotonic() + deadline_s
        self.status = response.status
        self.start = 0
        self.is_whole = response.status == 200
        self._is_sound = True  # its headers agree with each other and with its body
        self._expected: int | None = None

    def header(self, name: str) -> str:
        return (self._response.getheader(name) or "").strip()

    def content_range(self) -> tuple[int, int, int | None]:
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", self.header("content-range"))
        if match is None:
            raise Trouble("an answer without a sound Content-Range")
        total = None if match.group(3) == "*" else int(match.group(3))
        return int(match.group(1)), int(match.group(2)), total

    def check(self, start: int, end: int, stat: Stat) -> None:
        """Is this the object that was pinned, and the range that was asked for?"""
        if self.status == 416:
            raise Trouble("the server reports that the range does not exist (416)")
        if is_other(etag_of(self), stat.etag):
            raise Changed(f"its ETag was {stat.etag}, it is {etag_of(self)}")
        if not stat.etag and stat.modified and self.header("last-modified") != stat.modified:
            raise Changed(f"it was changed at {self.header('last-modified') or 'a later time'}")
        if self.status == 206:
            first, last, total = self.content_range()
            if first != start or last >= end or last < first:
                raise Trouble("the server sent another range than requested")
            if total is not None and total != stat.size:
                if stat.etag:  # the same object with another length: the header lies
                    raise Trouble(f"a length of {total} bytes where {stat.size} were pinned")
                raise Changed(f"it had {stat.size} bytes, it has {total}")
            self.start, self._expected = first, last + 1 - first
            self._is_sound = self.header("content-length") == str(self._expected)
        else:
            self.start, self._expected = 0, end

    def pieces(self) -> Iterator[bytes]:
        """No more than was asked for: a Content-Length that promises more is not waited for."""
        left = self._expected if self._expected is not None else 1
        while left:
            try:
                piece = self._response.read1(min(PIECE_BYTES, left))
            except LINE_ERRORS as error:
                raise Trouble(line_trouble(error)) from error
            if not piece:
                self._is_sound = False
                raise Trouble("the transfer ended early")
            left -= len(piece)
            yield piece
            if left and time.monotonic() > self._until:
                raise Trouble("the transfer is too slow")

    def rest(self, max_bytes: int) -> bytes:
        """Return the whole body, which its headers or its end measure."""
        found = bytearray()
        try:
            while piece := self._response.read1(PIECE_BYTES):
                found += piece
                if len(found) > max_bytes:
                    raise Refused(f"it answers with more than {max_bytes} bytes")
                if time.monotonic() > self._until:
                    raise Trouble("the transfer is too slow")
        except LINE_ERRORS as error:
            raise Trouble(line_trouble(error)) from error
        if self._response.length:  # what was promised and did not come
            self._is_sound = False
            raise Trouble("the transfer ended early")
        return bytes(found)

    def close(self) -> None:
        """Keep the connection where the body was read to its end; else it cannot be used again."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._is_sound and self._response.length == 0:
            self._response.read()  # nothing is left; this lets go of the connection
        if self._is_sound and self._response.isclosed() and not self._response.will_close:
            self._keep(connection)
        else:
            self._response.close()
            connection.close()


def is_other(found: str, pinned: str) -> bool:
    """Whether two ETags are both there and differ, weakness aside."""
    return bool(found and pinned) and found.removeprefix("W/") != pinned.removeprefix("W/")


def etag_of(answer: HttpAnswer) -> str:
    raw = answer.header("etag")
    weak = "W/" if raw.startswith("W/") else ""
    plain = raw.removeprefix("W/").strip('"')
    return weak + plain if plain and re.fullmatch(r"[\x21\x23-\x7e]{1,200}", plain) else ""


def failure(answer: HttpAnswer) -> Exception:
    status = answer.status
    if status in (404, 410):
        return Missing(f"HTTP {status}")
    if answer.header("x-error-code") in NEEDS_TOKEN:  # as the Hugging Face hub has it
        return Refused(
            f"HTTP {status}: accept its conditions on its page, and set HF_TOKEN to your token"
        )
    if status == 412:
        return Changed("the server reports a change (412)")
    if status in OVERLOADED or status in PASSING or status > 509:
        reason = {403: "403 access denied", 429: "429 too many requests", 503: "503 slow down"}
        text = reason.get(status, f"HTTP {status}")
        return Trouble(text, status in OVERLOADED, _retry_after(answer.header("retry-after")))
    return Refused(f"HTTP {status}")


def _retry_after(value: str) -> float | None:
    """Seconds, or the time until a date; None where there is neither."""
    if value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def line_trouble(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"a broken answer ({type(error).__name__})"
