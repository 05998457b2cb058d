"""Snapshots: find what they consist of, pin it, and read the pinned files."""

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.formats.places import located, portable
from corpus_assets.core.errors import MissingInput, SourceError
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output, Store, damaged, sealed_json, unsealed
from corpus_assets.core.task import Each, TaskContext, unnamed_file
from corpus_assets.ingest.crawl import (
    CrawlPlace,
    CrawlSettings,
    IndexSettings,
    OnProgress,
    Take,
    choose,
    pin_indexes,
    read_indexed,
    robots_path,
)
from corpus_assets.ingest.entry import SourcedRecipe, SourceEntry
from corpus_assets.ingest.fetch import Opener, Reach, forget_cached, is_remote, open_pinned
from corpus_assets.ingest.formats import format_of, read_records, refuse_formats
from corpus_assets.ingest.gates import GateSettings
from corpus_assets.ingest.listing import base_of, find_files, list_files, list_names, list_remote
from corpus_assets.ingest.locations import DEMO, Locations
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.source import SourceSpec

# The pinned list of a snapshot's files: listed and hashed once, then frozen.
#
# A snapshot is frozen. Its list is made anew only when the recipe points elsewhere or
# when names or sizes at its location changed; a file whose bytes changed under the same name and
# size is refused when it is read.


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
    head = re.match(rb'\{"checksum":"([0-9a-f]{64})",', data) if len(data) > LONG_BYTES else None
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
) -> Each[Any]:
    def entry(_: int, start: int, end: int) -> Any:
        return read(json.loads(file.read_at(end - start - 1, start)))

    return Each(entry, starts[:-1], starts[1:])


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


# What a snapshot consists of, looked up where it lies: here, on a server, or in a crawl.
#
# A list that was pinned before is taken as it is where its location is still the same. Local
# folders are looked at again (names and sizes); servers are not asked: each request for a file
# names the pinned ETag, so a changed one is refused when it is read.


def list_snapshot_files(
    recipe: SourcedRecipe,
    locations: Locations,
    store: Store,
    snapshot: str,
    tell: OnProgress | None = None,
) -> SnapshotFiles:
    """List the snapshot's files with sizes and digests; the pinned list where it still holds."""
    source = recipe.source_of(snapshot)
    root = locations.home.root
    known = load_snapshot_files(store, snapshot, root) if _is_pinned(store, snapshot) else None
    if source.crawl is not None:
        return _list_crawl(recipe, locations, store, source, source.crawl, snapshot, known, tell)
    location = locations.resolve(source.snapshots[snapshot])
    if not is_remote(location):
        one_spelling = located(portable(location, root), root)  # as the pinned list has it
        return _list_local(source, one_spelling, snapshot, known)
    if known is not None and known.location == location:
        return known
    if format_of(source.format).is_folder:
        raise SourceError(
            f"snapshot {snapshot} of {source.name}: a folder of {source.format} files is read on "
            "this machine only; copy it here"
        )
    with reach_of(source, locations, snapshot).fetcher() as fetcher:
        files = list_remote(fetcher, location, source.format)
    if not files:
        raise SourceError(
            f"snapshot {snapshot} of {source.name}: nothing to read at {location}; correct the "
            "location in the recipe"
        )
    return SnapshotFiles(snapshot, location, tuple(files))


def refuse_absent(recipe: SourcedRecipe, locations: Locations, snapshot: str) -> None:
    """Refuse a snapshot that should lie on this machine and does not, without reading any file."""
    source = recipe.source_of(snapshot)
    stated = source.snapshots[snapshot]
    is_elsewhere = source.crawl is not None or is_remote(stated)
    if not is_elsewhere and not stated.startswith(DEMO):  # those are made when they are needed
        find_files(source, locations.resolve(stated), snapshot)


def is_as_pinned(recipe: SourcedRecipe, locations: Locations, store: Store, snapshot: str) -> bool:
    """Whether the files of a pinned snapshot have the names and sizes of those that were pinned. No
    file is read, and servers are not asked."""
    source = recipe.source_of(snapshot)
    stated = source.snapshots[snapshot]
    if source.crawl is not None or is_remote(stated):
        return True
    if stated.startswith(DEMO) and not locations.home.demo_sources.exists():
        return True  # those are made when they are needed
    there = list_names(locations.resolve(stated), source.format)
    known = load_snapshot_files(store, snapshot, locations.home.root)
    return there == _names_of(known)


def reach_of(source: SourceEntry, locations: Locations, snapshot: str) -> Reach:
    """Return how the files of a source's snapshot are reached."""
    if source.crawl is not None:
        return Reach(source.crawl, locations.home.root, source.crawl.base)
    return Reach(source.fetch, locations.home.root, locations.resolve(source.snapshots[snapshot]))


@dataclass
class OpenPlace:
    """A crawl's place with its connections; use it in a `with` statement."""

    settings: CrawlSettings
    locations: Locations

    def __enter__(self) -> CrawlPlace:
        base = self.settings.base
        if not is_remote(base):
            base = f"{self.locations.resolve(base.rstrip('/'))}/"
        settings = self.settings.model_copy(update={"base": base})
        self._fetcher = Reach(settings, self.locations.home.root, base).fetcher()
        return CrawlPlace(settings, self._fetcher)

    def __exit__(self, *_: object) -> None:
        self._fetcher.close()


def _list_crawl(
    recipe: SourcedRecipe,
    locations: Locations,
    store: Store,
    source: SourceEntry,
    settings: CrawlSettings,
    snapshot: str,
    known: SnapshotFiles | None,
    tell: OnProgress | None,
) -> SnapshotFiles:
    crawl, take = source.snapshots[snapshot], settings.take_of(snapshot)
    location = _crawl_location(settings, crawl, take, recipe.seed)
    if known is not None and known.location == location:
        return known
    with OpenPlace(settings, locations) as place:
        paths = choose(place.paths(crawl, settings.kind), take, recipe.seed)
        files = place.pin(paths, tell)
        robots = _robots(place, crawl, paths) if settings.robots else []
        indexes: tuple[Output, ...] = ()
        if settings.index is not None:
            indexes = pin_indexes(place, settings.index, crawl, files, locations, store)
    return SnapshotFiles(snapshot, location, tuple(files), tuple(robots), indexes)


def _robots(place: CrawlPlace, crawl: str, paths: list[str]) -> list[SourceFile]:
    """Return the robots.txt records beside the chosen files, as far as the crawl has them."""
    listed = set(place.paths(crawl, "robotstxt"))
    wanted = dict.fromkeys(robots_path(path) for path in paths)
    return place.pin([path for path in wanted if path in listed])


def _crawl_location(settings: CrawlSettings, crawl: str, take: Take, seed: int) -> str:
    """Where and how a crawl's list was made: another answer asks the server again."""
    how = {"kind": settings.kind, "robots": settings.robots, "seed": seed, **take.identity()}
    if settings.index is not None:
        how["index"] = settings.index.location
    return f"{settings.base}crawl-data/{crawl}/ {canonical_json(how).decode()}"


def _list_local(
    source: SourceEntry, location: str, snapshot: str, known: SnapshotFiles | None
) -> SnapshotFiles:
    if (
        known is not None
        and known.location == location
        and list_names(location, source.format) == _names_of(known)
    ):
        return known
    return SnapshotFiles(snapshot, location, tuple(list_files(source, location, snapshot)))


def _names_of(known: SnapshotFiles) -> list[tuple[str, int]]:
    return [(each.name, each.size) for file in known.files for each in file.members or (file,)]


def _is_pinned(store: Store, snapshot: str) -> bool:
    return store.exists(f"sources/{snapshot}.json")


# The robots.txt, ai.txt and tdmrep.json of a snapshot's sites, pinned with its files.

_FOLDER = SourceSpec(name="site-files", format="code")  # all files, many to a part
_ARCHIVE = SourceSpec(name="site-files", format="warc")


def with_site_files(
    pinned: SnapshotFiles, source: SourceEntry, locations: Locations
) -> SnapshotFiles:
    """Add the site files that a source names to its pinned files; a crawl's own stay as they are."""
    named = source.site_files.get(pinned.snapshot)
    if named is None:
        return pinned if source.crawl is not None else replace(pinned, robots=())
    location = locations.resolve(named)
    if is_remote(location):
        raise SourceError(f"site_files: {named} is on a server; copy the files here")
    spec = _spec(location)
    if not _still_there(pinned.robots, location, spec):
        files = list_files(spec, location, pinned.snapshot)
        pinned = replace(pinned, robots=tuple(files))
    return pinned


def _spec(location: str) -> SourceSpec:
    names = [name for name, _ in list_names(location, "code")]
    refuse_formats(names)
    archives = [name for name in names if name.endswith(format_of("warc").suffixes)]
    return _ARCHIVE if archives else _FOLDER


def _still_there(pinned: Sequence[SourceFile], location: str, spec: SourceSpec) -> bool:
    there = [(each.name, each.size) for file in pinned for each in file.members or (file,)]
    here = base_of(location).resolve()
    roots = {Path(file.uri) if file.members else Path(file.uri) / "." for file in pinned}
    return there == list_names(location, spec.format) and all(
        root == here or here in root.parents for root in roots
    )


# How a documents task reads its file where that is more than opening it: servers and indexes.
#
# Where a file lies and how it is fetched travels in a task's params, which are no identity. The
# rows of a URL index are an input of the task, by their hash.

INDEX = "url_index"


def reading_params(
    source: SourceEntry, locations: Locations, snapshot: str, file: SourceFile
) -> dict[str, Any]:
    """Return what a task needs to reach a file; nothing for one on this machine."""
    if not is_remote(file.uri):
        return {}
    return {"reach": reach_of(source, locations, snapshot).params()}


def index_settings(source: SourceEntry) -> dict[str, Any]:
    """Return the rules of the URL index as settings of a documents task; none without an index."""
    if source.crawl is None or source.crawl.index is None:
        return {}
    return {INDEX: source.crawl.index.identity()}


def index_input(source: SourceEntry, pinned: SnapshotFiles, part: int) -> dict[str, Output]:
    """Return the index rows of a part's file, where an index is used."""
    return {INDEX: pinned.indexes[part]} if index_settings(source) else {}


@contextmanager
def open_records(
    context: TaskContext, spec: SourceSpec, file: SourceFile, gates: GateSettings
) -> Iterator[Iterator[RawRecord]]:
    """Open the records of a task's file. The SHA-256 of one that was streamed is noted with the
    result: the pin of a file on a server may be its ETag only."""
    reach = Reach.of(context.param("reach")) if "reach" in context.task.params else None
    if context.has(INDEX):
        open_file = open_pinned if reach is None else partial(reach.open, exact=True)
        yield _indexed(context, file, gates, open_file)
        return
    yield read_records(spec, file, gates.max_bytes, open_pinned if reach is None else reach.open)
    if reach is not None and file.name in reach.sha256:
        context.notes["source_sha256"] = reach.sha256[file.name]


def forget_source(context: TaskContext) -> None:
    """Remove the cached copy of a file of which an order takes something out."""
    if "reach" in context.task.params:
        reach = Reach.of(context.param("reach"))
        forget_cached(reach, SourceFile(**context.param("file")))


def _indexed(
    context: TaskContext, file: SourceFile, gates: GateSettings, open_file: Opener
) -> Iterator[RawRecord]:
    settings = IndexSettings.model_validate(context.task.settings[INDEX])
    with open_file(file) as stream:
        yield from read_indexed(stream, file.name, file.size, context.table(INDEX), settings, gates)
