"""The HTTP message inside a web archive record: head, transfer and content coding.

Crawlers often store a body already decoded and leave the header that says otherwise. So a body
that does not even begin as its header claims is taken as it is; one that begins so and then
breaks is `bad_http`. Output is bounded: no body grows past `limit` bytes.
"""

import re
import zlib
from typing import NamedTuple

import brotli
import zstandard

Headers = tuple[tuple[str, str], ...]

CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]{0,256})?\r?\n")
CHUNK_END = re.compile(rb"\r?\n")
MAX_CODINGS = 8  # one on top of the other
MAX_MEMBERS = 1000

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?\s+(\d{3})")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_BLANK = " \t\n\r\v\f"
_CODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd")


class HttpHead(NamedTuple):
    status: int
    headers: Headers
    body_start: int


class BadHttp(Exception):
    """The body is not what its own headers say; the message is a word, never content."""


class BodyTooLarge(Exception):
    """The decoded body is larger than allowed."""


def parse_head(block: bytes | memoryview) -> HttpHead | None:
    """Status and headers of a response; None when it does not begin like one."""
    status = _STATUS.match(block)
    if status is None:
        return None
    end = _HEAD_END.search(block)
    head = bytes(block[: end.start()] if end else block)
    headers = _folded_headers(head) if b"\n " in head or b"\n\t" in head else _headers(head)
    return HttpHead(int(status[1]), tuple(headers), end.end() if end else len(block))


def _headers(head: bytes) -> list[tuple[str, str]]:
    if head.isascii():  # decoded at once; else each value may be in a charset of its own
        texts = [line.partition(":") for line in head.decode("ascii").split("\n")[1:]]
        return [
            (name.strip(_BLANK).lower(), value.strip(_BLANK))
            for name, colon, value in texts
            if colon
        ]
    lines = [line.partition(b":") for line in head.split(b"\n")[1:]]
    return [
        (_decode(name.strip()).lower(), _decode(value.strip()))
        for name, colon, value in lines
        if colon
    ]


def _folded_headers(head: bytes) -> list[tuple[str, str]]:
    """Return a line that begins with a blank goes on with the value before it."""
    headers: list[tuple[str, str]] = []
    for line in head.split(b"\n")[1:]:
        if line[:1] in (b" ", b"\t") and headers:
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {_decode(line.strip())}")
        else:
            headers += _headers(b"\n" + line)
    return headers


def decode_body(body: bytes, transfer_coding: str, content_coding: str, limit: int) -> bytes:
    """Return the payload: `body` without its transfer and content codings."""
    if "chunked" in transfer_coding.lower():
        body = _dechunk(body)
    names = [name.strip() for name in content_coding.lower().split(",")]
    known = [name for name in names if name in _CODINGS]
    if len(known) > MAX_CODINGS:
        raise BadHttp("codings")
    for name in reversed(known):
        body = _decompress(body, name, limit)
    return body


def _dechunk(body: bytes) -> bytes:
    at = 0
    chunks: list[bytes] = []
    while True:
        size = CHUNK_SIZE.match(body, at)
        length = int(size[1], 16) if size else 0
        if size is not None and length == 0:
            return b"".join(chunks)
        start = size.end() if size else at
        end = CHUNK_END.match(body, start + length)
        if size is None or end is None:
            if at == 0:
                return body  # not chunked at all: the crawler has taken the chunks off
            raise BadHttp("chunked")
        chunks.append(body[start : start + length])
        at = end.end()


def _decompress(body: bytes, coding: str, limit: int) -> bytes:
    if not body:
        return body
    try:
        if coding in ("gzip", "x-gzip"):
            return _inflate(body, 31, limit) if body[:2] == b"\x1f\x8b" else body
        if coding == "deflate":
            try:
                return _inflate(body, 15, limit)
            except (zlib.error, BadHttp):
                return _inflate(body, -15, limit)
        if coding == "zstd":
            return _unzstd(body, limit) if body[:4] == b"\x28\xb5\x2f\xfd" else body
        return _unbrotli(body, limit)
    except (zlib.error, zstandard.ZstdError, brotli.error, BadHttp) as error:
        if body.lstrip()[:1] == b"<" and coding in ("deflate", "br"):
            return body  # markup: the crawler has decoded it already
        raise BadHttp(coding) from error


def _inflate(body: bytes, window_bits: int, limit: int) -> bytes:
    """Inflate all members of a zlib, gzip or raw deflate body.

    Servers send one member. More cost a copy of the rest each, so they are few, or not taken.
    """
    out: list[bytes] = []
    left = limit
    for _ in range(MAX_MEMBERS):
        inflater = zlib.decompressobj(window_bits)
        piece = inflater.decompress(body, left + 1)
        if len(piece) > left:
            raise BodyTooLarge
        if not inflater.eof:
            raise BadHttp("truncated")
        out.append(piece)
        left -= len(piece)
        body = inflater.unused_data
        if window_bits != 31 or body[:2] != b"\x1f\x8b":
            return b"".join(out)
    raise BadHttp("members")


def _unzstd(body: bytes, limit: int) -> bytes:
    inflater = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with inflater.stream_reader(body, read_across_frames=True) as reader:
        out: bytes = reader.read(limit + 1)
    if len(out) > limit:
        raise BodyTooLarge
    return out


def _unbrotli(body: bytes, limit: int) -> bytes:
    inflater = brotli.Decompressor()
    out: list[bytes] = []
    size = 0
    piece = inflater.process(body, output_buffer_limit=1 << 16)
    while True:
        out.append(piece)
        size += len(piece)
        if size > limit:
            raise BodyTooLarge
        if inflater.is_finished():
            return b"".join(out)
        if not piece and inflater.can_accept_more_data():
            raise BadHttp("truncated")
        piece = inflater.process(b"", output_buffer_limit=1 << 16)


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
