"""Snapshots that were added to a recipe from outside its file: by command, or by the schedule.

Each is one small file in the store, `snapshots/RECIPE/SNAPSHOT.json`, so two processes that add
at the same time lose nothing. A session puts them after the recipe's own snapshots, in the order they were
added, before the recipe is frozen: from then on they are snapshots like any other, in its digest
and in its locks. One that was removed keeps its file, marked, so that the schedule does not add
it again.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from corpus_assets.core.errors import CorruptArtifact, RecipeError
from corpus_assets.core.identity import Name, Settings, canonical_json
from corpus_assets.core.store import Store
from corpus_assets.recipe.load import load_recipe
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.recipe.skipped_files import load_skipped, merge_skipped


class AddedSnapshot(Settings):
    """One snapshot of a crawl source."""

    source: Name
    snapshot: Name
    crawl: str
    files: int | None = Field(default=None, ge=1)  # how many of it; None: as the source says
    position: int = Field(default=0, ge=0)  # its place among the added ones; ties by name
    removed: bool = False


def load_with_added(
    path: Path, overrides: dict[str, Any], store: Store
) -> tuple[Recipe, list[AddedSnapshot]]:
    """Load a recipe's file with the snapshots that were added to it.

    Where the file alone is a recipe and with them it is none, the error says how to go on.
    """
    added: list[AddedSnapshot] = []

    def skip(raw: dict[str, Any]) -> None:
        merge_skipped(raw, load_skipped(store, str(raw.get("name"))))

    def complete(raw: dict[str, Any]) -> None:
        added.extend(load_added(store, str(raw.get("name"))))
        merge_added(raw, added)
        skip(raw)

    try:
        return load_recipe(path, overrides, complete), added
    except RecipeError as error:
        if not added:
            raise
        load_recipe(path, overrides, skip)  # where the file itself is wrong, only that is reported
        names = ", ".join(each.snapshot for each in added)
        raise RecipeError(
            f"{error}; the recipe is valid without the snapshots that were added to it ({names}): "
            f"`corpus snapshots remove {path} NAME` removes one"
        ) from error


def load_added(store: Store, recipe: str) -> list[AddedSnapshot]:
    """List what was added to a recipe and not removed again, first added first."""
    return [each for each in load_entries(store, recipe) if not each.removed]


def load_entries(store: Store, recipe: str) -> list[AddedSnapshot]:
    """List what was ever added to a recipe, first added first."""
    found = []
    for path in store.list(f"snapshots/{recipe}"):
        try:
            found.append(AddedSnapshot.model_validate_json(store.read(path)))
        except ValidationError as error:
            raise CorruptArtifact(
                f"{path} in the store is damaged; delete it and add the snapshot again"
            ) from error
    return sorted(found, key=lambda each: (each.position, each.snapshot))


def add_snapshot(store: Store, recipe: str, added: AddedSnapshot) -> AddedSnapshot:
    """Record a snapshot after those that are there; return it with its place."""
    last = max((each.position for each in load_entries(store, recipe)), default=-1)
    placed = added.model_copy(update={"position": last + 1})
    store.write(_path(recipe, added.snapshot), canonical_json(placed.identity()))
    return placed


def remove_snapshot(store: Store, recipe: str, added: AddedSnapshot) -> None:
    """Take a snapshot out again; the schedule leaves it alone from now on."""
    gone = added.model_copy(update={"removed": True})
    store.write(_path(recipe, added.snapshot), canonical_json(gone.identity()))


def undo_add(store: Store, recipe: str, snapshot: str) -> None:
    """Forget that a snapshot was added; no harm where it is not there."""
    store.delete(_path(recipe, snapshot))


def merge_added(raw: dict[str, Any], added: Iterable[AddedSnapshot]) -> None:
    """Put added snapshots into a recipe as it was read, still plain values."""
    sources = raw.get("sources")
    for each in added:
        entry = next(
            (s for s in sources or () if isinstance(s, dict) and s.get("name") == each.source), None
        )
        if entry is None or not isinstance(entry.get("crawl"), dict):
            raise RecipeError(
                f"snapshot {each.snapshot} was added to the crawl source {each.source}, which the "
                "recipe does not have any more; restore it, or remove the snapshot with "
                "`corpus snapshots remove`"
            )
        snapshots = entry.get("snapshots") or {}
        if isinstance(snapshots, list):
            snapshots = {str(name): str(name) for name in snapshots}
        if each.snapshot in snapshots:
            continue  # the recipe's file names it by now
        entry["snapshots"] = snapshots | {each.snapshot: each.crawl}
        if each.files is not None:
            files_of = {**(entry["crawl"].get("files_of") or {}), each.snapshot: each.files}
            entry["crawl"] = entry["crawl"] | {"files_of": files_of}


def _path(recipe: str, snapshot: str) -> str:
    return f"snapshots/{recipe}/{snapshot}.json"
