"""Reading the store: a local folder or any fsspec address. Nothing here writes.

Paths come from the registry and from manifests, so they are checked: relative, without `..`,
and, in a local store, not leading out through a link.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from catalog.errors import PathRefused, StoreFileError

CHUNK = 1 << 20


def relative_path(path: str) -> str:
    """`path` itself where it is a plain relative path inside a store; else `PathRefused`."""
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
        if self.is_local:
            self.root = Path(self.url.removeprefix("file://")).expanduser().resolve()
        else:
            self._open_remote()

    def _open_remote(self) -> None:
        from fsspec.core import url_to_fs

        try:
            self.filesystem, self._remote_root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise StoreFileError(
                f"the store {self.url} cannot be opened: {error}; check the address, or install "
                "`corpus-assets[s3]` for s3://"
            ) from error

    def address(self, path: str) -> str:
        """The absolute local path, or the full address that DuckDB and fsspec understand."""
        relative_path(path)
        if not self.is_local:
            joined = f"{self._remote_root.rstrip('/')}/{path}"
            return cast(str, self.filesystem.unstrip_protocol(joined))
        place = (self.root / path).resolve()
        if not place.is_relative_to(self.root):
            raise PathRefused(f"{path} leads out of the store {self.root} through a link")
        return str(place)

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """The file, for reading bytes."""
        address = self.address(path)
        try:
            with (
                open(address, "rb")
                if self.is_local
                else self.filesystem.open(self.filesystem._strip_protocol(address), "rb")
            ) as handle:
                yield handle
        except FileNotFoundError as error:
            raise StoreFileError(f"{path} is missing from the store {self.url}") from error
        except OSError as error:
            raise StoreFileError(f"{path} cannot be read: {error.strerror or error}") from error

    def read(self, path: str) -> bytes:
        """The whole file."""
        with self.open(path) as handle:
            return handle.read()

    def size(self, path: str) -> int:
        """Length in bytes."""
        with self.open(path) as handle:
            return handle.seek(0, 2)

    def sha256(self, path: str) -> str:
        """SHA-256 of the file in hex; reads it once, a megabyte at a time, GIL released."""
        digest = hashlib.sha256()
        with self.open(path) as handle:
            while chunk := handle.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def read_verified(self, path: str, sha256: str) -> bytes:
        """The whole file, refused when its bytes are not the recorded ones."""
        data = self.read(path)
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise StoreFileError(
                f"{path} has SHA-256 {found[:12]}, recorded was {sha256[:12]}: the file was "
                "changed after it was registered; restore it from a copy or rebuild the version"
            )
        return data
