"""Groups and weights of a mix, by the name of a version or of a recipe. Reads manifests only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.registry import Registry
from catalog.rows import VersionRow
from corpus_assets.errors import CorpusError, MissingInput
from corpus_assets.home import Home
from corpus_assets.pipeline.published import load_published_recipe, published_manifest
from corpus_assets.pipeline.version import make_groups
from corpus_assets.recipe import Recipe, changed_recipe
from corpus_assets.session import open_home, open_session
from corpus_assets.shards.manifest import Group
from corpus_assets.shards.mixture import MixtureSettings
from corpus_assets.store import Store


@dataclass(frozen=True)
class MixSource:
    """What `corpus mix` mixes."""

    title: str
    groups: tuple[Group, ...]
    mixture: MixtureSettings
    seq_len: int


def mix_source(home: Home, name: str, overrides: Mapping[str, Any]) -> MixSource:
    """A version with the recipe it was built from, or a recipe over what it has.

    A recipe's groups are those a build would find in the store; where it would have to compute
    any, those of the newest live version of a recipe with the same name.
    """
    store, registry = open_home(home)
    versions = {row.name: row for row in registry.versions()}
    if name in versions:
        return _of_version(store, versions[name], overrides)
    with open_session(name, home, overrides=overrides) as session:
        recipe = session.pipeline.recipe
        try:
            groups = tuple(make_groups(session.pipeline))
        except MissingInput as error:
            row = _newest(registry, recipe)
            if row is None:
                raise CorpusError(
                    f"recipe {recipe.name} has no tokens to mix yet ({error}); "
                    "`corpus build` makes them"
                ) from error
            manifest = published_manifest(store, row)
            groups, title = manifest.groups, f"recipe {recipe.name} over version {row.name}"
            return MixSource(title, groups, recipe.mixture, manifest.seq_len)
    return MixSource(f"recipe {recipe.name}", groups, recipe.mixture, recipe.shards.pack.seq_len)


def newest_version(home: Home) -> str | None:
    """The version that was published last and is live."""
    _, registry = open_home(home)
    live = [row.name for row in registry.versions() if row.status == "live"]
    return live[-1] if live else None


def _of_version(store: Store, row: VersionRow, overrides: Mapping[str, Any]) -> MixSource:
    if row.status != "live":
        raise CorpusError(
            f"version {row.name} is {row.status}; `catalog versions` names the one in its place"
        )
    wrong = [key for key in overrides if key.partition(".")[0] != "mixture"]
    if wrong:
        raise CorpusError(
            f"--set {wrong[0]}: a version's tokens are made; only keys of mixture can change here, "
            "`corpus mix RECIPE` takes the others"
        )
    recipe, _ = load_published_recipe(store, row.recipe_digest)
    changed = changed_recipe(recipe, dict(overrides), f"recipe of version {row.name}")
    manifest = published_manifest(store, row)
    title = f"version {row.name}" + (" with other weights" if overrides else "")
    return MixSource(title, manifest.groups, changed.mixture, manifest.seq_len)


def _newest(registry: Registry, recipe: Recipe) -> VersionRow | None:
    named = [
        row
        for row in registry.versions()
        if row.status == "live" and registry.recipe(row.recipe_digest).name == recipe.name
    ]
    return named[-1] if named else None
