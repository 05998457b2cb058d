"""What is known of a recipe's snapshots, and which crawls are new: for commands and schedules."""

from collections.abc import Callable
from dataclasses import dataclass

from corpus_assets.added_snapshots import AddedSnapshot, add_snapshot, load_added, merge_added
from corpus_assets.errors import AbsentSource, MissingInput, RecipeError
from corpus_assets.home import Home
from corpus_assets.locations import Locations
from corpus_assets.pipeline.delivery import OpenPlace
from corpus_assets.pipeline.graph import Pipeline
from corpus_assets.recipe import Recipe, load_recipe
from corpus_assets.recipe_files import find_recipe
from corpus_assets.source_entry import SourceEntry
from corpus_assets.sources.crawl import choose
from corpus_assets.sources.crawl_settings import CrawlSettings, Take
from corpus_assets.store import Store, open_store


@dataclass(frozen=True)
class NewCrawl:
    """A crawl that a source could take and does not have. `bytes` are of the files taken."""

    source: str
    crawl: str
    files: int | None = None
    taken: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Known:
    """A snapshot of the recipe, and how far it has come."""

    snapshot: str
    source: str
    added: bool  # by command or schedule, not by the recipe's file
    files: int | None = None  # None: not pinned yet
    bytes: int | None = None
    parts_done: int = 0
    records: int = 0
    documents: int = 0


@dataclass(frozen=True)
class Book:
    """A recipe with what was added to it, before it is bound to anything."""

    recipe: Recipe
    locations: Locations
    store: Store
    added: tuple[AddedSnapshot, ...]

    @classmethod
    def open(cls, recipe: str, home: Home, overrides: dict[str, object] | None = None) -> "Book":
        path = find_recipe(recipe)
        store = open_store(home.store_url)
        found: list[AddedSnapshot] = []

        def complete(raw: dict[str, object]) -> None:
            found.extend(load_added(store, str(raw.get("name"))))
            merge_added(raw, found)

        loaded = load_recipe(path, dict(overrides or {}), complete)
        return cls(loaded, Locations(path.parent, home), store, tuple(found))

    def crawl_source(self, name: str | None = None) -> tuple[SourceEntry, CrawlSettings]:
        """The source that crawls are added to: the one named, or the only one."""
        crawling = [s for s in self.recipe.sources if s.crawl is not None]
        if name is not None:
            crawling = [source for source in crawling if source.name == name]
        if len(crawling) != 1 or crawling[0].crawl is None:
            known = ", ".join(s.name for s in self.recipe.sources if s.crawl is not None)
            raise RecipeError(
                f"recipe {self.recipe.name} has {'no' if not crawling else 'several'} crawl "
                f"source{f' {name}' if name else ''}; "
                + (f"name one with --source: {known}" if known else "give a source a `crawl`")
            )
        return crawling[0], crawling[0].crawl


def discover(
    book: Book,
    source: SourceEntry,
    settings: CrawlSettings,
    limit: int,
    sizes: bool,
    tell: Callable[[str], None],
) -> list[NewCrawl]:
    """Crawls that exist and are not in the recipe, the newest first, at most `limit`.

    What has no list of the wanted files is no crawl that could be taken, and is passed over.
    """
    have = set(source.snapshots.values())
    found: list[NewCrawl] = []
    with OpenPlace(settings, book.locations) as place:
        for crawl in reversed(place.crawls()):
            if len(found) == limit:
                break
            if crawl in have:
                continue
            tell(f"looking at {crawl}")
            try:
                paths = place.paths(crawl, settings.kind)
            except AbsentSource:
                tell(_passed_over(crawl, settings))
                continue
            taken = choose(paths, settings.take_of(crawl), book.recipe.seed)
            size = sum(file.size for file in place.pin(taken)) if sizes else None
            found.append(NewCrawl(source.name, crawl, len(paths), len(taken), size))
    return found


def follow(book: Book, tell: Callable[[str], None]) -> list[AddedSnapshot]:
    """Add the crawls that have appeared to each source that follows them.

    Only crawls behind all the source has, and behind `crawl.after`: a snapshot's place is its
    rank in deduplication, so an older one is never put at the end by itself. And only crawls
    with a list of the wanted files, which costs a request for each that would be added.
    """
    fresh: list[AddedSnapshot] = []
    names = set(book.recipe.snapshots)
    for source in book.recipe.sources:
        settings = source.crawl
        if settings is None or settings.follow != "new":
            continue
        newest = max([settings.after or "", *source.snapshots.values()])
        with OpenPlace(settings, book.locations) as place:
            for crawl in place.crawls():
                if crawl <= newest or crawl in names:
                    continue
                if not place.has_list(crawl, settings.kind):
                    tell(_passed_over(crawl, settings))
                    continue
                entry = AddedSnapshot(source=source.name, snapshot=crawl, crawl=crawl)
                fresh.append(add_snapshot(book.store, book.recipe.name, entry))
                names.add(crawl)
    return fresh


def _passed_over(crawl: str, settings: CrawlSettings) -> str:
    return f"passed over {crawl}: it has no {settings.kind}.paths.gz"


def make_entry(
    book: Book, source: SourceEntry, crawl: str, snapshot: str | None, take: Take | None
) -> AddedSnapshot:
    """A snapshot to be added; `RecipeError` where the recipe has it already."""
    name = snapshot or crawl
    if name in book.recipe.snapshots:
        raise RecipeError(
            f"recipe {book.recipe.name} has a snapshot {name} already, and snapshots are frozen; "
            "`corpus snapshots list` shows it, --as NAME gives this one another name"
        )
    return AddedSnapshot(source=source.name, snapshot=name, crawl=crawl, take=take)


def known_snapshots(book: Book, pipeline: Pipeline) -> list[Known]:
    """Every snapshot of the recipe: pinned, ingested, with counts."""
    added = {each.snapshot for each in book.added}
    return [
        _known(pipeline, snapshot, book.recipe.source_of(snapshot).name, snapshot in added)
        for snapshot in book.recipe.snapshots
    ]


def _known(pipeline: Pipeline, snapshot: str, source: str, added: bool) -> Known:
    try:
        files = pipeline.snapshot_files(snapshot).files
    except MissingInput:
        return Known(snapshot, source, added)
    found = [pipeline.result_of(task) for task in pipeline.tasks("documents", snapshot)]
    done = [result for result in found if result is not None]
    return Known(
        snapshot,
        source,
        added,
        len(files),
        sum(file.size for file in files),
        len(done),
        sum(result.counts.get("documents_in", 0) for result in done),
        sum(result.counts.get("documents_out", 0) for result in done),
    )


def shown_bytes(size: int | None) -> str:
    """A size for people."""
    if size is None:
        return "-"
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
