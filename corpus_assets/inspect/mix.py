"""Describe a mix by the name of a version or recipe. Reads manifests only."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from catalog.db import Registry, VersionRow
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store
from corpus_assets.inspect.change import BeforeAfter
from corpus_assets.recipe import Recipe, changed_recipe
from corpus_assets.session import open_home, open_session
from corpus_assets.shards import Mix, MixedGroup, MixtureSettings, gathered_rows, mix_of
from corpus_assets.versions import load_published_recipe, published_manifest, shard_groups


@dataclass(frozen=True)
class MixSource:
    """Groups of tokens and the settings that mix them."""

    title: str
    groups: tuple[MixedGroup, ...]
    mixture: MixtureSettings
    seq_len: int


def mix_source(home: Home, name: str, overrides: Mapping[str, Any]) -> MixSource:
    """Find the groups and weights of a version or of a recipe.

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
            groups = recipe.mixed_groups(shard_groups(session.pipeline))
        except MissingInput as error:
            row = _newest(registry, recipe)
            if row is None:
                raise CorpusError(
                    f"recipe {recipe.name} has no tokens to mix yet ({error}); "
                    "`corpus build` makes them"
                ) from error
            manifest = published_manifest(store, row)
            published, _ = load_published_recipe(store, row.recipe_digest)
            groups = published.mixed_groups(manifest.groups)
            title = f"recipe {recipe.name} over version {row.name}"
            return MixSource(title, tuple(groups), recipe.mixture, manifest.seq_len)
    title = f"recipe {recipe.name}"
    return MixSource(title, tuple(groups), recipe.mixture, recipe.shards.pack.seq_len)


def newest_version(home: Home) -> str | None:
    """Return the live version that was published last."""
    _, registry = open_home(home)
    live = [row.name for row in registry.versions() if row.status == "live"]
    return live[-1] if live else None


def _of_version(store: Store, row: VersionRow, overrides: Mapping[str, Any]) -> MixSource:
    if row.status != "live":
        raise CorpusError(
            f"version {row.name} is {row.status}; `catalog versions` shows its replacement"
        )
    wrong = [key for key in overrides if key.partition(".")[0] != "mixture"]
    if wrong:
        raise CorpusError(
            f"--set {wrong[0]}: only keys of `mixture` can change for a version; use `corpus mix "
            "RECIPE` for others"
        )
    recipe, _ = load_published_recipe(store, row.recipe_digest)
    changed = changed_recipe(recipe, dict(overrides), f"recipe of version {row.name}")
    manifest = published_manifest(store, row)
    title = f"version {row.name}" + (" with other weights" if overrides else "")
    groups = tuple(changed.mixed_groups(manifest.groups))
    return MixSource(title, groups, changed.mixture, manifest.seq_len)


def _newest(registry: Registry, recipe: Recipe) -> VersionRow | None:
    named = [
        row
        for row in registry.versions()
        if row.status == "live" and registry.recipe(row.recipe_digest).name == recipe.name
    ]
    return named[-1] if named else None


@dataclass(frozen=True, kw_only=True)
class MixAnswer(Mix):
    """What a run over a version or a recipe would see."""

    of: str
    by: str

    @property
    def ok(self) -> bool:
        return self.problem is None

    @property
    def notes(self) -> list[str]:
        return [] if self.problem is None else [self.problem]


@dataclass(frozen=True)
class GroupChange:
    """A group in two mixes."""

    group: str
    tokens: BeforeAfter[int]
    drawn_tokens: BeforeAfter[int]
    share: BeforeAfter[float]
    epochs: BeforeAfter[float]
    allowed: float


@dataclass(frozen=True, kw_only=True)
class MixComparison(MixAnswer):
    """A mix, and what it changes against another."""

    against: MixAnswer
    differences: tuple[GroupChange, ...]


def mix_answer(
    home: Home,
    name: str,
    overrides: Mapping[str, Any],
    tokens: float | None = None,
    by: str | None = None,
) -> MixAnswer:
    """Compute the mix of a version or recipe, for a run of other length and by other groups where
    asked."""
    source = mix_source(home, name, overrides)
    settings = source.mixture
    if tokens is not None:
        settings = settings.model_copy(update={"run_tokens": round(tokens)})
    made = mix_of(source.groups, settings, source.seq_len)
    chosen = by or ("group" if len(made.rows) <= 30 else "tier")
    rows = tuple(gathered_rows(made.rows, chosen))
    return MixAnswer(**vars(replace(made, rows=rows)), of=source.title, by=chosen)


def compare_mixes(before: MixAnswer, after: MixAnswer) -> MixComparison:
    """Compare two mixes group by group: share, tokens and epochs on both sides."""
    old, new = ({row.group: row for row in mix.rows} for mix in (before, after))

    def change(name: str, key: str) -> BeforeAfter[Any]:
        return BeforeAfter(
            *(getattr(side[name], key) if name in side else 0 for side in (old, new))
        )

    differences = tuple(
        GroupChange(
            name,
            change(name, "tokens"),
            change(name, "drawn_tokens"),
            change(name, "share"),
            change(name, "epochs"),
            (new.get(name) or old[name]).allowed,
        )
        for name in sorted({*old, *new})
    )
    return MixComparison(**vars(after), against=before, differences=differences)
