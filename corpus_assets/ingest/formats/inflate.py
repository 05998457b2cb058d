"""Compressed text files as plain streams that end, and say so, where the file is damaged.

The usual readers either raise in the middle of a line (gzip) or end without a word when the file
is cut (zstd). These hand out every byte before the fault, then end with `failure` set.
"""

import io
from typing import Any, BinaryIO, cast

import zstandard

from corpus_assets.ingest.formats.framing import GZIP, ArchiveFile, GzipMember

ZSTD_INPUT_BYTES = 1024  # a KiB of zstd can stand for 32 MiB: this bounds what one step inflates
MAX_ZSTD_WINDOW = 1 << 27


class Plain(io.RawIOBase):
    """Bytes as they are; base of the inflating streams."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self._rest = b""
        self.failure: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = self._next(len(buffer))
        piece = self._rest[: len(buffer)]
        self._rest = self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self, size: int) -> bytes:
        """More bytes, about `size` of them; empty at the end or with `failure`."""
        return self._stream.read(size)


class MemberStream(Plain):
    """One gzip member, however many records it holds."""

    def __init__(self, member: GzipMember) -> None:
        super().__init__(cast(BinaryIO, member))
        self._member = member

    def _next(self, size: int) -> bytes:
        self._member.begin_record()
        return self._member.read(size)


class Gunzip(Plain):
    """All members of a gzip file."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._file = ArchiveFile(stream)
        self._member: GzipMember | None = None

    def _next(self, size: int) -> bytes:
        while self.failure is None:
            if self._member is None:
                magic = self._file.peek(len(GZIP))
                if not magic:
                    break
                if magic != GZIP:
                    self.failure = "not_gzip"
                    break
                self._member = GzipMember(self._file)
            self._member.begin_record()
            piece = self._member.read(size)
            if piece:
                return piece
            self.failure = self._member.failure
            self._member = None
        return b""


class Unzstd(Plain):
    """All frames of a zstd file."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._ahead = b""
        self._frame: Any = None

    def _next(self, size: int) -> bytes:
        while self.failure is None:
            chunk = self._ahead or self._stream.read(ZSTD_INPUT_BYTES)
            self._ahead = b""
            if not chunk:
                if self._frame is not None:
                    self.failure = "truncated_zstd"
                break
            if self._frame is None:
                inflater = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
                self._frame = inflater.decompressobj()
            try:
                piece: bytes = self._frame.decompress(chunk)
            except zstandard.ZstdError:
                self.failure = "corrupt_zstd"
                break
            if self._frame.eof:
                self._ahead = self._frame.unused_data
                self._frame = None
            if piece:
                return piece
        return b""


def inflated(stream: BinaryIO, name: str) -> Plain:
    """Return the file's bytes, inflated by what its name ends in."""
    if name.endswith(".gz"):
        return Gunzip(stream)
    return Unzstd(stream) if name.endswith(".zst") else Plain(stream)
