"""Reading the store: a local folder or any fsspec address. Nothing here writes.

Paths come from the registry and from manifests, so they are checked: relative, without `..`,
and, in a local store, not leading out through a link.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import urlsplit

from catalog.errors import PathRefused, StoreFileError

CHUNK = 1 << 20
REMOTE_CHUNK = 16 << 20  # whole files over the network: fewer, longer requests
AWS_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",  # the role of a cloud machine, used only where it is asked for
    "AWS_SKIP_SIGNATURE",
)
AWS_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def has_credentials(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the AWS_* variables say how to sign requests to S3, or not to."""
    return any(environment.get(name) for name in AWS_CREDENTIALS)


def server_address(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the S3 server's address, None for Amazon's own; ValueError says what is wrong with
    it."""
    name, endpoint = next(
        ((name, environment[name]) for name in AWS_ENDPOINTS if environment.get(name)), ("", "")
    )
    if not endpoint:
        return None
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{name} is not a valid URL; write it as https://host:port") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query:
        raise ValueError(f"{name} is not a server's address; write it as https://host:port")
    allowed = environment.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes", "on", "y")
    if parts.scheme == "http" and not allowed:
        raise ValueError(
            f"{name} {endpoint} is not encrypted; use https://, or set AWS_ALLOW_HTTP=true for a "
            "server on this machine"
        )
    return endpoint.rstrip("/")


def relative_path(path: str) -> str:
    """Return `path` itself where it is a plain relative path inside a store; else `PathRefused`."""
    pure = PurePosixPath(path)
    plain = pure.as_posix() == path and not pure.is_absolute() and path not in ("", ".")
    if not plain or ".." in pure.parts or "\\" in path or "\0" in path or "://" in path:
        raise PathRefused(
            f"the path {path!r} is not a plain path relative to the store: "
            "the row or manifest that names it is wrong, record it again"
        )
    return path


class Store:
    """Files below one root, addressed by relative path."""

    def __init__(self, url: str | Path) -> None:
        self.url = str(url)
        self.is_local = "://" not in self.url or self.url.startswith("file://")
        self.filesystem: Any = None
        self._errors: tuple[type[Exception], ...] = (OSError,)
        if self.is_local:
            self.root = Path(self.url.removeprefix("file://")).expanduser().resolve()
        else:
            self._open_remote()

    def _open_remote(self) -> None:
        from fsspec.core import url_to_fs

        try:
            if self.url.startswith("s3://"):
                self._open_s3()
                return
            self.filesystem, self._remote_root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise StoreFileError(
                f"the store {self.url} cannot be opened: {error}; check the address, or install "
                "`corpus-assets[s3]` for s3://"
            ) from error

    def _open_s3(self) -> None:
        """Server and credentials from the AWS_* variables, as the pipeline takes them."""
        from obstore.exceptions import BaseError
        from obstore.fsspec import FsspecStore

        endpoint = server_address()
        if not has_credentials():
            raise ValueError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")

        class Files(FsspecStore):  # type: ignore[misc, unused-ignore]
            def _open(self, path: str, mode: str = "rb", *args: Any, **options: Any) -> Any:
                """Ask for the size first: a file that fails to open complains when collected."""
                found = self.info(path)
                if found["type"] != "file":
                    raise FileNotFoundError(path)
                return super()._open(path, mode, *args, **(options | {"size": found["size"]}))

        options: dict[str, Any] = {
            "client_options": {"allow_http": (endpoint or "").startswith("http://")},
            "skip_instance_cache": True,  # the variables may have changed since
        }
        self.filesystem = Files("s3", **options)
        self._remote_root = self.url.removeprefix("s3://")
        self._errors = (OSError, BaseError)

    def address(self, path: str) -> str:
        """Return the absolute local path, or the full address that DuckDB and fsspec understand."""
        relative_path(path)
        if not self.is_local:
            joined = f"{self._remote_root.rstrip('/')}/{path}"
            return cast(str, self.filesystem.unstrip_protocol(joined))
        place = self.root / path
        if place.resolve() != place:
            raise PathRefused(
                f"{path} in the store {self.root} is or lies behind a symbolic link, and none is "
                "followed: put the file itself there"
            )
        return str(place)

    @contextmanager
    def open(self, path: str, whole: bool = False) -> Iterator[IO[bytes]]:
        """The file, for reading bytes; `whole` asks for long requests over the network."""
        address = self.address(path)
        try:
            with open(address, "rb") if self.is_local else self._remote(address, whole) as handle:
                yield handle
        except FileNotFoundError as error:
            raise StoreFileError(f"{path} is missing from the store {self.url}") from error
        except self._errors as error:
            cause = error if self.is_local else None  # a server's answer may name the access key
            raise StoreFileError(f"{path} cannot be read: {_reason(error)}") from cause

    def _remote(self, address: str, whole: bool) -> Any:
        options = {"buffer_size": REMOTE_CHUNK} if whole and self.url.startswith("s3://") else {}
        return self.filesystem.open(self.filesystem._strip_protocol(address), "rb", **options)

    def list(self, prefix: str) -> list[str]:
        """Return every file below a folder, by name; temporary ones too."""
        address = self.address(prefix)
        try:
            if self.is_local:
                found = (full for full in Path(address).rglob("*") if not full.is_dir())
                return sorted(full.relative_to(self.root).as_posix() for full in found)
            root = f"{self._remote_root.rstrip('/')}/"
            remote = self.filesystem.find(self.filesystem._strip_protocol(address))
            return sorted(name.removeprefix(root) for name in remote)
        except FileNotFoundError:
            return []
        except self._errors as error:
            raise StoreFileError(f"{prefix} cannot be listed: {_reason(error)}") from None

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""
        address = self.address(path)
        try:
            if self.is_local:
                return Path(address).is_file()
            return bool(self.filesystem.exists(self.filesystem._strip_protocol(address)))
        except self._errors as error:
            raise StoreFileError(f"{path} cannot be looked for: {_reason(error)}") from None

    def read(self, path: str) -> bytes:
        """Return the whole file."""
        with self.open(path, whole=True) as handle:
            return handle.read()

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
            raise StoreFileError(
                f"{path} has SHA-256 {found[:12]}, recorded was {sha256[:12]}: the file was "
                "changed after it was registered; restore it from a copy or rebuild the version"
            )
        return data


def _reason(error: Exception) -> str:
    """Return one line of an error's message. An S3 client's message goes on with the server's
    answer."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    line = str(error).partition("\n")[0]
    if "403 Forbidden" in line or "401 Unauthorized" in line:
        return "access denied; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their rights"
    if "HTTP error" in line:
        return "the S3 server cannot be reached; check AWS_ENDPOINT_URL and the network"
    return line.partition(": <")[0]


# Files for their owner alone, whatever the umask is.


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are absent, with mode 0700."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def private(path: str, flags: int) -> int:
    """Open a file, as an `opener`: what is created has mode 0600, and no link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
