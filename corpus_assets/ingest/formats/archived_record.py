"""One record again, by the place that the reader gave it.

A record that shares its gzip member with others has no range of its own. Its offset is where the
member starts plus the inflated bytes before it, and where the member starts is not written down.
So members are walked from the file's beginning: it is read once, as far as the record. Memory:
one record.
"""

import io
import re
import unicodedata
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch import is_remote, shown_url
from corpus_assets.ingest.formats.base import Original, Place, byte_range
from corpus_assets.ingest.formats.framing import (
    GZIP,
    MAX_INFLATED_BYTES,
    WARC,
    ArchiveFile,
    GzipMember,
)
from corpus_assets.ingest.formats.inflate import MemberStream
from corpus_assets.ingest.records import SourceFile

HEAD_BYTES = 1 << 16


MAX_FETCHED_BYTES = 64 << 20  # for one record, where it has no range of its own
RECORD_END = b"\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.I)


def archived_at(stream: BinaryIO, part: SourceFile, place: Place) -> Original:
    """Read a record again; one that shares its gzip member is given uncompressed in both forms."""
    if not place.length:
        return _shared_at(stream, part, place)
    stored, data = byte_range(stream, part, place)
    if stored.startswith(GZIP):
        try:
            data = zlib.decompressobj(31).decompress(stored, MAX_INFLATED_BYTES)
        except zlib.error as error:
            raise place.missing(part) from error
    if not data.startswith(WARC) or not _is_of(data, place.url):
        raise place.missing(part)
    return Original(stored, data)


def _shared_at(stream: BinaryIO, part: SourceFile, place: Place) -> Original:
    if is_remote(part.uri) and part.size > MAX_FETCHED_BYTES:
        raise SourceError(
            f"the record at {place.offset} of {part.name} shares a gzip member with others, so all "
            f"of the file would have to be fetched; download {shown_url(part.uri)} and look into it"
        )
    for data in records_at(stream, place.offset, MAX_INFLATED_BYTES):
        if _is_of(data, place.url):
            return Original(data, data)
    raise place.missing(part)


def records_at(stream: BinaryIO, offset: int, max_bytes: int) -> Iterator[bytes]:
    """Yield the records that an offset may mean, at most one of each gzip member."""
    file = ArchiveFile(stream)
    while file.position <= offset and (magic := file.peek(len(GZIP))):
        start = file.position
        member = GzipMember(file)
        if magic == GZIP:
            found = _record_after(member, offset - start, max_bytes)
            if found is not None:
                yield found
            member.drain()
        if magic != GZIP or member.failure is not None:  # go on where the reader went on
            end = file.next_member(start + 1)
            file.seek(file.size if end is None else end)


def _record_after(member: GzipMember, skip: int, max_bytes: int) -> bytes | None:
    """Return the record that begins after so many bytes of a member, if one does."""
    view = io.BufferedReader(MemberStream(member))
    while skip and (piece := view.read(min(skip, HEAD_BYTES))):
        skip -= len(piece)
    head = b""
    while not head.endswith(RECORD_END):
        line = view.readline(HEAD_BYTES)
        head += line
        if skip or not line or not head.startswith(WARC) or len(head) > HEAD_BYTES:
            return None
    length = _LENGTH.search(head)
    if length is None or int(length[1]) > max_bytes:
        return None
    block = view.read(int(length[1]))
    return head + block + RECORD_END if len(block) == int(length[1]) else None


def _is_of(data: bytes, url: str | None) -> bool:
    """Whether a record is about an address, as far as both say one."""
    head = data.partition(RECORD_END)[0].decode("utf-8", "replace")
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "warc-target-uri" and url is not None:
            found = unicodedata.normalize("NFC", value.strip().strip("<>"))
            return found == url or "\ufffd" in found or "\ufffd" in url
    return True
