"""Open pinned source files wherever they lie: here, on a server, or in the cache."""

import fcntl
import hashlib
import io
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from catalog.formats.private_files import make_folder, private
from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import digest
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.transport import FetchSettings, Stat, is_remote, shown
from corpus_assets.ingest.records import SourceFile, open_source, verify_file

# A pinned file on a server, as a seekable stream that knows whether it is still the same.


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
                f"{shown(file.uri)}: is not the file that was pinned (SHA-256 {file.sha256[:12]}); "
                "pin it as a new snapshot under another name"
            )


# Source files from servers, kept whole in the home for the next time.
#
# A copy is named by what was pinned (name, size, ETag or SHA-256), written under a temporary name
# and renamed, and has its own SHA-256 beside it, which is compared on each use: about a second a
# gigabyte. Above `max_bytes` the copies go that were unused for longest; readers of a copy that
# goes keep theirs. The folder can be deleted at any time.


class FileCache:
    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    @contextmanager
    def open(self, file: SourceFile, fetcher: Fetcher) -> Iterator[tuple[BinaryIO, str]]:
        """Open the copy, fetched where there is none or a damaged one; and its SHA-256."""
        try:
            stream, sha256 = self._opened(file, fetcher)
        except OSError as error:
            raise SourceError(
                f"cannot keep {shown(file.uri)} in {self.folder}: {error.strerror}; free some "
                "space, or set `cache: none`"
            ) from error
        with stream:
            yield stream, sha256

    def forget(self, file: SourceFile) -> None:
        """Remove a file's copy; readers who have it open keep theirs."""
        self._copy(file).unlink(missing_ok=True)
        self._copy(file).with_suffix(".sha256").unlink(missing_ok=True)

    def _opened(self, file: SourceFile, fetcher: Fetcher) -> tuple[BinaryIO, str]:
        copy = self._copy(file)
        sha256 = self._checked(copy, file)
        if sha256 is not None:
            with suppress(FileNotFoundError):  # another process just made room
                return copy.open("rb"), sha256
        sha256 = self._fetch(copy, file, fetcher)
        return copy.open("rb"), sha256

    def _copy(self, file: SourceFile) -> Path:
        return self.folder / digest([file.name, file.size, file.sha256])

    def _checked(self, copy: Path, file: SourceFile) -> str | None:
        """SHA-256 of a sound copy; None where there is none."""
        try:
            recorded = copy.with_suffix(".sha256").read_text(encoding="ascii")
            with copy.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
                size = os.fstat(stream.fileno()).st_size
            os.utime(copy)
        except (OSError, UnicodeDecodeError):
            return None
        return found if found == recorded and size == file.size else None

    def _fetch(self, copy: Path, file: SourceFile, fetcher: Fetcher) -> str:
        make_folder(self.folder)
        temporary = copy.with_name(f".{copy.name}.{uuid.uuid4().hex}.tmp")
        hasher = hashlib.sha256()
        try:
            with open(temporary, "xb", opener=private) as handle:

                def take(piece: bytes) -> None:
                    hasher.update(piece)
                    handle.write(piece)

                fetcher.pull(file.uri, pinned_stat(file), 0, file.size, take)
                handle.flush()
                os.fsync(handle.fileno())
            sha256 = hasher.hexdigest()
            if ":" not in file.sha256 and sha256 != file.sha256:
                raise SourceError(
                    f"{shown(file.uri)}: is not the file that was pinned; pin it as a new "
                    "snapshot under another name"
                )
            copy.with_suffix(".sha256").write_text(sha256, encoding="ascii")
            os.replace(temporary, copy)
        finally:
            temporary.unlink(missing_ok=True)
        self._make_room(copy)
        return sha256

    def _make_room(self, newest: Path) -> None:
        """Remove the longest unused copies until the rest fits; one process at a time."""
        lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sizes: dict[Path, os.stat_result] = {}
            for path in self.folder.iterdir():
                if not path.name.startswith(".") and path.suffix != ".sha256":
                    with suppress(FileNotFoundError):  # forgotten since it was listed
                        sizes[path] = path.stat()
            total = sum(found.st_size for found in sizes.values())
            for path in sorted(sizes, key=lambda each: (sizes[each].st_mtime_ns, each.name)):
                if total <= self.max_bytes:
                    break
                if path != newest:
                    path.unlink(missing_ok=True)
                    path.with_suffix(".sha256").unlink(missing_ok=True)
                    total -= sizes[path].st_size
        finally:
            os.close(lock)


# Opening a pinned source file, wherever it lies: here, on a server, or in the cache.

FOLDER = "fetch"

Opener = Callable[[SourceFile], AbstractContextManager[BinaryIO]]


@contextmanager
def open_pinned(file: SourceFile) -> Iterator[BinaryIO]:
    """Open a file on this machine, refused unless it is what was pinned."""
    if is_remote(file.uri):
        raise SourceError(f"{shown(file.uri)}: is on a server; build it through its recipe")
    verify_file(file)
    with open_source(file.uri) as stream:
        yield stream


@dataclass
class Reach:
    """How far we may go for a file: settings, a folder of the home, the source's own address."""

    settings: FetchSettings
    home: Path
    base: str
    sha256: dict[str, str] = field(default_factory=dict)  # of files that were read to their end

    @classmethod
    def of(cls, params: dict[str, Any]) -> "Reach":
        """From the plain values that a task carries."""
        settings = FetchSettings.model_validate(params["settings"])
        return cls(settings, Path(params["home"]), params["base"])

    def params(self) -> dict[str, Any]:
        settings = FetchSettings.model_validate(
            {name: getattr(self.settings, name) for name in FetchSettings.model_fields}
        )
        return {
            "settings": settings.model_dump(mode="json"),
            "home": str(self.home),
            "base": self.base,
        }

    @property
    def cache(self) -> FileCache:
        return FileCache(self.home / "cache" / "sources", self.settings.cache_bytes)

    def fetcher(self) -> Fetcher:
        return Fetcher(self.settings, self.home / FOLDER, self.base)

    @contextmanager
    def open(self, file: SourceFile, exact: bool = False) -> Iterator[BinaryIO]:
        """Open a pinned file as a seekable stream; `exact`: each read fetches just what it asks
        for."""
        if not is_remote(file.uri):
            with open_pinned(file) as stream:
                yield stream
            return
        with self.fetcher() as fetcher:
            if self.settings.cache == "files":
                with self.cache.open(file, fetcher) as (stream, sha256):
                    self.sha256[file.name] = sha256
                    yield stream
                return
            with opened(fetcher, file, 1 if exact else None) as stream:
                yield stream
                if isinstance(stream, RemoteFile) and stream.sha256 is not None:
                    self.sha256[file.name] = stream.sha256


def forget_cached(reach: Reach, file: SourceFile) -> None:
    """Remove the copy of a file from the cache, where there is one."""
    reach.cache.forget(file)


def download(url: str, target: Path, max_bytes: int, allow_local: bool = False) -> None:
    """Write a whole file from a public server to a new file: https only, whatever it redirects to,
    and never from an address of the local network. `allow_local` lifts both."""
    if not url.startswith(("https://", "http://") if allow_local else "https://"):
        raise SourceError(f"{shown(url)} is not an https:// address; use one")
    settings = FetchSettings(allow_http=allow_local)
    with Fetcher(settings, None, url, is_public=not allow_local) as fetcher:
        stat = fetcher.stat(url)
        if stat.size > max_bytes:
            raise SourceError(
                f"{shown(url)}: has {stat.size} bytes, more than the {max_bytes} such a file may "
                "have; check the address"
            )
        with open(target, "xb") as handle:
            fetcher.pull(url, stat, 0, stat.size, handle.write)
