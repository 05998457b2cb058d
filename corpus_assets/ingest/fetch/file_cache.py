"""Source files from servers, kept whole in the home for the next time.

A copy is named by what was pinned (name, size, ETag or SHA-256), written under a temporary name
and renamed, and has its own SHA-256 beside it, which is compared on each use: about a second a
gigabyte. Above `max_bytes` the copies go that were unused for longest; readers of a copy that
goes keep theirs. The folder can be deleted at any time.
"""

import fcntl
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from catalog.formats.private_files import make_folder, private
from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import digest
from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.remote_file import pinned_stat
from corpus_assets.ingest.fetch.transport import shown_url
from corpus_assets.ingest.records import SourceFile


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
                f"cannot keep {shown_url(file.uri)} in {self.folder}: {error.strerror}; free some "
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
                    f"{shown_url(file.uri)}: is not the file that was pinned; pin it as a new "
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
