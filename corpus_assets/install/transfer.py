"""A file from its place to this machine, in as many runs as it takes.

What has arrived lies under `.partial` in the folder of models, with what the server said of the
file. A later run goes on at that byte if the server says the same; where it gives neither ETag nor
date, only if a digest is known to compare with at the end.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from catalog.figures import size
from corpus_assets.core.errors import AbsentSource, ChangedSource, ModelError, SourceError
from corpus_assets.core.identity import file_digest
from corpus_assets.ingest import Fetcher, Stat, shown_url
from corpus_assets.install.contents import Wanted

PARTIAL = ".partial"
DATA, STAT = "data", "stat.json"


def fetch_file(fetcher: Fetcher, wanted: Wanted, folder: Path, max_bytes: int) -> Path:
    """Return a complete file below `folder`, with the size and digest that are known of it. It stays
    there until it is moved or `forget` is called. Call it inside `alone`."""
    place = _partial(folder, wanted)
    try:
        stat = fetcher.stat(wanted.url)
    except AbsentSource as error:
        raise ModelError(
            f"{shown_url(wanted.url)} does not exist on its server: check the mirror, or where the "
            "model is published now"
        ) from error
    _check_size(wanted, stat.size, max_bytes)
    place.mkdir(parents=True, exist_ok=True)
    start = _kept_bytes(place, wanted, stat)
    free = shutil.disk_usage(place).free
    if stat.size - start > free:
        raise ModelError(
            f"{shown_url(wanted.url)} needs {size(stat.size - start)}, {place} has {size(free)}: "
            "free some, or set CORPUS_MODELS to another folder"
        )
    try:
        with open(place / DATA, "ab") as handle:
            handle.truncate(start)
            fetcher.pull(wanted.url, stat, start, stat.size, handle.write)
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise ModelError(
            f"{place} cannot be written ({error.strerror}); what has arrived of "
            f"{shown_url(wanted.url)} is kept: free some space, or set CORPUS_MODELS to another "
            "folder, and run the same command again"
        ) from error
    except ChangedSource as error:
        forget(folder, wanted)
        raise ModelError(
            f"{shown_url(wanted.url)} was changed on its server while it was fetched; nothing was "
            "installed: run the same command again"
        ) from error
    found = file_digest(place / DATA) if wanted.sha256 else ""
    if found != wanted.sha256:
        forget(folder, wanted)
        raise ModelError(
            f"{shown_url(wanted.url)} has SHA-256 {found}, not {wanted.sha256}; nothing was "
            "installed: check address and digest at their source"
        )
    return place / DATA


def forget(folder: Path, wanted: Wanted) -> None:
    """Remove what has arrived of a file."""
    shutil.rmtree(_partial(folder, wanted), ignore_errors=True)


@contextmanager
def alone(models: Path, name: str) -> Iterator[Path]:
    """Yield the folder where what arrives of a model is gathered, to one process at a time. The
    folder goes when it is empty."""
    folder = models / PARTIAL / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{name}.lock")
        handle = _locked(lock)
    except OSError as error:
        raise ModelError(
            f"model folder {models} cannot be written ({error.strerror}): set CORPUS_MODELS to a "
            "writable folder and run the same command again"
        ) from error
    try:
        yield folder
    finally:
        with suppress(OSError):  # not empty: a later run goes on with it
            folder.rmdir()
            lock.unlink()
            lock.parent.rmdir()
        os.close(handle)


def _locked(lock: Path) -> int:
    """Take the lock's file; again where the one who had it removed it."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                return handle
        os.close(handle)


def _partial(folder: Path, wanted: Wanted) -> Path:
    return folder / hashlib.sha256(wanted.url.encode()).hexdigest()[:32]


def _check_size(wanted: Wanted, found: int, max_bytes: int) -> None:
    if found > max_bytes:
        raise SourceError(
            f"{shown_url(wanted.url)}: has {found} bytes, more than the {max_bytes} such a file may "
            "have; check the address"
        )
    if wanted.size is None and not found:
        raise ModelError(
            f"{shown_url(wanted.url)} is empty on its server; nothing was installed: check the "
            "mirror, or where the model is published now"
        )
    if wanted.size is not None and found != wanted.size:
        raise ModelError(
            f"{shown_url(wanted.url)} has {found} bytes, not {wanted.size} as its publisher says; "
            "nothing was fetched"
        )


def _kept_bytes(place: Path, wanted: Wanted, stat: Stat) -> int:
    """Return how many bytes of the same file are here already, and note what the file is."""
    is_known = bool(stat.etag or stat.modified or wanted.sha256)
    said = json.dumps(asdict(stat), sort_keys=True)
    try:
        kept = (place / STAT).read_text(encoding="utf-8")
        here = (place / DATA).stat().st_size
    except OSError:
        kept, here = "", 0
    (place / STAT).write_text(said, encoding="utf-8")
    return here if is_known and kept == said and here <= stat.size else 0
