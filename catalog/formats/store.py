"""Reading the store: a local folder, a prefix of an S3 bucket, or any other address of fsspec.
Nothing here changes or deletes a file; `create` makes new ones.

Paths come from the registry and from manifests, so they are checked: relative, without `..`, and,
in a local store, not leading through a link. Writers (`corpus_assets.core.store`) are made on top.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, Any, ClassVar, cast

from catalog.errors import PathRefused, StoreFileError
from catalog.formats import s3
from catalog.formats.temporary_files import flush_folder, temporary_beside

CHUNK = 1 << 20
REMOTE_CHUNK = 16 << 20  # whole files over the network: fewer, longer requests
QUICK_S = 10.0  # an answer that was cut off comes sooner; longer, and the client tried again itself
AGAIN = "run the same command again: finished parts are kept"


def relative_path(path: str, refused: type[Exception] = PathRefused) -> str:
    """Return `path` itself where it is a plain relative path inside a store; else raise."""
    pure = PurePosixPath(path)
    plain = pure.as_posix() == path and not pure.is_absolute() and path not in ("", ".")
    if not plain or ".." in pure.parts or "://" in path or re.search(r"[\x00-\x1f\x7f\\]", path):
        raise refused(
            f"{path!r} is not a path inside the store: the row or manifest that refers to it is "
            "wrong, record it again"
        )
    return path


class FileStore:
    """Files below one root, addressed by relative path; cheap to open.

    What subclasses raise instead of the catalog's errors they name in `error`,
    `refused` and, of a server that does not answer, `away`.
    """

    error: ClassVar[type[Exception]] = StoreFileError
    refused: ClassVar[type[Exception]] = PathRefused
    away: ClassVar[type[Exception]] = StoreFileError

    def __init__(self, url: str | Path, retries: int | None = None) -> None:
        self.url = str(url)
        self.is_local = "://" not in self.url or self.url.startswith("file://")
        self._client: Any = None  # of S3
        if self.is_local:
            self.root = Path(self.url.removeprefix("file://")).expanduser().resolve()
            self.url = str(self.root)
        elif self.url.startswith("s3://"):
            self._open_s3(retries)
        else:
            self._open_other()

    def _open_s3(self, retries: int | None) -> None:
        try:
            self.retries = s3.retries_allowed() if retries is None else retries
            self.bucket, self.prefix = s3.split_url(self.url)
            self.url = f"s3://{self.bucket}/{self.prefix}".rstrip("/")
            self.endpoint = s3.server_address()
            if not s3.has_credentials():
                raise ValueError(
                    f"no credentials for the store {self.url}; set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (or AWS_SKIP_SIGNATURE=true for a "
                    "public bucket)"
                )
            self._client = s3.connect(self.bucket, self.prefix, self.retries)
        except ValueError as error:
            raise self.error(str(error)) from None
        except ImportError as error:
            raise self.error(
                "a store on S3 needs an optional part: pip install 'corpus-assets[s3]'"
            ) from error

    def _open_other(self) -> None:
        from fsspec.core import url_to_fs

        try:
            self.filesystem, root = url_to_fs(self.url)
            self.url = self.filesystem.unstrip_protocol(root).rstrip("/")
        except (ImportError, ValueError) as error:
            raise self.error(
                f"the store {self.url} cannot be opened: {error}; use a folder, file:// or s3://"
            ) from error

    @cached_property
    def filesystem(self) -> Any:
        """A remote store for DuckDB, and for files that are read in pieces."""
        from obstore.fsspec import FsspecStore

        retries = self.retries

        class Files(FsspecStore):  # type: ignore[misc, unused-ignore]
            def _construct_store(self, bucket: str) -> Any:
                return s3.connect(bucket, retries=retries)

            def _open(self, path: str, mode: str = "rb", *args: Any, **options: Any) -> Any:
                """Ask for the size first: a file that fails to open complains when collected."""
                found = self.info(path)
                if found["type"] != "file":
                    raise FileNotFoundError(path)
                return super()._open(path, mode, *args, **(options | {"size": found["size"]}))

        # The variables may have changed since the last one was made.
        return cast(Any, Files)("s3", skip_instance_cache=True)

    def address(self, path: str) -> str:
        """Return the absolute local path, or the full address that DuckDB and fsspec understand."""
        if self.is_local:
            return str(self.place(path))
        return f"{self.url}/{relative_path(path, self.refused)}"

    def place(self, path: str, may_be_link: bool = False) -> Path:
        """Return where a file of a local store lies; nothing on the way to it may be a link, which
        could lead anywhere."""
        full = self.root
        parts = PurePosixPath(relative_path(path, self.refused)).parts
        try:
            for number, part in enumerate(parts, 1):
                full = full / part
                if full.is_symlink() and not (may_be_link and number == len(parts)):
                    raise self.link(full)
        except OSError as error:
            raise self.error(
                f"{path[:100]!r} cannot be in the store {self.url}: {error.strerror}"
            ) from error
        return full

    def link(self, full: Path) -> Exception:
        """Return the error for a symbolic link."""
        return self.refused(
            f"{full.relative_to(self.root)} in the store {self.url} is a symbolic link, and none is "
            "followed; put the file itself there, or delete the link"
        )

    @contextmanager
    def open(self, path: str, whole: bool = False) -> Iterator[IO[bytes]]:
        """The file, for reading bytes; `whole` asks for long requests over the network."""
        address = self.address(path)
        options = {"buffer_size": REMOTE_CHUNK} if whole else {}
        with (
            self.explained("read", path),
            (
                open(address, "rb")
                if self.is_local
                else self.filesystem.open(address.removeprefix("s3://"), "rb", **options)
            ) as handle,
        ):
            yield handle

    def read(self, path: str) -> bytes:
        """Return the whole file."""
        if self._client is None:
            with self.open(path) as handle:
                return handle.read()
        key = relative_path(path, self.refused)
        with self.explained("read", path):
            return cast(bytes, self._client.get(key).bytes().to_bytes())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return some bytes of a file, fewer where it ends before; one request on S3."""
        if length == 0:
            return b""
        if self._client is None:
            with self.open(path) as handle:
                handle.seek(offset)
                return handle.read(length)
        key = relative_path(path, self.refused)
        with self.explained("read", path):
            try:
                found = self._client.get_range(key, start=offset, length=length)
            except Exception as error:
                if s3.fault_of(error).status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    return b""
                raise
            return cast(bytes, found.to_bytes())

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        address = self.address(path)
        with self.explained("look for", path):
            if self.is_local:
                return Path(address).is_file()
            if self._client is None:
                return bool(self.filesystem.isfile(address))
            try:
                self._client.head(path)
            except FileNotFoundError:
                return False
            return True

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file, whole or not at all; False, and nothing changed, where one of that name
        is there. Of two who write one name at once, one gets True."""
        if not self.is_local and self._client is None:
            raise self.error(
                f"{path} cannot be written: the store {self.url} is only read; run this where the "
                "store is a folder or s3://"
            )
        with self.explained("write", path):
            if self.is_local:
                full = self.place(path)
                with temporary_beside(full, [data]) as temporary:
                    try:
                        os.link(temporary, full)
                    except FileExistsError:
                        return False
                flush_folder(full.parent)
                return True
            from obstore.exceptions import AlreadyExistsError, PreconditionError

            key = relative_path(path, self.refused)
            try:
                self._client.put(key, data, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

    def size(self, path: str) -> int:
        """Return length in bytes."""
        with self.open(path) as handle:
            return handle.seek(0, 2)

    def sha256(self, path: str) -> str:
        """Return SHA-256 of the file in hex; reads it once, a megabyte at a time, GIL released."""
        digest = hashlib.sha256()
        with self.open(path, whole=True) as handle:
            while chunk := handle.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def read_verified(self, path: str, sha256: str) -> bytes:
        """Return the whole file, refused when its bytes are not the recorded ones."""
        data = self.read(path)
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise self.error(
                f"{path} has SHA-256 {found[:12]}, recorded was {sha256[:12]}: the file was "
                "changed after it was registered; restore it from a copy or rebuild the version"
            )
        return data

    def list(self, prefix: str) -> list[str]:
        """Return every file below a folder, or below the root, folder by folder in the order of
        names; temporary ones and links too. A thousand a request on S3."""
        address = self.address(prefix) if prefix else self.url
        found: Any = []
        with self.explained("list", prefix):
            if self.is_local:
                start = len(str(self.root)) + 1
                for place, folders, names in os.walk(address):
                    links = [name for name in folders if os.path.islink(f"{place}/{name}")]
                    found += [f"{place}/{name}"[start:] for name in (*names, *links)]
            elif self._client is None:
                start = len(self.filesystem._strip_protocol(self.url)) + 1
                found += [name[start:] for name in self.filesystem.find(address)]
            else:
                found = self.repeated(
                    lambda: [
                        e["path"] for chunk in self._client.list(prefix or None) for e in chunk
                    ]
                )
        return sorted(found, key=lambda name: name.split("/"))

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly below one, in no order; what they hold is not
        looked at. A thousand a request on S3."""
        address = self.address(prefix)
        with self.explained("list", prefix):
            if self.is_local:
                if os.path.isdir(address):
                    with os.scandir(address) as entries:
                        yield from (e.name for e in entries if e.is_dir(follow_symlinks=False))
            elif self._client is not None:
                answer = self.repeated(lambda: self._client.list_with_delimiter(prefix))
                yield from (path.rpartition("/")[2] for path in answer["common_prefixes"])
            elif self.filesystem.isdir(address):
                listed = self.filesystem.ls(address, detail=True)
                names = (each["name"] for each in listed if each["type"] == "directory")
                yield from (name.rstrip("/").rpartition("/")[2] for name in names)

    def repeated(self, ask: Callable[[], Any]) -> Any:
        """Ask an S3 server, and again where the body of its answer was cut off: of lists and
        deletions the client does not repeat that itself."""
        left = self.retries
        while True:
            began = time.monotonic()
            try:
                return ask()
            except FileNotFoundError:
                raise
            except Exception as error:
                is_quick = time.monotonic() - began < QUICK_S
                if not left or not is_quick or not s3.fault_of(error).unreachable:
                    raise
                left -= 1

    @contextmanager
    def explained(self, verb: str, path: str) -> Iterator[None]:
        """Turn the errors of a file system or an S3 client into ours."""
        if self._client is None:
            try:
                yield
            except FileNotFoundError as error:
                raise self.missing(path) from error
            except OSError as error:
                raise self.error(
                    f"cannot {verb} {path} in the store {self.url}: {error.strerror or error}"
                ) from error
            return
        from obstore.exceptions import BaseError

        try:
            s3.refuse_after_fork()
        except ValueError as error:
            raise self.error(str(error)) from None
        try:
            yield
        except FileNotFoundError as error:
            fault = s3.fault_of(error)
            if fault.code != "NoSuchBucket":
                raise self.missing(path) from None
            raise self.error(self._message(verb, path, fault)) from None
        except (BaseError, OSError) as error:  # the cause names the access key
            fault = s3.fault_of(error)
            kind = self.error if fault.wrong_credentials or fault.wrong_region else self.away
            raise kind(self._message(verb, path, fault)) from None

    def missing(self, path: str) -> Exception:
        """Return the error for a file that is not there."""
        return self.error(
            f"{path} is not in the store {self.url}; delete what is left of its folder there and run "
            "`corpus build` to rebuild it"
        )

    def _message(self, verb: str, path: str, fault: s3.Fault) -> str:
        server = self.endpoint or "of Amazon"
        if fault.code == "NoSuchBucket":
            return (
                f"the bucket {self.bucket} does not exist on the S3 server {server}; create it, or "
                f"correct the store URL {self.url}"
            )
        if fault.wrong_credentials:
            return (
                f"the S3 server {server} does not accept the credentials ({fault.code}); check "
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
            )
        if fault.wrong_region:
            return f"the bucket {self.bucket} is in another region; set AWS_REGION to its region"
        if fault.status in (401, 403):
            return (
                f"access denied: cannot {verb} {path} in the store {self.url}; the credentials need "
                f"s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket {self.bucket}"
            )
        if fault.unreachable:
            return (
                f"the S3 server {server} cannot be reached; check AWS_ENDPOINT_URL and the network, "
                f"then {AGAIN}"
            )
        what = f"{fault.shown}; wait a little and" if fault.status else f"{fault.line};"
        return f"cannot {verb} {path} in the store {self.url}: {what} {AGAIN}"
