"""All file I/O of the project: atomic, content-hashed, in a local folder or on S3.

A task's files live in `artifacts/<stage>/<fingerprint>/`; `result.json` is written last and is
the only proof that they are complete. A folder without it does not exist for anybody, so a
killed writer leaves nothing that a later run would trust. Paths are relative to the store's
root and use `/`.
"""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from catalog.formats.canonical import sealed_json as sealed_json
from catalog.formats.canonical import unseal
from catalog.formats.store import FileStore as Reader
from catalog.formats.temporary_files import is_temporary, leftovers, temporary_beside
from corpus_assets.core.errors import CorruptArtifact, DriftError, StoreError
from corpus_assets.core.identity import digest
from corpus_assets.core.store_s3 import Pieces as Pieces
from corpus_assets.core.store_s3 import S3Store

RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a task wrote."""

    path: str  # relative to the store's root
    sha256: str
    bytes: int
    rows: int  # 0 where rows make no sense


@dataclass(frozen=True)
class Result:
    """What a finished task left in the store."""

    stage: str
    fingerprint: str
    outputs: Mapping[str, Output]
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)  # small JSON: reasons, metrics

    @property
    def content_hash(self) -> str:
        """Identity of what was written, whoever wrote it."""
        return digest({name: out.sha256 for name, out in self.outputs.items()})

    @property
    def bytes(self) -> int:
        return sum(out.bytes for out in self.outputs.values())


class Store(Protocol):
    """Where artifacts and versions live."""

    url: str

    def read(self, path: str) -> bytes: ...
    def read_range(self, path: str, offset: int, length: int) -> bytes: ...
    def open(self, path: str) -> AbstractContextManager[IO[bytes]]: ...
    def write(self, path: str, data: bytes | Pieces) -> None: ...
    def create(self, path: str, data: bytes) -> bool: ...
    def exists(self, path: str) -> bool: ...
    def local(self, path: str) -> Path: ...
    def list(self, prefix: str) -> Iterable[str]: ...
    def folders(self, prefix: str) -> Iterable[str]: ...
    def delete(self, path: str) -> None: ...
    def leftovers(self) -> Iterator[Path]: ...


class LocalStore(Reader):
    """A folder."""

    error = refused = StoreError

    def __init__(self, root: Path) -> None:
        super().__init__(root)

    def write(self, path: str, data: bytes | Pieces) -> None:
        """Write under a temporary name, flush to disk, rename: whole or not at all."""
        full = self.place(path)
        try:
            with temporary_beside(full, [data] if isinstance(data, bytes) else data) as temporary:
                os.replace(temporary, full)
        except OSError as error:
            raise StoreError(_write_message(self.url, path, error)) from error

    def local(self, path: str) -> Path:
        """Return a path that can be memory-mapped."""
        if not self.exists(path):
            raise self.missing(path)
        return self.root / path

    def list(self, prefix: str) -> list[str]:
        """Every file under `prefix`, or all, temporary files left out, folder by folder; no link is
        among them."""
        found = [path for path in super().list(prefix) if not is_temporary(path)]
        for path in found:
            if os.path.islink(full := self.root / path):
                raise self.link(full)
        return found

    def leftovers(self) -> Iterator[Path]:
        """Temporary files, left by killed writers unless somebody writes right now."""
        return leftovers(self.root)

    def delete(self, path: str) -> None:
        """Remove a file if it is there, and its folder when that leaves it empty. A link goes
        itself, and not what it leads to."""
        full = self.place(path, may_be_link=True)
        with self.explained("delete", path):
            full.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                full.parent.rmdir()


def _write_message(url: str, path: str, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk of the store {url} is full (while writing {path}); free some space and run "
            "the same command again: finished parts are kept"
        )
    return f"cannot write {path} to the store {url}: {error}"


def open_store(url: str) -> Store:
    """Return the store at a folder, a `file://` URL or an `s3://bucket/prefix` URL."""
    if url.startswith("s3://"):
        return S3Store(url)
    if "://" in url and not url.startswith("file://"):
        raise StoreError(f"store URL {url!r} is not supported; use a folder, file:// or s3://")
    return LocalStore(Path(url.removeprefix("file://")))


def sha256_hex(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def _sha256_and_size(data: bytes | Pieces) -> tuple[str, int]:
    whole, size = hashlib.sha256(), 0
    for piece in [data] if isinstance(data, bytes) else data:
        whole.update(piece)
        size += len(piece)
    return whole.hexdigest(), size


def artifact_folder(stage: str, fingerprint: str) -> str:
    return f"artifacts/{stage}/{fingerprint}"


def load_result(store: Store, stage: str, fingerprint: str) -> Result | None:
    """Return the finished result of a task, or None where it has not been computed."""
    path = f"{artifact_folder(stage, fingerprint)}/{RESULT}"
    if not store.exists(path):
        return None
    raw = read_sealed(store, path)
    try:
        if (raw["stage"], raw["fingerprint"]) != (stage, fingerprint):
            raise damaged(store, path, f"is the result of {raw['stage']} {raw['fingerprint']}")
        outputs = {name: Output(**out) for name, out in raw["outputs"].items()}
        return Result(stage, fingerprint, outputs, raw["counts"], raw["notes"])
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(store, path, "is not a result") from error


def commit_result(
    store: Store,
    stage: str,
    fingerprint: str,
    files: Mapping[str, tuple[bytes | Pieces, int]],
    counts: Mapping[str, int],
    notes: Mapping[str, Any],
) -> Result:
    """Write a task's files, then the result that makes them count.

    `files` maps a file name to (content, rows). Where another run already committed the same
    fingerprint, the contents must be equal: anything else is a bug worth stopping for.
    """
    folder = artifact_folder(stage, fingerprint)
    outputs = {
        name: Output(f"{folder}/{name}", *_sha256_and_size(data), rows)
        for name, (data, rows) in files.items()
    }
    result = Result(stage, fingerprint, outputs, dict(counts), dict(notes))
    earlier = load_result(store, stage, fingerprint)
    if earlier is not None:
        if earlier.content_hash != result.content_hash:
            raise DriftError(
                f"{stage} {fingerprint[:12]} gave {result.content_hash[:12]} where the store has "
                f"{earlier.content_hash[:12]}: the stage's output changed without its VERSION; "
                "raise VERSION in its file"
            )
        return earlier
    for name, (data, _) in files.items():
        store.write(f"{folder}/{name}", data)
    body = {
        "stage": stage,
        "fingerprint": fingerprint,
        "outputs": {name: asdict(out) for name, out in outputs.items()},
        "counts": dict(counts),
        "notes": dict(notes),
    }
    store.write(f"{folder}/{RESULT}", sealed_json(body))
    return result


def read_output(store: Store, output: Output) -> bytes:
    """Return an output's bytes, refused when they are not what was written."""
    return read_checked(store, output.path, output.sha256)


def read_checked(store: Store, path: str, sha256: str) -> bytes:
    """Return a file's bytes, refused when they have another digest than the recorded one."""
    data = store.read(path)
    _compare(store, path, sha256_hex(data), sha256)
    return data


def local_checked(store: Store, path: str, sha256: str) -> Path:
    """Return a file's local path, as `Store.local` gives it; its content is read once and checked."""
    full = store.local(path)
    try:
        with open(full, "rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise StoreError(f"cannot read {path} in the store {store.url}: {error}") from error
    _compare(store, path, found, sha256)
    return full


def read_sealed(store: Store, path: str) -> dict[str, Any]:
    """Return what `sealed_json` wrote, refused when it was altered."""
    return unsealed(store, path, store.read(path))


def unsealed(store: Store, path: str, data: bytes) -> dict[str, Any]:
    """Return the body of what `sealed_json` wrote at a path."""
    try:
        body, found, recorded = unseal(data)
    except ValueError as error:
        raise damaged(store, path, "is damaged JSON") from error
    _compare(store, path, found, recorded)
    return body


def _compare(store: Store, path: str, found: str, recorded: str) -> None:
    if found != recorded:
        raise damaged(store, path, f"has SHA-256 {found}, recorded is {recorded}")


def damaged(store: Store, path: str, what: str) -> CorruptArtifact:
    """Return the error for a file that is not what was recorded: nothing may be made from it."""
    if path.startswith("artifacts/"):
        cure = "delete its folder and build again"
    elif path.startswith(("parts/", "orders/", "results/", "finished/")):
        cure = "delete it and build again"
    elif path.startswith("sources/") and path.count("/") == 1:
        cure = "delete it and run `corpus build`, which lists the snapshot's files again"
    else:
        cure = "restore it from a copy of the store"
    return CorruptArtifact(f"{path} in the store {store.url} {what}: it is damaged; {cure}")
