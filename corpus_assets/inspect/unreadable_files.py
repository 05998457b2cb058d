"""Files that cannot be read: a recipe is built without them."""

from corpus_assets.core.home import Home
from corpus_assets.core.stage import Scope
from corpus_assets.ingest import load_snapshot_files
from corpus_assets.inspect.snapshots import Book
from corpus_assets.recipe import load_skipped, save_skipped
from corpus_assets.session import open_home
from corpus_assets.stages import STAGES


def skip_failed(recipe: str, home: Home, stage: str | None, snapshot: str | None) -> list[str]:
    """Skip the files of quarantined parts, which end their quarantine; return their names."""
    book = Book.open(recipe, home)
    _, registry = open_home(home)
    found: dict[str, list[str]] = {}
    for row in registry.failed_parts(stage, snapshot):
        is_file = any(s.name == row.stage and s.scope is Scope.PART for s in STAGES)
        if is_file and row.snapshot in book.recipe.snapshots:
            files = load_snapshot_files(book.store, row.snapshot, home.root).files
            found.setdefault(row.snapshot, []).append(files[row.part].name)
    known = load_skipped(book.store, book.recipe.name)
    for name, names in found.items():
        save_skipped(book.store, book.recipe.name, name, {*known.get(name, ()), *names})
    for name in found:
        registry.forget_failed_parts(stage, name)
    return [f"{name} {file}" for name, files in found.items() for file in sorted(set(files))]


def unskip_files(recipe: str, home: Home, snapshot: str | None) -> int:
    """Let files be read again that were skipped by command; return how many."""
    book = Book.open(recipe, home)
    skipped = load_skipped(book.store, book.recipe.name)
    chosen = [name for name in skipped if snapshot in (None, name)]
    for name in chosen:
        save_skipped(book.store, book.recipe.name, name, ())
    return sum(len(skipped[name]) for name in chosen)
