"""List a recipe's snapshots, find new crawls and add them: for commands and schedules."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from catalog.answers import Count, Shown
from catalog.figures import counted, size
from catalog.formats.names import check_name
from corpus_assets.core.errors import CorpusError, MissingInput, RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store, open_store
from corpus_assets.graph import Pipeline, collecting, pin_snapshot
from corpus_assets.ingest import (
    CrawlPlace,
    CrawlSettings,
    Locations,
    OpenPlace,
    SourceEntry,
    choose_files,
    forget_snapshot_files,
)
from corpus_assets.recipe import (
    AddedSnapshot,
    Recipe,
    add_snapshot,
    find_recipe,
    load_added,
    load_entries,
    load_recipe,
    load_with_added,
    merge_added,
    parse_recipe,
    remove_snapshot,
    undo_add,
)
from corpus_assets.session import open_home, open_session


@dataclass(frozen=True)
class NewCrawl:
    """A crawl that a source could take and does not have. `bytes` are of the files taken."""

    source: str
    crawl: str
    files: Annotated[int | None, Shown(form="{:,}".format)] = None
    taken: Annotated[int | None, Shown("would be used", "{:,}".format)] = None
    bytes: Annotated[int | None, Shown("size", size)] = None


@dataclass(frozen=True)
class Known:
    """A snapshot of the recipe, and how far it has come."""

    snapshot: str
    source: str
    added: bool  # by command or schedule, not by the recipe's file
    files: Annotated[int | None, Shown(form="{:,}".format)] = None  # None: not pinned yet
    bytes: Annotated[int | None, Shown("size", size)] = None
    parts_done: Annotated[Count, Shown("ingested")] = 0
    records: Count = 0
    documents: Count = 0


@dataclass(frozen=True)
class AddedCrawl:
    """A crawl that was added as a snapshot; `bytes` where its files were pinned at once."""

    snapshot: str
    source: str
    crawl: str
    files: int
    taken: int
    bytes: int | None
    recipe: str

    def __str__(self) -> str:
        shown = size(self.bytes) if self.bytes is not None else "sized by the first build"
        return (
            f"added {self.snapshot} to {self.source}: {self.taken:,} of "
            f"{counted(self.files, 'file')}, {shown}\n"
            f"to ingest it, run: corpus build {self.recipe}"
        )


@dataclass(frozen=True)
class RemovedSnapshot:
    """A snapshot that was removed from a recipe's list; `held_by` are versions that keep it."""

    snapshot: str
    source: str
    held_by: list[str]

    def __str__(self) -> str:
        then = "`corpus gc` deletes its results"
        if self.held_by:
            then = f"{', '.join(self.held_by)} still has documents of it"
        return f"removed {self.snapshot} from {self.source}; {then}"


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
        loaded, added = load_with_added(path, dict(overrides or {}), store)
        return cls(loaded, Locations(path.parent, home), store, tuple(added))

    def with_snapshot(self, added: AddedSnapshot) -> "Book":
        """Return the recipe with one more snapshot; `RecipeError` where that is not valid."""
        raw = self.recipe.model_dump(mode="json")
        merge_added(raw, [added])
        recipe = parse_recipe(raw, f"recipe {self.recipe.name} with {added.snapshot}")
        return replace(self, recipe=recipe, added=(*self.added, added))

    def crawl_source(self, name: str | None = None) -> tuple[SourceEntry, CrawlSettings]:
        """Return the source that crawls are added to: the one named, or the only one."""
        crawling = [s for s in self.recipe.sources if s.crawl is not None]
        if name is not None:
            crawling = [source for source in crawling if source.name == name]
        if len(crawling) != 1 or crawling[0].crawl is None:
            known = ", ".join(s.name for s in self.recipe.sources if s.crawl is not None)
            raise RecipeError(
                f"recipe {self.recipe.name} has {'no' if not crawling else 'several'} crawl "
                f"source{f' {name}' if name else ''}; "
                + (f"choose one with --source: {known}" if known else "give a source a `crawl`")
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
    """List crawls that exist and are not in the recipe, the newest first, at most `limit`.

    Crawls without a sound list of the wanted files, or that would break the recipe, are skipped.
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
            problem = _problem(book, place, settings, _entry(source, crawl), source.format)
            if problem is not None:
                tell(problem)
                continue
            paths = place.paths(crawl, source.format)
            taken = choose_files(paths, settings.number_of_files(crawl), book.recipe.seed)
            n_bytes = sum(file.size for file in place.pin(taken)) if sizes else None
            found.append(NewCrawl(source.name, crawl, len(paths), len(taken), n_bytes))
    return found


def follow(book: Book, tell: Callable[[str], None]) -> list[AddedSnapshot]:
    """Add the crawls that have appeared to each source that follows them.

    Only crawls after all the source has, and after `crawl.follow_after`: a snapshot's place is its
    rank in deduplication, so an older one is never put at the end by itself. And only crawls
    with a sound list of the wanted files, which costs a request for each that would be added, and
    with which the recipe still holds. `tell` is given those that are passed over, and why.
    """
    fresh: list[AddedSnapshot] = []
    removed = {e.snapshot for e in load_entries(book.store, book.recipe.name) if e.removed}
    for source in book.recipe.sources:
        settings = source.crawl
        if settings is None or settings.follow_after is None:
            continue
        newest = max([settings.follow_after, *source.snapshots.values()])
        with OpenPlace(settings, book.locations) as place:
            for crawl in place.crawls():
                if crawl <= newest or crawl in book.recipe.snapshots:
                    continue
                if crawl in removed:
                    tell(f"skipped {crawl}: it was removed; `corpus snapshots add` adds it again")
                    continue
                entry = _entry(source, crawl)
                problem = _problem(book, place, settings, entry, source.format)
                if problem is not None:
                    tell(problem)
                    continue
                fresh.append(add_snapshot(book.store, book.recipe.name, entry))
                book = book.with_snapshot(entry)
    return fresh


def _entry(source: SourceEntry, crawl: str) -> AddedSnapshot:
    return AddedSnapshot(source=source.name, snapshot=crawl, crawl=crawl)


def _problem(
    book: Book, place: CrawlPlace, settings: CrawlSettings, entry: AddedSnapshot, listed_as: str
) -> str | None:
    """Explain why a crawl cannot be taken, or return None; nothing is stored."""
    for listed in (listed_as, *(("robotstxt",) if settings.robots else ())):
        problem = place.problem_of(entry.crawl, listed)
        if problem is not None:
            return f"skipped {entry.crawl}: {problem}"
    try:
        book.with_snapshot(entry)
    except RecipeError as error:
        return f"skipped {entry.crawl}: {error}"
    return None


def remove_added(
    recipe: str, home: Home, overrides: dict[str, object], snapshot: str
) -> AddedSnapshot:
    """Take an added snapshot off a recipe's list, also where the recipe does not hold with it.

    Refused where the recipe holds now and would not without it.
    """
    path, store = find_recipe(recipe), open_store(home.store_url)
    named: list[str] = []

    def without(raw: dict[str, object]) -> None:
        named.append(str(raw.get("name")))
        merge_added(raw, (e for e in load_added(store, named[0]) if e.snapshot != snapshot))

    problem = _error_of(lambda: load_recipe(path, dict(overrides), without))
    if not named and problem is not None:
        raise problem  # the file cannot be read, so the recipe's name is unknown
    added = {each.snapshot: each for each in load_added(store, named[0])}
    if snapshot not in added:
        known = f"added are {', '.join(added)}" if added else "none was"
        raise RecipeError(
            f"{snapshot} was not added to recipe {named[0]} ({known}); a snapshot that the "
            "recipe file names is removed there"
        )
    if problem is not None and not _error_of(lambda: load_with_added(path, dict(overrides), store)):
        raise RecipeError(f"{snapshot} cannot be removed: {problem}") from problem
    remove_snapshot(store, named[0], added[snapshot])
    return added[snapshot]


def remove_whole(
    recipe: str,
    home: Home,
    overrides: dict[str, object],
    snapshot: str,
    list_only: bool,
    tell: Callable[[str], None],
) -> RemovedSnapshot:
    """Take an added snapshot off a recipe's list, and what was pinned of it out of the catalog.

    With `list_only`, live versions that hold documents of it are named and left as they are;
    else they are a reason to refuse.
    """
    store, registry = open_home(home)
    holding = registry.versions_with(snapshot)
    if holding and not list_only:
        raise CorpusError(
            f"the live version {holding[0]} has documents of {snapshot}; --list-only "
            "(`list_only` in the UI) leaves it as it is and keeps the snapshot out of later builds"
        )
    gone = remove_added(recipe, home, overrides, snapshot)
    if not holding:
        with collecting(registry, tell) as fenced:
            fenced.forget_snapshot(snapshot)
            forget_snapshot_files(store, snapshot)
    return RemovedSnapshot(snapshot, gone.source, list(holding))


def _error_of(load: Callable[[], object]) -> RecipeError | None:
    try:
        load()
    except RecipeError as error:
        return error
    return None


PIN_AT_ONCE = 200  # files; more are pinned by the first build, a request each


def add_crawl(
    recipe: str,
    home: Home,
    overrides: dict[str, object],
    crawl: str,
    snapshot: str | None = None,
    files: int | None = None,
    source: str | None = None,
) -> AddedCrawl:
    """Add a crawl to a recipe in this home, and pin its files where they are not too many."""
    book = Book.open(recipe, home, overrides)
    entry, settings = book.crawl_source(source)
    wanted = make_entry(book, entry, crawl, snapshot, files)
    with OpenPlace(settings, book.locations) as crawls:
        paths = crawls.paths(crawl, entry.format)
    wanted_files = files or settings.number_of_files(wanted.snapshot)
    taken = len(choose_files(paths, wanted_files, book.recipe.seed))
    book.with_snapshot(wanted)
    add_snapshot(book.store, book.recipe.name, wanted)
    n_bytes: int | None = None
    if taken <= PIN_AT_ONCE:
        try:
            with open_session(recipe, home, 1, overrides) as session:
                pinned = pin_snapshot(session.pipeline, session.registry, wanted.snapshot)
            n_bytes = sum(file.size for file in pinned.files)
        except BaseException:
            undo_add(book.store, book.recipe.name, wanted.snapshot)
            raise
    return AddedCrawl(wanted.snapshot, entry.name, crawl, len(paths), taken, n_bytes, recipe)


def make_entry(
    book: Book, source: SourceEntry, crawl: str, snapshot: str | None, files: int | None
) -> AddedSnapshot:
    """Make the entry of a snapshot; `RecipeError` where the recipe has it already."""
    name = check_name("snapshot", snapshot or crawl)
    if name in book.recipe.snapshots:
        raise RecipeError(
            f"recipe {book.recipe.name} has a snapshot {name} already, and snapshots are frozen; "
            "`corpus snapshots list` shows it, --as NAME gives this one another name"
        )
    return AddedSnapshot(source=source.name, snapshot=name, crawl=crawl, files=files)


def known_snapshots(book: Book, pipeline: Pipeline) -> list[Known]:
    """Return every snapshot of the recipe: pinned, ingested, with counts."""
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
    tasks = pipeline.tasks("documents", snapshot)
    found = (pipeline.result_of(task, snapshot) for task in tasks)
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
