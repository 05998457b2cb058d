"""A version that continues another: new snapshots behind its own, everything else as it was.

The version's calibrations are pinned and its snapshots keep their ranks in deduplication, so what
was made of them is found in the store, down to their shards. A recipe that asks for anything else of
them is refused before any work is done: it would make all of them again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.db import LATEST, Registry, VersionRow
from catalog.figures import counted
from catalog.formats.canonical import changed_keys
from corpus_assets.core.errors import CorpusError, MissingInput, RecipeError
from corpus_assets.core.lock import Lock
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Output, Store
from corpus_assets.graph import Pipeline
from corpus_assets.recipe import Recipe, changed_recipe
from corpus_assets.versions.published import load_published_recipe, lock_pins, published_lock
from corpus_assets.versions.retention import BETWEEN
from corpus_assets.versions.version import locked_recipe

MAY_DIFFER = ("mixture", "snapshot_order")
"""Keys of a recipe that no snapshot of the extended version depends on."""
NAMED = 3  # keys that a message names


@dataclass(frozen=True)
class Extended:
    """A published version that another one continues."""

    name: str
    recipe: Recipe
    lock: Lock

    @property
    def pins(self) -> dict[str, Output]:
        """The calibrations that its lock pins."""
        return lock_pins(self.lock, self.name)

    def added(self, recipe: Recipe) -> list[str]:
        """Return the snapshots that a recipe has and the version has not."""
        return [name for name in recipe.snapshots if name not in self.recipe.snapshots]

    def line(self, recipe: Recipe) -> str:
        """Say what is shared and what is new."""
        new = self.added(recipe)
        return (
            f"extends {self.name}: reuses {counted(len(self.recipe.snapshots), 'snapshot')} and "
            f"{counted(len(self.lock.calibrations), 'calibration')}; new: {', '.join(new) or 'none'}"
        )


def find_extended(store: Store, registry: Registry, name: str, recipe: Recipe) -> Extended:
    """Open the version to extend; `latest` is the newest released one of the recipe."""
    if name != LATEST:
        row = registry.version(name)
    else:
        found = latest_release(registry, recipe)
        if found is None:
            raise CorpusError(f"no live version of recipe {recipe.name} is released yet: name one")
        row = found
    if row.status != "live":
        instead = f": extend {row.superseded_by}" if row.superseded_by else ""
        raise CorpusError(f"version {row.name} is revoked{instead}")
    own, _ = load_published_recipe(store, row.recipe_digest)
    return Extended(row.name, own, published_lock(store, row))


def latest_release(registry: Registry, recipe: Recipe) -> VersionRow | None:
    """Return the newest released version of a recipe."""
    return next(
        (
            row
            for row in reversed(registry.versions())
            if row.state == "released" and registry.recipe(row.recipe_digest).name == recipe.name
        ),
        None,
    )


def extendable(store: Store, registry: Registry, recipe: Recipe) -> str:
    """Return the newest released version of a recipe if the recipe changes no snapshot of it, else
    nothing."""
    row = latest_release(registry, recipe)
    if row is None:
        return ""
    extended = find_extended(store, registry, row.name, recipe)
    try:
        wanted = continued(recipe, extended)
    except RecipeError:
        return ""
    return row.name if wanted.digest != extended.recipe.digest else ""


def continued(recipe: Recipe, extended: Extended) -> Recipe:
    """Return a recipe with the version's snapshots first, in their order; `RecipeError` where it
    differs in what they are made by."""
    old = extended.recipe.snapshots
    new = [name for name in recipe.snapshots if name not in old]
    before, after = (_compared(each, extended.recipe, new) for each in (extended.recipe, recipe))
    if differing := changed_keys(before, after):
        named = ", ".join(each.key for each in differing[:NAMED])
        more = f" and {len(differing) - NAMED} more" if len(differing) > NAMED else ""
        raise RecipeError(
            f"recipe {recipe.name} differs from that of version {extended.name} in {named}{more}: "
            "only snapshots, sources and the mixture may change in a version that extends another; "
            "undo the change, or build without --extends"
        )
    if recipe.snapshots == (*old, *new):
        return recipe
    return changed_recipe(recipe, {"snapshot_order": [*old, *new]}, f"recipe {recipe.name}")


def in_order_of(recipe: Recipe, lock: Lock) -> Recipe:
    """Return a recipe with the order of snapshots that a lock was made with, if it says none."""
    order = lock.recipe.get("snapshot_order")
    if not order or recipe.snapshot_order:
        return recipe
    return changed_recipe(recipe, {"snapshot_order": order}, f"recipe {recipe.name}")


def check_unchanged(pipeline: Pipeline, extended: Extended) -> list[str]:
    """Refuse to recompute a snapshot of the version. `pipeline` has the takedowns that were in
    force when the version was published: those that came later are carried out as in any build.
    Return what was deleted to free space (`versions.retention`), and is computed again as it was."""
    absent: dict[str, str] = {}  # the first stage by snapshot; what follows it cannot be planned
    for stage in pipeline.graph:
        for snapshot in extended.recipe.snapshots if stage.is_by_snapshot else ():
            if snapshot in absent:
                continue
            try:
                tasks = pipeline.tasks(stage.name, snapshot)
                is_there = bool(pipeline.is_done(stage.name, snapshot, tasks).all())
            except MissingInput:
                is_there = False
            if (
                not is_there
                and stage.name in BETWEEN
                and not _is_recorded(pipeline, stage, snapshot)
            ):
                absent[snapshot] = stage.name
            elif not is_there:
                raise CorpusError(
                    f"{stage.name} of {snapshot} would be recomputed: another release than this one "
                    "computed it, or results were deleted by hand; build the recipe without "
                    "--extends, then extend that version"
                )
    return [f"{stage} of {snapshot} was deleted" for snapshot, stage in absent.items()]


def _is_recorded(pipeline: Pipeline, stage: Stage, snapshot: str) -> bool:
    return pipeline.recorded is None or any(True for _ in pipeline.recorded(stage.name, snapshot))


def _compared(recipe: Recipe, extended: Recipe, new: Collection[str]) -> Mapping[str, Any]:
    """Return what a recipe says of the sources and snapshots that a version has."""
    body = {key: value for key, value in locked_recipe(recipe).items() if key not in MAY_DIFFER}
    known = {source.name for source in extended.sources}
    sources = [_without(source, new) for source in body["sources"] if source["name"] in known]
    return {**body, "sources": sources}


def _without(value: Any, names: Collection[str]) -> Any:
    """Return plain JSON without what it says, by name or in a list, of some snapshots."""
    if isinstance(value, Mapping):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(each, names) for each in value if each not in names]
    return value
