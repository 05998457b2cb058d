"""What a snapshot consists of, looked up where it lies: here, on a server, or in a crawl.

A list that was pinned before is taken as it is where its location is still the same. Local
folders are looked at again (names and sizes); servers are not asked: each request for a file
names the pinned ETag, so a changed one is refused when it is read.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import Output, Store
from corpus_assets.ingest.crawl.index_pins import pin_indexes
from corpus_assets.ingest.crawl.layout import CrawlPlace, OnProgress, choose, robots_path
from corpus_assets.ingest.crawl.settings import CrawlSettings, Take
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.fetch.listing import list_remote
from corpus_assets.ingest.fetch.opening import Reach
from corpus_assets.ingest.fetch.transport import is_remote
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.pins import SnapshotFiles, load_snapshot_files
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.source import FOLDER_FORMATS
from corpus_assets.ingest.source_files import SUFFIXES, list_files, list_names

if TYPE_CHECKING:
    from corpus_assets.recipe.recipe import Recipe
from dataclasses import replace
from pathlib import Path

from corpus_assets.ingest.formats.archive_formats import refuse_formats
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.source_files import base_of


def find_delivery(
    recipe: "Recipe",
    locations: Locations,
    store: Store,
    snapshot: str,
    tell: OnProgress | None = None,
) -> SnapshotFiles:
    """The snapshot's files with their sizes and digests; pinned ones where they still stand."""
    source = recipe.source_of(snapshot)
    known = load_snapshot_files(store, snapshot) if _is_pinned(store, snapshot) else None
    if source.crawl is not None:
        return _crawl_delivery(
            recipe, locations, store, source, source.crawl, snapshot, known, tell
        )
    location = locations.resolve(source.snapshots[snapshot])
    if not is_remote(location):
        return _local_delivery(source, location, snapshot, known)
    if known is not None and known.location == location:
        return known
    if source.format in FOLDER_FORMATS:
        raise SourceError(
            f"snapshot {snapshot} of {source.name}: a folder of {source.format} files is read on "
            "this machine only; copy it here"
        )
    with reach_of(source, locations, snapshot).fetcher() as fetcher:
        files = list_remote(fetcher, location, SUFFIXES[source.format])
    if not files:
        raise SourceError(
            f"snapshot {snapshot} of {source.name}: nothing to read at {location}; correct the "
            "location in the recipe"
        )
    return SnapshotFiles(snapshot, location, tuple(files))


def reach_of(source: SourceEntry, locations: Locations, snapshot: str) -> Reach:
    """How the files of a source's snapshot are reached."""
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


def _crawl_delivery(
    recipe: "Recipe",
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
    """The robots.txt records beside the chosen files, as far as the crawl has them."""
    listed = set(place.paths(crawl, "robotstxt"))
    wanted = dict.fromkeys(robots_path(path) for path in paths)
    return place.pin([path for path in wanted if path in listed])


def _crawl_location(settings: CrawlSettings, crawl: str, take: Take, seed: int) -> str:
    """Where and how a crawl's list was made: another answer asks the server again."""
    how = {"kind": settings.kind, "robots": settings.robots, "seed": seed, **take.identity()}
    if settings.index is not None:
        how["index"] = settings.index.location
    return f"{settings.base}crawl-data/{crawl}/ {canonical_json(how).decode()}"


def _local_delivery(
    source: SourceEntry, location: str, snapshot: str, known: SnapshotFiles | None
) -> SnapshotFiles:
    if known is not None and known.location == location:
        there = [(each.name, each.size) for file in known.files for each in file.members or (file,)]
        if list_names(location, source.format) == there:
            return known
    return SnapshotFiles(snapshot, location, tuple(list_files(source, location, snapshot)))


def _is_pinned(store: Store, snapshot: str) -> bool:
    return store.exists(f"sources/{snapshot}.json")


# --------------------------------------------------------------------------------------------------
# The robots.txt, ai.txt and tdmrep.json of a snapshot's sites, pinned with its files.

_FOLDER = SourceSpec(name="site-files", format="code")  # all files, many to a part
_ARCHIVE = SourceSpec(name="site-files", format="warc")


def with_site_files(
    delivery: SnapshotFiles, source: SourceEntry, locations: Locations
) -> SnapshotFiles:
    """A delivery with the site files that its source names; a crawl's own stay as they are."""
    named = source.site_files.get(delivery.snapshot)
    if named is None:
        return delivery if source.crawl is not None else replace(delivery, robots=())
    location = locations.resolve(named)
    if is_remote(location):
        raise SourceError(f"site_files: {named} is on a server; copy the files here")
    spec = _spec(location)
    if not _still_there(delivery.robots, location, spec):
        files = list_files(spec, location, delivery.snapshot)
        delivery = replace(delivery, robots=tuple(files))
    return delivery


def _spec(location: str) -> SourceSpec:
    names = [name for name, _ in list_names(location, "code")]
    refuse_formats(names)
    archives = [name for name in names if name.endswith(SUFFIXES["warc"])]
    return _ARCHIVE if archives else _FOLDER


def _still_there(pinned: tuple[SourceFile, ...], location: str, spec: SourceSpec) -> bool:
    there = [(each.name, each.size) for file in pinned for each in file.members or (file,)]
    here = base_of(location).resolve()
    roots = {Path(file.uri) if file.members else Path(file.uri) / "." for file in pinned}
    return there == list_names(location, spec.format) and all(
        root == here or here in root.parents for root in roots
    )
