"""Seeing what rules do: `corpus signals show`, `corpus whatif`, `corpus canary`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION, SET_OPTION, overrides_of
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect.version_columns import VersionColumns
    from corpus_assets.inspect.whatif import Sampled

VERSION_OPTION = click.option("--version", metavar="NAME", help="Which version [the newest].")
TEXT_OPTION = click.option("--text", "with_text", is_flag=True, help="Show text of documents.")
EXCERPT = 300


@click.group()
def signals() -> None:
    """What was measured of documents."""


@signals.command()
@click.argument("doc_id")
@VERSION_OPTION
@TEXT_OPTION
@HOME_OPTION
@JSON_OPTION
def show(
    doc_id: str, version: str | None, with_text: bool, home: str | None, as_json: bool
) -> None:
    """Every signal of a document, the rules that look at it, and how it stands in its snapshot.

    DOC_ID is a document's id or the beginning of it.
    """
    from catalog.cli.terminal import print_json
    from catalog.formats.store import Store as CatalogStore
    from catalog.lineage.tables import Lineage
    from corpus_assets.cli.signals_view import show_signals
    from corpus_assets.inspect.documents import signals_of

    place = Home.resolve(home)
    registry, columns = open_version(place, version)
    name = columns.title.removeprefix("version ")
    with Lineage(registry, CatalogStore(place.store_url), name) as lineage:
        answer = signals_of(columns, lineage, doc_id, with_text)
    (print_json if as_json else show_signals)(answer)


@click.command()
@click.argument("recipe")
@SET_OPTION
@VERSION_OPTION
@click.option("--pin-cutoffs", is_flag=True, help="Keep the cutoffs of the version as they are.")
@click.option(
    "--sample", default=10, show_default=True, type=click.IntRange(0), help="Documents to name."
)
@TEXT_OPTION
@HOME_OPTION
@JSON_OPTION
def whatif(
    recipe: str,
    settings: Sequence[str],
    version: str | None,
    pin_cutoffs: bool,
    sample: int,
    with_text: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Say what other selection rules would keep and drop, from stored columns, in seconds.

    Compares RECIPE, as changed by --set, with a published version: the one named, else the
    newest of a recipe with the same name. Where there is none, with RECIPE as it stands.
    """
    from catalog.cli.terminal import print_json
    from corpus_assets.cli.signals_view import show_whatif
    from corpus_assets.core.store import open_store
    from corpus_assets.inspect.version_columns import Ruling
    from corpus_assets.inspect.whatif import answer_of, compare
    from corpus_assets.recipe.recipe import find_recipe
    from corpus_assets.recipe.snapshots import load_with_added

    overrides = overrides_of(settings)
    for key in overrides:
        if not key.startswith("selection."):
            raise CorpusError(
                f"--set {key}: `corpus whatif` is about selection; `corpus plan` says what "
                "another change would recompute"
            )
    place = Home.resolve(home)
    changed, _ = load_with_added(find_recipe(recipe), overrides, open_store(place.store_url))
    columns = _columns_for(place, recipe, changed.name, version)
    cutoffs = columns.ruling.cutoffs if pin_cutoffs else columns.resolve(changed)
    found = compare(columns, Ruling(changed.selection, cutoffs), sample)
    answer = answer_of(found)
    for key, drawn, ruling in (
        ("would_go", found.would_go, found.after),
        ("would_stay", found.would_stay, columns.ruling),
    ):
        answer[key] = [_described(columns, ruling, one, with_text) for one in drawn]
    (print_json if as_json else show_whatif)(answer)


@click.command()
@click.argument("version")
@click.option("--per-reason", default=5, show_default=True, type=click.IntRange(1, 1000))
@click.option(
    "--chars", default=2000, show_default=True, type=click.IntRange(1), help="Text shown of each."
)
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Where to write the page.")
@HOME_OPTION
def canary(version: str, per_reason: int, chars: int, out: Path | None, home: str | None) -> None:
    """Write a page with some kept and some dropped documents of each reason, to look at.

    The page holds text and is no part of the version: delete it when you have looked.
    """
    from corpus_assets.inspect.canary import draw_canary, render_canary

    _, columns = open_version(Home.resolve(home), version)
    page = render_canary(version, draw_canary(columns, per_reason), chars)
    target = out or Path(f"{version}-canary.html")
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {target}: {error}") from error
    click.echo(f"canary of {version}: {target} (it holds text; delete it when you have looked)")


def open_version(home: Home, version: str | None) -> tuple[Any, "VersionColumns"]:
    """The registry, and the columns of a live version."""
    from catalog.db.registry import Registry
    from corpus_assets.core.store import open_store
    from corpus_assets.ingest.suppressions import Suppressions
    from corpus_assets.inspect.version_columns import columns_of_version

    registry = Registry(home.catalog_url, home.catalog_busy_s)
    row = registry.version(version)
    if row.status != "live":
        raise CorpusError(
            f"version {row.name} is {row.status}; `catalog versions` names the one in its place"
        )
    orders = Suppressions.from_rows((order.kind, order.value) for order in registry.suppressions())
    return registry, columns_of_version(registry, open_store(home.store_url), row, orders)


def _columns_for(home: Home, recipe: str, name: str, version: str | None) -> "VersionColumns":
    """The version asked for; else the newest of the recipe's name; else what the recipe has."""
    from catalog.db.registry import Registry
    from corpus_assets.inspect.version_columns import columns_of_recipe

    if version is None:
        registry = Registry(home.catalog_url, home.catalog_busy_s)
        live = [row for row in registry.versions() if row.status == "live"]
        named = [row for row in live if registry.recipe(row.recipe_digest).name == name]
        if not named:
            from corpus_assets.session import open_session  # all of the graph, and rarely asked

            with open_session(recipe, home) as session:
                return columns_of_recipe(session.pipeline)
        version = named[-1].name
    return open_version(home, version)[1]


def _described(
    columns: "VersionColumns", ruling: Any, one: "Sampled", with_text: bool
) -> dict[str, Any]:
    """A document whose fate would change, with its address; its text where that is asked for."""
    from corpus_assets.inspect.version_columns import look
    from corpus_assets.select.requirement import requirement

    (page,) = look(columns, one.part, [one.row], with_text)
    rule = next(rule for rule in ruling.settings.rules if rule.name == one.rule)
    language = None if one.language == "unknown" else one.language
    said: dict[str, Any] = {
        "doc_id": page.doc_id,
        "snapshot": one.part.snapshot,
        "url": page.url,
        "language": one.language,
        "chars": one.n_chars,
        "rule": one.rule,
        "signal": one.signal,
        "value": one.value,
        "asks": str(requirement(rule, ruling.cutoffs, one.part.domain, language)),
        "suppressed": page.suppressed,
    }
    if with_text:
        said["text"] = page.text[:EXCERPT] if page.text is not None else None
    return said
