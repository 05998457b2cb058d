"""Archive files byte by byte: positions, gzip members, and finding the next record after a fault."""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO

from deflate import DeflateError, gzip_decompress  # whatever it refuses, zlib decides

from corpus_assets.ingest.kernels.gzip_starts import find_gzip_starts

GZIP = b"\x1f\x8b\x08"
WARC = b"WARC/"
CHUNK_BYTES = 1 << 16
READ_BYTES = 1 << 18
MEMBER_BYTES = 20  # of the smallest: head, an empty block, checksum and size
MAX_INFLATED_BYTES = 1 << 30  # per record: a second of inflating, then it is called a bomb

_FLAGS_AT, _FLAGS = 3, 0b11101  # those known, less a checksum of the head, which is not checked
_GZIP_START = re.compile(re.escape(GZIP))
_WARC_START = re.compile(rb"(?<=\n)WARC/1\.\d\r?\n")


class ArchiveFile:
    """A file with a position, seen through a window of bytes that are read already."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._window = memoryview(b"")
        self._at = 0  # the position, in the window
        self._end = 0  # the window's end, in the file
        self._starts: list[int] = []  # of gzip members in the window, as it seems
        self.size = stream.seek(0, 2)
        self.seek(0)

    @property
    def position(self) -> int:
        return self._end - len(self._window) + self._at

    def seek(self, position: int) -> None:
        start = self._end - len(self._window)
        if start <= position <= self._end:
            self._at = position - start
        else:
            self._show(b"")
            self._end = position
        self._stream.seek(self._end)

    def take(self) -> bytes:
        """Return the next bytes, at most 64 KiB; empty at the end."""
        if self._at == len(self._window):
            self._read_on()
        piece = bytes(self._window[self._at : self._at + CHUNK_BYTES])
        self._at += len(piece)
        return piece

    def give_back(self, n_bytes: int) -> None:
        """The last so many bytes that were taken are the next ones again."""
        self._at -= n_bytes

    def peek(self, size: int) -> bytes:
        while len(self._window) - self._at < size and self._read_on():
            pass
        return bytes(self._window[self._at : self._at + size])

    def whole_member(self, most_bytes: int) -> bytearray | None:
        """Return the member that begins here, inflated and checked, and the place after it.

        None, with the place as it was, for one that is broken, cut off or larger, and in doubt.
        Only the next place that looks like a start counts as its end: were it passed over for a
        later one, bytes that belong to no member could take a sound member with them.
        """
        next_start = bisect_right(self._starts, self._at)
        while next_start == len(self._starts):
            if len(self._window) - self._at > most_bytes:
                return None
            if not self._read_on():
                return self._inflate(len(self._window), most_bytes)
            next_start = bisect_right(self._starts, self._at)
        return self._inflate(self._starts[next_start], most_bytes)

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

    def _inflate(self, end: int, most_bytes: int) -> bytearray | None:
        """Return the member from here to `end` in the window, its size in its last four bytes."""
        member = self._window[self._at : end]
        if len(member) < MEMBER_BYTES or member[_FLAGS_AT] & ~_FLAGS:
            return None
        size = int.from_bytes(member[-4:], "little")
        if not 0 < size <= most_bytes:
            return None
        try:
            inflated: bytearray = gzip_decompress(member, size)
        except DeflateError:
            return None
        if len(inflated) < size:
            return None
        self._at = end
        return inflated

    def _read_on(self) -> bool:
        """Leave what lies behind and read as much again as lies ahead; False at the end."""
        rest = self._window[self._at :]
        piece = self._stream.read(max(READ_BYTES, len(rest)))
        if piece:
            self._show(b"".join((rest, piece)) if rest else piece)
            self._end += len(piece)
        return bool(piece)

    def _show(self, window: bytes) -> None:
        self._window = memoryview(window)
        self._at = 0
        self._starts = find_gzip_starts(window)

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
        self._position = 0
        self.failure: str | None = None  # what broke the bytes themselves
        self.has_stray_bytes = False  # set by whoever finds bytes here that are no record

    @property
    def fault(self) -> str | None:
        return self.failure or ("not_a_record" if self.has_stray_bytes else None)

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.take()
        if 0 <= size < len(chunk):
            self._file.give_back(len(chunk) - size)
            chunk = chunk[:size]
        self._position += len(chunk)
        return chunk

    def tell(self) -> int:
        return self._position

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
            self._file.give_back(len(self._inflater.unconsumed_tail if rest is None else rest))
            if out:
                self._position += len(out)
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
