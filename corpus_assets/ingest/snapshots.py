"""The pinned list of a snapshot's files: listed and hashed once, then frozen.

A snapshot's list is made again only when the recipe points elsewhere or when names or sizes at its
location changed; a file whose bytes changed under the same name and size is refused when it is read.
"""

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.formats.places import located, portable
from corpus_assets.core.errors import MissingInput
from corpus_assets.core.file_spool import unnamed_file
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output, Store, damaged, sealed_json, unsealed
from corpus_assets.ingest.records import SourceFile


@dataclass(frozen=True)
class SnapshotFiles:
    snapshot: str
    location: str
    files: Sequence[SourceFile]
    robots: Sequence[SourceFile] = ()  # the crawl's robots.txt records beside the files
    indexes: Sequence[Output] = ()  # rows of the crawl's URL index, one file a part

    @property
    def pinned(self) -> tuple[PinnedFile, ...]:
        return tuple(
            PinnedFile(name=file.name, bytes=file.size, sha256=file.sha256) for file in self.files
        )

    @cached_property
    def content_hash(self) -> str:
        """Identity of the files: names and contents, not where they lie."""
        lists: list[Iterator[object]] = [
            ([file.name, file.sha256] for file in self.files),
            ([file.name, file.sha256] for file in self.robots),
            (output.sha256 for output in self.indexes),
        ]
        if not self.robots and not self.indexes:
            return _digest(lists[0])
        return _digest(iter(lists))


def _digest(items: Iterator[object]) -> str:
    """Return the digest of a list, as `digest` tells it, of which no more than an item is held."""
    whole = hashlib.sha256()

    def add(each: object) -> None:
        if not isinstance(each, Iterator):
            whole.update(canonical_json(each))
            return
        whole.update(b"[")
        for number, item in enumerate(each):
            whole.update(b"," if number else b"")
            add(item)
        whole.update(b"]")

    add(items)
    return whole.hexdigest()


def _path(snapshot: str) -> str:
    return f"sources/{snapshot}.json"


def save_snapshot_files(store: Store, pinned: SnapshotFiles, home: Path) -> None:
    """Write the list; files inside the home are listed relative to it, so that it can be moved."""

    def plain(each: SourceFile | Output) -> dict[str, Any]:
        found = asdict(each)
        return found | {"uri": portable(found["uri"], home)} if "uri" in found else found

    lists = {name: [plain(each) for each in getattr(pinned, name)] for name in LISTS}
    location = portable(pinned.location, home)
    body = {"snapshot": pinned.snapshot, "location": location} | lists
    store.write(_path(pinned.snapshot), sealed_json(body))


def forget_snapshot_files(store: Store, snapshot: str) -> None:
    """Remove the pinned list of a snapshot; no harm where there is none."""
    store.delete(_path(snapshot))


def load_snapshot_files(store: Store, snapshot: str, home: Path) -> SnapshotFiles:
    """Read a pinned list, with where its files lie now."""
    if not store.exists(_path(snapshot)):
        raise MissingInput(
            f"source_files of {snapshot} is not pinned yet; materialize source_files first, or "
            "run `corpus build`"
        )
    data = store.read(_path(snapshot))
    try:
        if (found := _load_long(data, home)) is not None:
            return found
        raw = unsealed(store, _path(snapshot), data)
        lists = {
            name: tuple(_entry(kind, each, home) for each in raw.get(name, ()))
            for name, kind in LISTS.items()
        }
        return SnapshotFiles(raw["snapshot"], located(raw["location"], home), **lists)
    except (KeyError, TypeError) as error:
        raise damaged(store, _path(snapshot), "does not list a snapshot's files") from error


def listed_as(store: Store, snapshot: str) -> str | None:
    """Return the checksum of a pinned list, which stands at its beginning; None where there is no
    such list."""
    if not store.exists(_path(snapshot)):
        return None
    head = SEALED.match(store.read_range(_path(snapshot), 0, 80))
    return head[1].decode() if head else None


SEALED = re.compile(rb'\{"checksum":"([0-9a-f]{64})",')
LISTS: dict[str, Callable[..., Any]] = {
    "files": SourceFile,
    "indexes": Output,
    "robots": SourceFile,
}
LONG_BYTES = 1 << 20  # of a list whose entries are read when they are asked for


def _entry(kind: Callable[..., Any], fields: dict[str, Any], home: Path) -> Any:
    if "uri" in fields:
        fields = fields | {"uri": located(fields["uri"], home)}
    return kind(**fields)


def _load_long(data: bytes, home: Path) -> SnapshotFiles | None:
    """Return a long list as it was written, its seal checked: it waits in a temporary file, and 8
    bytes an entry tell where each is. None for one that is short, or is not as it was written."""
    head = SEALED.match(data) if len(data) > LONG_BYTES else None
    if head is None:
        return None
    whole = hashlib.sha256(b"{")
    whole.update(memoryview(data)[head.end() :])
    if whole.hexdigest().encode() != head[1]:
        return None
    kept = unnamed_file(data)
    found: dict[str, Any] = {}
    at = head.end()
    while at < len(data):
        key, at = _value(data, at)
        if key in LISTS:
            starts = _entries(data, at + 2)  # behind the colon and the bracket
            found[key] = _listed(kept, starts, partial(_entry, LISTS[key], home=home))
            at = int(starts[-1]) + (len(starts) == 1)
        else:
            found[key], at = _value(data, at + 1)
        at += 1  # a comma, or the end
    return SnapshotFiles(**found | {"location": located(found["location"], home)})


def _listed(
    file: pa.NativeFile, starts: npt.NDArray[np.int64], read: Callable[[dict[str, Any]], Any]
) -> LazySequence[Any]:
    def entry(_: int, start: int, end: int) -> Any:
        return read(json.loads(file.read_at(end - start - 1, start)))

    return LazySequence(entry, starts[:-1], starts[1:])


def _entries(data: bytes, at: int) -> npt.NDArray[np.int64]:
    """Return where the entries of a list in canonical JSON begin, and the place behind the bracket
    that ends it; of an empty one that of the bracket."""
    starts = array("q", [at])
    while data[at] != ord("]"):
        _, at = _value(data, at)
        starts.append(at + 1)  # behind a comma or the bracket
        at += data[at] == ord(",")
    return np.frombuffer(starts, np.int64)


def _value(data: bytes, at: int, most: int = 1 << 12) -> tuple[Any, int]:
    """Return the value of canonical JSON at a place, and the place behind it."""
    text = data[at : at + most].decode("utf-8", "ignore")
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        if at + most >= len(data):
            raise
        return _value(data, at, 8 * most)
    return value, at + len(text[:end].encode())


_DECODER = json.JSONDecoder()
