"""Bytes of source files, wherever they were when they were ingested: here, over https, on S3.

Only what a look at one record needs: few requests, a handful of attempts, each range checked
against the size and ETag that were pinned.
"""

import contextlib
import http.client
import io
import os
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast
from urllib.parse import urlsplit

from catalog.errors import SourceUnavailable
from catalog.formats.store import has_credentials, server_address

ATTEMPTS = 6
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0
TIMEOUT_S = 60.0
RANGE_BYTES = 1 << 20
PASSING = (403, 408, 425, 429, 500, 502, 503, 504)

GetRange = Callable[[int, int], bytes]


@contextlib.contextmanager
def open_source(
    uri: str, size: int, digest: str, wait: Callable[[float], None] = time.sleep
) -> Iterator[BinaryIO]:
    """A pinned source file as a seekable stream; refused when it is not the pinned one.

    Of a local file the size is compared; its SHA-256 would cost a pass over all of it.
    """
    if uri.startswith(("https://", "http://")):
        pinned = re.fullmatch(r"etag:\d+:(.+)", digest)
        etag = pinned.group(1) if pinned else ""
        get = _patient(lambda start, end: _http_range(uri, start, end, size, etag), uri, wait)
        yield cast(BinaryIO, io.BufferedReader(_Ranged(get, size), RANGE_BYTES))
        return
    if uri.startswith("s3://"):
        get = _patient(_s3_ranges(uri, size, digest), uri, wait)
        yield cast(BinaryIO, io.BufferedReader(_Ranged(get, size), RANGE_BYTES))
        return
    try:
        with open(Path(uri.removeprefix("file://")), "rb") as stream:
            found = os.fstat(stream.fileno()).st_size
            if found != size:
                raise SourceUnavailable(
                    f"{uri} has {found} bytes, ingested were {size}: it was changed since; restore it"
                )
            yield cast(BinaryIO, cast(IO[bytes], stream))
    except OSError as error:
        raise SourceUnavailable(
            f"the source file {uri} cannot be read ({error.strerror}); put it back where it was"
        ) from error


class _Ranged(io.RawIOBase):
    """A file of which every read is a request."""

    def __init__(self, get: GetRange, size: int) -> None:
        super().__init__()
        self._get = get
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        end = min(self._size, self._place + len(buffer))
        if end <= self._place:
            return 0
        data = self._get(self._place, end)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class _Passing(Exception):
    """A failure that may pass."""


def _patient(get: GetRange, uri: str, wait: Callable[[float], None]) -> GetRange:
    """The same, tried again a few times after random, growing pauses."""

    def patient(start: int, end: int) -> bytes:
        for attempt in range(ATTEMPTS):
            try:
                return get(start, end)
            except _Passing as trouble:
                if attempt == ATTEMPTS - 1:
                    raise SourceUnavailable(
                        f"{uri} cannot be read: {trouble}; try again later"
                    ) from trouble
                bound = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**attempt)
                wait(random.random() * bound)  # noqa: S311, spreads requests, no secret
        raise SourceUnavailable(f"{uri} cannot be read; try again later")

    return patient


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Redirects stay on their server: an address in the catalog must not become another one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            raise SourceUnavailable(f"{req.full_url} redirects to another server; it is not read")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _http_range(uri: str, start: int, end: int, size: int, etag: str) -> bytes:
    headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
    if etag and not etag.startswith("W/"):
        headers["If-Match"] = f'"{etag}"'
    request = urllib.request.Request(uri, headers=headers)  # noqa: S310, http(s) by its caller
    opener = urllib.request.build_opener(_SameServer)
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            found = str(answer.headers.get("ETag") or "").removeprefix("W/").strip('"')
            if etag and found and found != etag.removeprefix("W/"):
                raise SourceUnavailable(f"{uri} was changed since it was ingested (ETag {found})")
            if answer.status == 206:
                given = str(answer.headers.get("Content-Range") or "")
                if not re.fullmatch(rf"bytes {start}-{end - 1}/({size}|\*)", given):
                    raise _Passing("another range than was asked for")
                data = answer.read(end - start)
            else:
                data = answer.read(end)[start:]
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 412:
            raise SourceUnavailable(f"{uri} was changed since it was ingested") from error
        if error.code in PASSING:
            raise _Passing(f"HTTP {error.code}") from error
        raise SourceUnavailable(f"{uri} cannot be read: HTTP {error.code}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise _Passing(str(reason)) from error
    if len(data) != end - start:
        raise _Passing("the transfer ended early")
    return bytes(data)


def _s3_ranges(uri: str, size: int, digest: str) -> GetRange:
    """Server and credentials from the AWS_* variables; without credentials nothing is signed."""
    try:
        from obstore.exceptions import BaseError, PreconditionError
        from obstore.store import S3Store
    except ImportError as error:
        raise SourceUnavailable(
            f"{uri} needs an optional part: pip install 'corpus-assets[s3]'"
        ) from error
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    try:
        endpoint = server_address() or ""
    except ValueError as error:
        raise SourceUnavailable(str(error)) from error
    config: dict[str, Any] = {"endpoint": endpoint} if endpoint else {}
    if not has_credentials():
        config["skip_signature"] = True
    options: dict[str, Any] = {"allow_http": endpoint.startswith("http://")}
    client = S3Store(bucket, config=cast(Any, config), client_options=cast(Any, options))
    pinned = re.fullmatch(r"etag:\d+:(.+)", digest)

    def get(start: int, end: int) -> bytes:
        asked: dict[str, Any] = {"range": (start, end)}
        if pinned is not None:
            asked["if_match"] = f'"{pinned.group(1)}"'
        try:
            found = client.get(key, options=cast(Any, asked))
            if found.meta["size"] != size:
                raise SourceUnavailable(f"{uri} was changed since it was ingested")
            return found.bytes().to_bytes()
        except FileNotFoundError:
            raise SourceUnavailable(f"{uri} is not there any more") from None
        except PreconditionError:
            raise SourceUnavailable(f"{uri} was changed since it was ingested") from None
        except (BaseError, OSError):  # its message may name the access key
            raise _Passing("the S3 server does not give it") from None

    return get
