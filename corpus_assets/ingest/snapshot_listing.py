"""What a snapshot consists of, looked up where it lies: here, on a server, or in a crawl.

A list that was pinned before is taken as it is where its location is still the same. Local
folders are looked at again (names and sizes); servers are not asked: each request for a file
names the pinned ETag, so a changed one is refused when it is read.
"""

from dataclasses import dataclass
from typing import Any

from catalog.formats.places import located, portable
from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import Output, Store
from corpus_assets.ingest.crawl import (
    CrawlPlace,
    CrawlSettings,
    OnProgress,
    choose_files,
    pin_indexes,
    robots_path,
)
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.fetch import FetchSettings, Reach, is_remote
from corpus_assets.ingest.formats import format_of
from corpus_assets.ingest.listing import find_files, list_files, list_names
from corpus_assets.ingest.locations import DEMO, Locations
from corpus_assets.ingest.planner import SourcedRecipe
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.remote_listing import list_remote
from corpus_assets.ingest.snapshots import SnapshotFiles, load_snapshot_files


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
    base = source.crawl.base if source.crawl else locations.resolve(source.snapshots[snapshot])
    return Reach(FetchSettings.of_environment(), locations.home.root, base)


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
        self._fetcher = Reach(
            FetchSettings.of_environment(), self.locations.home.root, base
        ).fetcher()
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
    crawl, number = source.snapshots[snapshot], settings.number_of_files(snapshot)
    location = _crawl_location(settings, source.format, crawl, number, recipe.seed)
    if known is not None and known.location == location:
        return known
    with OpenPlace(settings, locations) as place:
        paths = choose_files(place.paths(crawl, source.format), number, recipe.seed)
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


def _crawl_location(
    settings: CrawlSettings, listed: str, crawl: str, files: int | None, seed: int
) -> str:
    """Where and how a crawl's list was made: another answer asks the server again."""
    how: dict[str, Any] = {"kind": listed, "robots": settings.robots, "seed": seed}
    how["files"] = files
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
