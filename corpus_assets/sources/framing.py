"""Archive files byte by byte: positions, gzip members, and finding the next record after a fault."""

import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from isal import isal_zlib  # twice as fast; whatever it refuses, zlib decides

GZIP = b"\x1f\x8b\x08"
WARC = b"WARC/"
CHUNK_BYTES = 1 << 16
MAX_INFLATED_BYTES = 1 << 30  # per record: a second of inflating, then it is called a bomb

_GZIP_START = re.compile(re.escape(GZIP))
_WARC_START = re.compile(rb"(?<=\n)WARC/1\.\d\r?\n")


class ArchiveFile:
    """A file with a position that knows about bytes read ahead and given back."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead = b""
        self._read = 0
        self.size = stream.seek(0, 2)
        self.seek(0)

    @property
    def position(self) -> int:
        return self._read - len(self._ahead)

    def seek(self, position: int) -> None:
        self._stream.seek(position)
        self._read = position
        self._ahead = b""

    def take(self) -> bytes:
        """The next bytes, as many as are at hand; empty at the end."""
        if self._ahead:
            chunk, self._ahead = self._ahead, b""
        else:
            chunk = self._stream.read(CHUNK_BYTES)
            self._read += len(chunk)
        return chunk

    def give_back(self, rest: bytes) -> None:
        self._ahead = rest

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            chunk = self._stream.read(CHUNK_BYTES)
            if not chunk:
                break
            self._read += len(chunk)
            self._ahead += chunk
        return self._ahead[:size]

    def whole_member(self, most_bytes: int) -> bytes | None:
        """The member that begins here, inflated and checked, and the place after it.

        None, with the place as it was, for one that is broken, cut off or larger.
        """
        start = self.position
        inflater: Any = isal_zlib.decompressobj(31)
        pieces: list[bytes] = []
        left = most_bytes
        try:
            while left > 0 and not inflater.eof:
                chunk = self.take()
                if not chunk:
                    break
                piece = inflater.decompress(chunk, left)
                left -= len(piece)
                pieces.append(piece)
                if inflater.unconsumed_tail:
                    break
        except (zlib.error, isal_zlib.error):  # type: ignore[misc]
            pass
        else:
            if inflater.eof:
                self.give_back(inflater.unused_data)
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.seek(start)
        return None

    def next_member(self, start: int) -> int | None:
        """First place from `start` on where a gzip member with a WARC record begins."""
        for at in self._places(start, _GZIP_START, len(GZIP)):
            self._stream.seek(at)
            try:
                begin = zlib.decompressobj(31).decompress(self._stream.read(1024), len(WARC))
            except zlib.error:
                continue
            if begin == WARC:
                self.seek(at)
                return at
        return None

    def next_plain(self, start: int) -> int | None:
        """First place after `start` where a line is the first of a WARC record."""
        for at in self._places(start, _WARC_START, 16):
            self.seek(at)
            return at
        return None

    def _places(self, start: int, pattern: re.Pattern[bytes], longest: int) -> Iterator[int]:
        """Where `pattern` matches (at most `longest` bytes, one looked behind)."""
        base = start
        last = -1
        while base < self.size:
            self._stream.seek(base)
            window = self._stream.read(16 * CHUNK_BYTES)
            for match in pattern.finditer(window):
                if base + match.start() > last:
                    last = base + match.start()
                    yield last
            if len(window) <= longest:
                return
            base += len(window) - longest


class PlainView:
    """The rest of an uncompressed file."""

    def __init__(self, file: ArchiveFile) -> None:
        self._file = file
        self._told = 0
        self.failure: str | None = None  # what broke the bytes themselves
        self.has_stray_bytes = False  # set by whoever finds bytes here that are no record

    @property
    def fault(self) -> str | None:
        return self.failure or ("not_a_record" if self.has_stray_bytes else None)

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.take()
        if 0 <= size < len(chunk):
            self._file.give_back(chunk[size:])
            chunk = chunk[:size]
        self._told += len(chunk)
        return chunk

    def tell(self) -> int:
        return self._told

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError("a WARC file is read forward only")

    def close(self) -> None:
        """The file belongs to whoever opened it."""

    def begin_record(self) -> None:
        """A new record begins about here."""


class GzipMember(PlainView):
    """One gzip member, inflated as it is read. Ends early, with `failure`, where it is broken."""

    def __init__(self, file: ArchiveFile) -> None:
        super().__init__(file)
        self._inflater = zlib.decompressobj(31)
        self._inflated = 0

    def read(self, size: int = -1) -> bytes:
        limit = size if size > 0 else CHUNK_BYTES
        while not self._inflater.eof and self.failure is None:
            chunk = self._file.take()
            try:
                out = self._inflater.decompress(chunk, limit)
            except zlib.error:
                self.failure = "corrupt_gzip"
                break
            rest = self._inflater.unused_data if self._inflater.eof else None
            self._file.give_back(self._inflater.unconsumed_tail if rest is None else rest)
            if out:
                self._told += len(out)
                self._inflated += len(out)
                if self._inflated > MAX_INFLATED_BYTES:
                    self.failure = "too_large"
                return out
            if not chunk and rest is None:
                self.failure = "truncated_gzip"
        return b""

    def begin_record(self) -> None:
        self._inflated = 0

    def drain(self) -> None:
        """Inflate what is left, so that the next member is where the file stands."""
        while self.read():
            pass
