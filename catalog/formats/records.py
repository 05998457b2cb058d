"""A WARC record that shares its gzip member with others, found by its place.

Such a record has no range of its own. Its offset is where the member starts plus the inflated
bytes before it, and where the member starts is not written down. So members are walked from the
file's beginning: it is read once, as far as the record. Memory: one record.
"""

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from catalog.errors import SourceUnavailable

INPUT_BYTES = 1 << 16
OUTPUT_BYTES = 1 << 20
MAX_HEAD_BYTES = 1 << 16
RECORD_END = b"\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.I)


def shared_records(stream: BinaryIO, offset: int, max_bytes: int) -> Iterator[bytes]:
    """The records that may be meant by an offset: one a member that has one at that place."""
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
        """Take more of the member in; gives the record once, when it is whole."""
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
