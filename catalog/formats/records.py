"""Records as source files have them: read one again, by the place where ingest found it.

A WARC or WET record by its byte range, a line of JSON lines, a row of Parquet (as JSON), or a file
of a folder.

A WARC record that shares its gzip member with others has no range of its own. Its offset is where
the member starts plus the inflated bytes before it, and where the member starts is not written
down. So members are walked from the file's beginning: it is read once, as far as the record.
Memory: one record.
"""

import contextlib
import gzip
import http.client
import io
import itertools
import json
import os
import random
import re
import time
import unicodedata
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit

from catalog.errors import SourceUnavailable
from catalog.formats.store import has_credentials, server_address

if TYPE_CHECKING:
    from catalog.db.rows import FileRow


MAX_INFLATED_BYTES = 1 << 30
MAX_FETCHED_BYTES = 64 << 20  # for one record, where it has no range of its own
GZIP = b"\x1f\x8b"
INPUT_BYTES = 1 << 16
OUTPUT_BYTES = 1 << 20
MAX_HEAD_BYTES = 1 << 16
RECORD_END = b"\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.I)

Row = dict[str, Any]  # of the lineage table `documents`
Record = tuple[bytes, bytes]  # as its file has it, and in the open


def read_record(kind: str, file: "FileRow", record: Row) -> Record:
    """Fetch a record from a part of a source of format `kind`; an unknown format is refused."""
    if kind in ("text", "code"):
        data = _member(file, str(record["file"]))
        return data, data
    if kind not in READERS:
        raise SourceUnavailable(
            f"{file.name} has records of format {kind!r}, and this package fetches those of "
            f"{', '.join(sorted([*READERS, 'text', 'code']))}: use the corpus-assets that ingested it"
        )
    with open_source(file.uri, file.bytes, file.digest) as stream:
        return READERS[kind](stream, file, record)


def _archived(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """Read a WARC record by its range."""
    if not record["length"]:
        data = _shared(stream, file, record)
        return data, data
    stream.seek(record["offset"])
    stored = stream.read(record["length"])
    data = _inflated(stored) if stored[:2] == GZIP else stored
    if not data.startswith(b"WARC/") or not _names(data, record["url"]):
        raise SourceUnavailable(
            f"{file.uri} does not hold the record of this document at byte {record['offset']}: it "
            "was changed since it was ingested; restore it"
        )
    return stored, data


def _shared(stream: BinaryIO, file: "FileRow", record: Row) -> bytes:
    """Read a record that has no range of its own; it has no stored form of its own either."""
    if "://" in file.uri.removeprefix("file://") and file.bytes > MAX_FETCHED_BYTES:
        raise SourceUnavailable(
            f"the record at {record['offset']} of {file.name} shares a gzip member with others, so "
            f"all of the file would have to be fetched; download {file.uri} and look into it"
        )
    for data in shared_records(stream, record["offset"], MAX_INFLATED_BYTES):
        if _names(data, record["url"]):
            return data
    raise SourceUnavailable(
        f"{file.uri} does not hold the record of this document at place {record['offset']}: it "
        "was changed since it was ingested; restore it"
    )


def _inflated(stored: bytes) -> bytes:
    inflater = zlib.decompressobj(31)
    try:
        return inflater.decompress(stored, MAX_INFLATED_BYTES)
    except zlib.error as error:
        raise SourceUnavailable(
            "the record's gzip member is damaged; --stored gives it as it is"
        ) from error


def _names(data: bytes, url: str | None) -> bool:
    """Return whether a record is about an address, as far as both say one."""
    head = data.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "warc-target-uri" and url is not None:
            found = unicodedata.normalize("NFC", value.strip().strip("<>"))
            return found == url or "�" in found or "�" in url
    return True


def _line(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """Read a line, counted from 1, of a file that may be compressed."""
    name, number = file.name, record["offset"]
    lines: Any = stream
    if name.endswith(".gz"):
        lines = gzip.GzipFile(fileobj=stream)
    elif name.endswith(".zst"):
        import zstandard

        lines = io.BufferedReader(
            zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        )
    try:
        for line in itertools.islice(lines, number - 1, number):
            return bytes(line), bytes(line)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceUnavailable(f"{name} is damaged before line {number}") from error
    raise SourceUnavailable(f"{name} has no line {number}: it was changed since; restore it")


def _row(stream: BinaryIO, file: "FileRow", record: Row) -> Record:
    """Read a row, counted from 0, of a Parquet file, as a line of JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = record["offset"]
    try:
        table = pq.ParquetFile(stream)
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if number < first + rows:
                found = table.read_row_group(group).slice(number - first, 1).to_pylist()[0]
                line = (json.dumps(found, default=str, ensure_ascii=False) + "\n").encode()
                return line, line
            first += rows
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailable(f"the Parquet file is damaged ({type(error).__name__})") from error
    raise SourceUnavailable(f"the Parquet file has no row {number}: it was changed since")


def _member(file: "FileRow", name: str) -> bytes:
    """Read a file of a folder, not outside it."""
    folder = Path(file.uri.removeprefix("file://")).resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise SourceUnavailable(f"{name} leads out of {folder}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceUnavailable(
            f"the source file {path} cannot be read ({error.strerror}); put it back where it was"
        ) from error


READERS: Mapping[str, Callable[[BinaryIO, "FileRow", Row], Record]] = {
    "warc": _archived,
    "wet": _archived,
    "jsonl": _line,
    "parquet": _row,
}
"""Formats of files whose records have a place in them."""


# -- records that share a gzip member --------------------------------------------------------------


def shared_records(stream: BinaryIO, offset: int, max_bytes: int) -> Iterator[bytes]:
    """Yield the records that may be meant by an offset: one a member that has one at that place."""
    stream.seek(0)
    start, rest = 0, b""
    while start <= offset:
        member = _Member(stream, rest)
        taken = _Taken(offset - start, max_bytes)
        for piece in member.pieces():
            record = taken.add(piece)
            if record is not None:
                yield record
        if not member.bytes:
            return
        start, rest = start + member.bytes, member.rest


class _Member:
    """A gzip member, inflated piece by piece; then its length, and what was read behind it."""

    def __init__(self, stream: BinaryIO, rest: bytes) -> None:
        self._stream = stream
        self.rest = rest
        self.bytes = 0

    def pieces(self) -> Iterator[bytes]:
        inflater = zlib.decompressobj(31)
        while not inflater.eof:
            fresh = b""
            if not inflater.unconsumed_tail:
                fresh, self.rest = self.rest or self._stream.read(INPUT_BYTES), b""
                if not fresh and not self.bytes:
                    return
            try:
                piece = inflater.decompress(inflater.unconsumed_tail or fresh, OUTPUT_BYTES)
            except zlib.error as error:
                raise SourceUnavailable("the file is damaged before the record") from error
            self.bytes += len(fresh)
            if piece:
                yield piece
            elif not fresh and not inflater.unconsumed_tail and not inflater.eof:
                raise SourceUnavailable("the file ends before the record does")
        self.rest = inflater.unused_data
        self.bytes -= len(self.rest)


class _Taken:
    """The record that begins after `skip` bytes of a member, if one does."""

    def __init__(self, skip: int, max_bytes: int) -> None:
        self._skip = skip
        self._max_bytes = max_bytes
        self._data: bytearray | None = bytearray()
        self._end = 0  # 0: not known yet

    def add(self, piece: bytes) -> bytes | None:
        """Take more of the member in; return the record once, when it is whole."""
        if self._data is None:
            return None
        self._data += piece[self._skip :]
        self._skip = max(0, self._skip - len(piece))
        if not self._end:
            self._end = self._find_end(self._data)
        if self._data is None or not self._end or len(self._data) < self._end:
            return None
        record, self._data = bytes(self._data[: self._end]) + RECORD_END, None
        return record

    def _find_end(self, data: bytearray) -> int:
        head_end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
        is_record = b"WARC/".startswith(data[:5])
        if not is_record or (head_end < 0 and len(data) > MAX_HEAD_BYTES):
            self._data = None
            return 0
        if head_end < 0:
            return 0
        length = _LENGTH.search(data, 0, head_end + 2)
        if length is None or int(length.group(1)) > self._max_bytes:
            self._data = None
            return 0
        return head_end + 4 + int(length.group(1))


# -- bytes of source files: here, over https, on S3 ------------------------------------------------


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
    """Return a getter that is tried again a few times after random, growing pauses."""

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
    """Take server and credentials from the AWS_* variables; without credentials nothing is signed."""
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
