"""A pinned file on a server, as a seekable stream that knows whether it is still the same."""

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, cast

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.transport import Stat, shown_url
from corpus_assets.ingest.records import SourceFile


class RemoteFile(io.RawIOBase):
    """A seekable view of a remote file. Memory: one range; a disk file where ranges are ignored.

    `sha256` is known once every byte was read in order; seeking back does not disturb it.
    """

    def __init__(
        self, fetcher: Fetcher, url: str, stat: Stat, range_bytes: int | None = None
    ) -> None:
        super().__init__()
        self.url = url
        self.stat = stat
        self._fetcher = fetcher
        self._range = range_bytes or fetcher.settings.range_bytes
        self._place = 0
        self._held = b""
        self._held_at = 0
        self._hasher = hashlib.sha256()
        self._hashed = 0
        self._spool: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.stat.size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def read(self, size: int = -1) -> bytes:
        """As many bytes as were asked for, fewer only at the end: Parquet readers insist on it."""
        left = self.stat.size - self._place if size < 0 else size
        pieces = []
        while left > 0:
            piece = super().read(left) or b""
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self.stat.size - self._place)
        if wanted <= 0:
            return 0
        inside = self._place - self._held_at
        if not 0 <= inside < len(self._held):
            self._fill(self._place, wanted)
            inside = self._place - self._held_at
        piece = self._held[inside : inside + wanted]
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)

    @property
    def sha256(self) -> str | None:
        return self._hasher.hexdigest() if self._hashed == self.stat.size else None

    def finish(self) -> str:
        """SHA-256 of the whole file; reads what was not read yet."""
        while self._hashed < self.stat.size:
            self._fill(self._hashed, self._fetcher.settings.range_bytes)
        return self._hasher.hexdigest()

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()
        super().close()

    def _fill(self, start: int, wanted: int) -> None:
        end = min(self.stat.size, start + max(wanted, self._range))
        if self._fetcher.ignores_ranges and self._spool is None:
            self._spool = self._fetcher.spool()
            self._fetcher.pull(self.url, self.stat, 0, self.stat.size, self._spool.write)
        if self._spool is not None:
            self._spool.seek(start)
            self._held = self._spool.read(end - start)
        else:
            self._held = self._fetcher.range(self.url, self.stat, start, end)
        self._held_at = start
        if start <= self._hashed < end:
            self._hasher.update(self._held[self._hashed - start :])
            self._hashed = end


ETAG = re.compile(r"etag:(\d+):(.+)")
MODIFIED = re.compile(r"modified:(\d+):(.+)")


def pin_of(stat: Stat) -> str | None:
    """Return what stands for a file's content where its SHA-256 is not known; None where nothing
    does.

    An ETag names one state of one object, and each request insists on it. The size goes in as
    well, so that equal names, sizes and ETags are one identity.
    """
    if stat.etag:
        return f"etag:{stat.size}:{stat.etag}"
    return f"modified:{stat.size}:{stat.modified}" if stat.modified else None


def pin_file(fetcher: Fetcher, name: str, url: str, stat: Stat) -> SourceFile:
    """Return a remote file as it is pinned; one whose server gives neither ETag nor time is hashed."""
    pin = pin_of(stat)
    if pin is None:
        with RemoteFile(fetcher, url, stat) as stream:
            pin = stream.finish()
    return SourceFile(name, url, stat.size, pin)


def pinned_stat(file: SourceFile) -> Stat:
    """Return what the server must still say of a pinned file."""
    etag, modified = ETAG.fullmatch(file.sha256), MODIFIED.fullmatch(file.sha256)
    return Stat(
        file.size,
        etag.group(2) if etag else "",
        modified.group(2) if modified else "",
    )


def open_remote(fetcher: Fetcher, file: SourceFile, range_bytes: int | None = None) -> RemoteFile:
    """Return a pinned file, for reading."""
    return RemoteFile(fetcher, file.uri, pinned_stat(file), range_bytes)


@contextmanager
def opened(
    fetcher: Fetcher, file: SourceFile, range_bytes: int | None = None
) -> Iterator[BinaryIO]:
    """Open a pinned remote file as a stream; at the end, where its SHA-256 is pinned, that is
    compared.

    The check comes after the reading, unlike that of local files: nothing of what was read
    counts before the whole part is done.
    """
    with open_remote(fetcher, file, range_bytes) as stream:
        yield cast(BinaryIO, stream)
        if ":" not in file.sha256 and stream.finish() != file.sha256:
            raise SourceError(
                f"{shown_url(file.uri)}: is not the file that was pinned (SHA-256 {file.sha256[:12]}); "
                "pin it as a new snapshot under another name"
            )
