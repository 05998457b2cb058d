"""The store in an S3 bucket, on Amazon's or any compatible server.

Server and credentials come from the usual AWS_* variables; nothing of them is logged or shown.
What has to be memory-mapped is downloaded once into a cache folder; the cache holds text of the
corpus, is private to the user and can be deleted at any time.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.formats.private_files import make_folder, private
from catalog.formats.store import AGAIN, relative_path
from catalog.formats.store import FileStore as Reader
from catalog.formats.temporary_files import is_temporary, leftovers
from corpus_assets.core.errors import StoreAway, StoreError

MAX_OBJECT_BYTES = 5 << 30  # of one PUT, on Amazon's servers and others
DOWNLOAD_CHUNK_BYTES = 4 << 20
UNUSED_S = 3600.0

Pieces = Sequence[bytes | memoryview]
"""A file's bytes, one piece behind the other. Memory views are of bytes."""


def cache_folder() -> Path:
    """CORPUS_CACHE, or `corpus-assets` in the user's cache folder."""
    named = os.environ.get("CORPUS_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "corpus-assets"


def forget_copies(store_url: str) -> int:
    """Delete what the cache of this machine holds of a store, and of crawls; return how many files
    that were. Whoever has them open can go on reading; another node on the same machine can do
    the same at the same time."""
    places = [cache_folder() / "cache" / "sources"]
    if store_url.startswith("s3://"):
        places.append(S3Store(store_url).cache)
    return sum(_delete(place) for place in places)


def _delete(folder: Path) -> int:
    """Delete a folder; return how many files were deleted here, and not by somebody else."""
    count = 0
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(root, name))
                count += 1
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(root)
    return count


class S3Store(Reader):
    """Objects below `s3://bucket/prefix`. The first request is the first use."""

    error = refused = StoreError
    away = StoreAway

    def __init__(self, url: str, retries: int | None = None) -> None:
        super().__init__(url, retries)
        place = f"{self.endpoint or 'aws'} {self.url}"
        self.cache = cache_folder() / "s3" / hashlib.sha256(place.encode()).hexdigest()

    def __reduce__(self) -> tuple[type["S3Store"], tuple[str, int]]:
        """Sent to another process, it is opened again there: credentials never travel with it."""
        return S3Store, (self.url, self.retries)

    def write(self, path: str, data: bytes | Pieces) -> None:
        """One PUT, however large: readers see the whole object or none.

        A multipart upload would be faster, but the parts of one that was killed stay in the
        bucket, where no listing shows them, and no takedown would find their text.
        """
        key = relative_path(path, self.refused)
        data = data if isinstance(data, bytes) else b"".join(data)
        if len(data) > MAX_OBJECT_BYTES:
            raise StoreError(
                f"{path} has {len(data)} bytes, more than an S3 server takes at once "
                f"({MAX_OBJECT_BYTES}); deliver the snapshot in smaller files, or name a smaller model"
            )
        with self.explained("write", path):
            self._client.put(key, data, use_multipart=False)

    def local(self, path: str) -> Path:
        """Return a downloaded copy that can be memory-mapped; one HEAD request when it is there
        already.

        Copies are named after the object's ETag and size, so an object that was overwritten is
        downloaded again; its old copy goes once it has not been used for an hour.
        """
        key = relative_path(path, self.refused)
        folder = self.cache / key
        with self.explained("read", path):
            found = folder / _version_name(self._client.head(key))
            if _is_cached(found):
                return found
            answer = self._client.get(key)
            copy = folder / _version_name(answer.meta)
            try:
                _save(answer.stream(min_chunk_size=DOWNLOAD_CHUNK_BYTES), copy, answer.meta["size"])
                _remove_others(copy)
            except OSError as error:
                raise StoreError(_cache_message(path, error)) from error
        return copy

    def list(self, prefix: str) -> list[str]:
        """Every object under the folder `prefix`, or all, temporary names left out."""
        return [path for path in super().list(prefix) if not is_temporary(path)]

    def delete(self, path: str) -> None:
        """Remove an object if it is there, and every copy of it in the cache."""
        key = relative_path(path, self.refused)
        with self.explained("delete", path):
            with contextlib.suppress(FileNotFoundError):
                self.repeated(lambda: self._client.delete(key))
            shutil.rmtree(self.cache / key, ignore_errors=True)

    def leftovers(self) -> Iterator[Path]:
        """Yield downloads of killed readers in the cache; the bucket has nothing temporary."""
        for path in leftovers(self.cache):
            with contextlib.suppress(OSError), open(path, "rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held while it is downloaded
                yield path


def _version_name(meta: Mapping[str, Any]) -> str:
    """Return a file name for one state of an object; servers without ETags give its time instead."""
    tag = meta["e_tag"] or meta["last_modified"].isoformat()
    return hashlib.sha256(f"{tag} {meta['size']}".encode()).hexdigest()


def _save(chunks: Any, target: Path, size: int) -> None:
    """Write under a temporary name and rename, so that a cached copy is always whole."""
    make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb", opener=private) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for chunk in chunks:
                handle.write(chunk)
            handle.flush()
            os.fsync(handle.fileno())
            if handle.tell() != size:
                raise OSError(errno.EIO, f"{handle.tell()} of {size} bytes arrived")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _is_cached(copy: Path) -> bool:
    """Whether the copy is there; the look itself is noted, as its time of last use."""
    try:
        os.utime(copy)
    except OSError:
        return False
    return True


def _remove_others(copy: Path) -> None:
    """Drop old copies and downloads that were killed.

    What was used a short while ago stays: somebody may have its name and not have opened it yet.
    Maps of a deleted copy stay valid. Others write and tidy here too, so what was listed may be
    gone at the next look.
    """
    before = time.time() - UNUSED_S
    for other in copy.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found = other.lstat()
            if other != copy and stat.S_ISREG(found.st_mode) and found.st_mtime < before:
                other.unlink()


def _cache_message(path: str, error: OSError) -> str:
    folder = cache_folder()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk of the cache {folder} is full (while fetching {path}); delete that folder or "
            f"set CORPUS_CACHE to a larger disk, then {AGAIN}"
        )
    return f"cannot keep {path} in the cache {folder}: {error}; set CORPUS_CACHE to another folder"
