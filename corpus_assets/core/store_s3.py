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
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from catalog.formats import store
from catalog.formats.store import make_folder, private
from corpus_assets.core.errors import MissingExtra, StoreError
from corpus_assets.core.leftovers import is_temporary, leftovers

MAX_OBJECT_BYTES = 5 << 30  # of one PUT, on Amazon's servers and others
DOWNLOAD_CHUNK_BYTES = 4 << 20
UNUSED_S = 3600.0

BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
PREFIX = re.compile(r"(?!\.\.(/|$))(?!.*/\.\.(/|$))[^\x00-\x1f\x7f?#%\\]*")
WRONG_REGION = "incorrectly configured region"  # the client's words for a redirect by Amazon
AGAIN = "run the same command again: finished parts are kept"


def cache_folder() -> Path:
    """CORPUS_CACHE, or `corpus-assets` in the user's cache folder."""
    named = os.environ.get("CORPUS_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "corpus-assets"


class S3Store:
    """Objects below `s3://bucket/prefix`. Cheap to open: the first request is the first use.

    `retries` counts per request, with exponential backoff; twelve last about ten seconds.
    """

    def __init__(self, url: str, retries: int = 12) -> None:
        self.retries = retries
        self.bucket, prefix = _split_url(url)
        self.url = f"s3://{self.bucket}/{prefix}".rstrip("/")
        self.endpoint = server_address(os.environ)
        if not store.has_credentials():
            raise StoreError(
                f"no credentials for the store {self.url}; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY (or AWS_SKIP_SIGNATURE=true for a public bucket)"
            )
        self._client = _connect(self.bucket, prefix, self.endpoint, retries)
        place = f"{self.endpoint or 'aws'} {self.url}"
        self.cache = cache_folder() / "s3" / hashlib.sha256(place.encode()).hexdigest()

    def __reduce__(self) -> tuple[type["S3Store"], tuple[str, int]]:
        """Sent to another process, it opens anew there: credentials never travel with it."""
        return S3Store, (self.url, self.retries)

    def read(self, path: str) -> bytes:
        key = _key(path)
        with self._explained("read", path):
            data: bytes = self._client.get(key).bytes().to_bytes()
            return data

    def write(self, path: str, data: bytes) -> None:
        """One PUT, however large: readers see the whole object or none.

        A multipart upload would be faster, but the parts of one that was killed stay in the
        bucket, where no listing shows them, and no takedown would find their text.
        """
        key = _key(path)
        if len(data) > MAX_OBJECT_BYTES:
            raise StoreError(
                f"{path} has {len(data)} bytes, more than an S3 server takes at once "
                f"({MAX_OBJECT_BYTES}); deliver the snapshot in smaller files, or name a smaller model"
            )
        with self._explained("write", path):
            self._client.put(key, data, use_multipart=False)

    def exists(self, path: str) -> bool:
        key = _key(path)
        with self._explained("look for", path):
            try:
                self._client.head(key)
            except FileNotFoundError:
                return False
            return True

    def local(self, path: str) -> Path:
        """Return a downloaded copy that can be memory-mapped; one HEAD request when it is there
        already.

        Copies are named after the object's ETag and size, so an object that was overwritten is
        downloaded again; its old copy goes once nobody has asked for it for an hour.
        """
        key = _key(path)
        folder = self.cache / key
        with self._explained("read", path):
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

    def list(self, prefix: str) -> Iterator[str]:
        """Every object under the folder `prefix`, or all, in name order; 1,000 a request."""
        key = _key(prefix) if prefix else None
        found: list[str] = []
        with self._explained("list", prefix):
            for chunk in self._client.list(key):
                found += [entry["path"] for entry in chunk]
        found.sort(key=lambda name: name.split("/"))
        yield from (name for name in found if not is_temporary(name.rpartition("/")[2]))

    def delete(self, path: str) -> None:
        """Remove an object if it is there, and every copy of it in the cache."""
        key = _key(path)
        with self._explained("delete", path):
            with contextlib.suppress(FileNotFoundError):
                self._client.delete(key)
            shutil.rmtree(self.cache / key, ignore_errors=True)

    def leftovers(self) -> Iterator[Path]:
        """Yield downloads of killed readers in the cache; the bucket has nothing temporary."""
        for path in leftovers(self.cache):
            with contextlib.suppress(OSError), open(path, "rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held while it is downloaded
                yield path

    @contextlib.contextmanager
    def _explained(self, verb: str, path: str) -> Iterator[None]:
        """Turn the client's errors into ours.

        The cause is cut off on purpose: it quotes the server's answer, which names the access key.
        """
        from obstore.exceptions import BaseError

        refuse_after_fork()
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(self._message(verb, path, str(error))) from None
            raise StoreError(
                f"{path} is not in the store {self.url}; delete what is left of its folder there "
                "and run `corpus build` to make it anew"
            ) from None
        except (BaseError, OSError) as error:
            raise StoreError(self._message(verb, path, str(error))) from None

    def _message(self, verb: str, path: str, answer: str) -> str:
        answer = answer.partition("\n\nDebug source")[0]
        server = self.endpoint or "of Amazon"
        code = _found(r"<Code>(\w+)</Code>", answer)
        status = _found(r"status code: (\d{3})", answer)
        if code == "NoSuchBucket":
            return (
                f"the bucket {self.bucket} does not exist on the S3 server {server}; create it, or "
                f"correct the store URL {self.url}"
            )
        if code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"):
            return (
                f"the S3 server {server} does not accept the credentials ({code}); check "
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
            )
        if code == "AuthorizationHeaderMalformed" or WRONG_REGION in answer:
            return f"the bucket {self.bucket} is in another region; set AWS_REGION to its region"
        if status in ("401", "403"):
            return (
                f"access denied: cannot {verb} {path} in the store {self.url}; the credentials need "
                f"s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket {self.bucket}"
            )
        if status is not None:
            what = f"HTTP {status}" + (f" {code}" if code else "")
            return (
                f"cannot {verb} {path} in the store {self.url}: {what}; wait a little and {AGAIN}"
            )
        if "HTTP error" in answer:
            return (
                f"the S3 server {server} cannot be reached; check AWS_ENDPOINT_URL and the network, "
                f"then {AGAIN}"
            )
        short = answer.partition("\n")[0].partition("<")[0][:200]
        return f"cannot {verb} {path} in the store {self.url}: {short}; {AGAIN}"


def _connect(bucket: str, prefix: str, endpoint: str | None, retries: int) -> Any:
    try:
        from obstore.store import S3Store as Client
    except ImportError as error:
        raise MissingExtra(
            "a store on S3 needs an optional part: pip install 'corpus-assets[s3]'"
        ) from error
    refuse_after_fork()
    return Client(
        bucket,
        prefix=prefix or None,
        config={"endpoint": endpoint} if endpoint else None,
        # A stalled transfer is given up after `read_timeout`; `timeout` is for the whole request
        # and has to let a large object through a slow line.
        client_options={
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "connect_timeout": timedelta(seconds=5),
            "read_timeout": timedelta(seconds=60),
            "timeout": timedelta(minutes=15),
        },
        retry_config={
            "max_retries": retries,
            "retry_timeout": timedelta(minutes=3),
            "backoff": {
                "init_backoff": timedelta(milliseconds=300),
                "max_backoff": timedelta(seconds=15),
                "base": 2,
            },
        },
    )


_process: int | None = None  # the one whose threads serve all clients


def refuse_after_fork() -> None:
    """The client's threads do not survive a fork: the child would wait for them for ever."""
    global _process
    if _process is None:
        _process = os.getpid()
    elif _process != os.getpid():
        raise StoreError(
            "this process was forked from one that used S3, which cannot work; start workers with "
            "the `spawn` method (for PyTorch: DataLoader(multiprocessing_context='spawn'))"
        )


def _split_url(url: str) -> tuple[str, str]:
    """Bucket and prefix; a URL with anything else in it (a port, a key, a query) is refused."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    prefix = prefix.strip("/")
    plain = not prefix or prefix == "/".join(PurePosixPath(prefix).parts)
    if not BUCKET.fullmatch(bucket) or not plain or not PREFIX.fullmatch(prefix):
        raise StoreError("the store URL is not of the form s3://bucket/prefix; correct it")
    return bucket, prefix


def server_address(environment: Mapping[str, str]) -> str | None:
    """Return the server's address, or None for Amazon's own; checked, since the client only panics."""
    try:
        return store.server_address(environment)
    except ValueError as error:
        raise StoreError(str(error)) from error


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        not path.startswith("/") and ".." not in parts and not re.search(r"[\x00-\x1f\x7f]", path)
    )


def _key(path: str) -> str:
    """Return the object's name below the prefix, spelled in one way: `a//b` and `./a/b` are `a/b`."""
    parts = PurePosixPath(path).parts
    if not parts or not _is_inside(path):
        raise StoreError(f"{path!r} is not a path inside the store")
    return "/".join(parts)


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


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match.group(1) if match else None
