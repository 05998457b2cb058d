"""Ranged GET requests to S3, Amazon's or any compatible server, through obstore.

Server and credentials come from the usual AWS_* variables; without credentials requests are not
signed, which is how public buckets such as `commoncrawl` are read. The client's own retries are
off: `fetcher.Fetcher` decides when to ask again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from catalog.formats import s3
from corpus_assets.core.errors import MissingExtra, SourceError
from corpus_assets.ingest.fetch.http_answer import OVERLOADED, is_other
from corpus_assets.ingest.fetch.transport import (
    PIECE_BYTES,
    Changed,
    Limits,
    Missing,
    OneMore,
    Refused,
    Stat,
    Trouble,
    host_of,
    shown_url,
)

NOT_SIGNED = (
    "; requests are not signed, since AWS_ACCESS_KEY_ID is not set: set it, or AWS_PROFILE, if the "
    "bucket is not public"
)
PAGE_KEYS = 1000  # what S3 gives a request


class S3Transport:
    """Clients are made on first use, one a bucket."""

    def __init__(self, one_more: OneMore) -> None:
        self._one_more = one_more
        self._clients: dict[str, Any] = {}

    def stat(self, url: str, limits: Limits) -> Stat:
        client, key = self._at(url, limits)
        with _explained():
            return _stat(client.head(key))

    def get(self, url: str, start: int, end: int, stat: Stat, limits: Limits) -> "S3Answer":
        client, key = self._at(url, limits)
        options: dict[str, Any] = {"range": (start, end)}
        if stat.etag and not stat.etag.startswith("W/"):
            options["if_match"] = f'"{stat.etag}"'
        with _explained():
            found = client.get(key, options=options)
            now = _stat(found.meta)
            if is_other(now.etag, stat.etag):
                raise Changed(f"its ETag was {stat.etag}, it is {now.etag}")
            if now.size != stat.size:
                raise Changed(f"it had {stat.size} bytes, it has {now.size}")
            first, last = found.range
            if first != start or last != end:
                raise Trouble("the server sent another range than requested")
        return S3Answer(start, lambda: found.stream(min_chunk_size=PIECE_BYTES))

    def answer(self, url: str, max_bytes: int, limits: Limits) -> bytes:
        raise Refused("S3 answers no questions; use an https:// address")

    def listed(self, url: str) -> Iterator[tuple[str, Stat]]:
        """Objects below a prefix, a thousand a request, and a turn for each request."""
        client, key = self._at(url, Limits())
        prefix = key.rstrip("/")
        with _explained():
            for page in client.list(prefix or None, chunk_size=PAGE_KEYS):
                for meta in page:
                    name = meta["path"].removeprefix(prefix).lstrip("/")
                    yield name, _stat(meta)
                if len(page) == PAGE_KEYS:  # else it was the last
                    self._one_more(url)

    def folders(self, url: str) -> list[str]:
        client, key = self._at(url, Limits())
        with _explained():
            found = client.list_with_delimiter(key.rstrip("/") or None)
        return [prefix.rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"]]

    def close(self) -> None:
        self._clients.clear()

    def _at(self, url: str, limits: Limits) -> tuple[Any, str]:
        host_of(url)
        bucket, _, key = url.removeprefix("s3://").partition("/")
        if ".." in key.split("/") or "?" in key or "#" in key:
            raise SourceError(f"{shown_url(url)}: not an address of the form s3://bucket/key")
        try:
            s3.refuse_after_fork()
        except ValueError as error:
            raise SourceError(str(error)) from None
        if bucket not in self._clients:
            self._clients[bucket] = _connect(bucket, limits)
        return self._clients[bucket], key


class S3Answer:
    """An answer whose body is being read."""

    def __init__(self, start: int, stream: Callable[[], Any]) -> None:
        self.start = start
        self.is_whole = False
        self._stream = stream

    def pieces(self) -> Iterator[bytes]:
        with _explained():
            for piece in self._stream():
                yield bytes(piece)

    def close(self) -> None:
        """The client closes what is not read any more."""


def _connect(bucket: str, limits: Limits) -> Any:
    try:
        return s3.connect(bucket, retries=0, timeout_s=limits.timeout_s)
    except ImportError as error:
        raise MissingExtra(
            "files on S3 need an optional part: pip install 'corpus-assets[s3]'"
        ) from error
    except ValueError as error:
        raise SourceError(str(error)) from None


def _stat(meta: Any) -> Stat:
    etag = str(meta["e_tag"] or "")
    weak = "W/" if etag.startswith("W/") else ""
    modified = meta["last_modified"].isoformat() if meta.get("last_modified") else ""
    return Stat(int(meta["size"]), weak + etag.removeprefix("W/").strip('"'), modified)


@contextmanager
def _explained() -> Iterator[None]:
    """Open the client's errors as ours. Their cause is cut off: it quotes the server's answer,
    which names the access key."""
    from obstore import exceptions

    try:
        yield
    except FileNotFoundError as error:
        bucket = "NoSuchBucket" in str(error)
        raise Missing("there is no such bucket" if bucket else "HTTP 404") from None
    except exceptions.PreconditionError:
        raise Changed("the server reports a change (412)") from None
    except (exceptions.BaseError, OSError) as error:
        raise _failure(s3.fault_of(error)) from None


def _failure(fault: s3.Fault) -> Exception:
    if fault.wrong_credentials:
        return Refused(f"the server does not accept the credentials ({fault.code}); check AWS_*")
    if fault.wrong_region:
        return Refused("the bucket is in another region; set AWS_REGION")
    number = fault.status
    if number == 401 or (400 <= number < 500 and number not in (403, 408, 425, 429)):
        return Refused(fault.shown)
    if number:
        unsigned = NOT_SIGNED if number == 403 and not s3.has_credentials() else ""
        return Trouble(fault.shown + unsigned, number in OVERLOADED or fault.code == "SlowDown")
    return Trouble("no answer" if fault.unreachable else "the transfer broke")
