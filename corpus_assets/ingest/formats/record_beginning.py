"""The beginning of a response whose body is too large or whose coding breaks off.

The record is read once more where it stands in its archive, and no more of it than is asked for.
gzip and deflate give what stands before their fault; of other codings nothing is to be had.
"""

import zlib
from typing import BinaryIO

from fastwarc.warc import ArchiveIterator

from corpus_assets.ingest.formats.http import CHUNK_END, CHUNK_SIZE, HttpHead, parse_head
from corpus_assets.ingest.records import RawRecord

HEAD_BYTES = 1 << 16
CODING_BYTES = 1 << 20  # what chunks and stored blocks may add to a body


def body_beginning(stream: BinaryIO, record: RawRecord, limit: int) -> bytes:
    """Whole lines of the body, a little more than `limit` bytes at most; empty where none can be
    read."""
    stream.seek(record.offset)
    try:
        found = next(ArchiveIterator(stream, parse_http=False), None)
        if found is None or (found.headers.get("WARC-Target-URI") or "").strip("<> ") != record.url:
            return b""  # one of several in a member: it stands elsewhere
        block = found.reader.read(HEAD_BYTES + CODING_BYTES + limit)
    except OSError:
        return b""
    head = parse_head(block)
    return b"" if head is None else _whole_lines(_decoded(block, head, limit), limit)


def _decoded(block: bytes, head: HttpHead, limit: int) -> bytes:
    values = dict(head.headers)
    body = block[head.body_start :]
    if "chunked" in values.get("transfer-encoding", "").lower():
        body = _without_chunk_sizes(body)
    for coding in reversed(values.get("content-encoding", "").lower().split(",")):
        if coding.strip() in ("gzip", "x-gzip"):
            body = _inflated(body, 31, limit)
        elif coding.strip() == "deflate":
            body = _inflated(body, 15 if body[:1] == b"\x78" else -15, limit)
    return body


def _without_chunk_sizes(body: bytes) -> bytes:
    chunks: list[bytes] = []
    at = 0
    while size := CHUNK_SIZE.match(body, at):
        length = int(size[1], 16)
        if length == 0:
            break
        chunks.append(body[size.end() : size.end() + length])
        end = CHUNK_END.match(body, size.end() + length)
        if end is None:
            break
        at = end.end()
    return b"".join(chunks) or body  # a crawler may have taken the chunks off


def _inflated(body: bytes, window_bits: int, limit: int) -> bytes:
    """Return what comes before a fault; a body that is not so coded is given back."""
    inflater = zlib.decompressobj(window_bits)
    out = bytearray()
    try:
        for at in range(0, len(body), 256):  # a fault takes the output of its own piece only
            out += inflater.decompress(body[at : at + 256], limit + 1 - len(out))
            if len(out) > limit or inflater.eof:
                break
    except zlib.error:
        pass
    return bytes(out) or body


def _whole_lines(content: bytes, limit: int) -> bytes:
    content = content[: limit + 1]
    return content[: max(content.rfind(b"\n"), content.rfind(b"\r")) + 1]
