"""Build a version and write its report, for the commands that do."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catalog.formats.names import check_name
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.cli.build_view import Built

THIS_MACHINE = (None, None, None)  # engine, workers and address of Ray, as nobody set them


def build_version(
    recipe: str,
    place: Home,
    version: str | None,
    overrides: Mapping[str, Any],
    *,
    engine: tuple[str | None, int | None, str | None] = THIS_MACHINE,
    lock: str | None = None,
    calibrations: str | None = None,
    upgrade: Sequence[str] = (),
    extends: str | None = None,
) -> "Built":
    """Build a version in one Dagster run, with its progress on the terminal."""
    from corpus_assets.core.display import display

    if version is not None:
        check_name("version", version)
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(display())
        progress.log(f"planning {recipe}")  # at once: what follows takes a second to load

        from corpus_assets.build import build
        from corpus_assets.cli.build_view import built
        from corpus_assets.defs import DagsterRuns
        from corpus_assets.graph import EngineChoice
        from corpus_assets.session import open_session

        opened = open_session(
            recipe,
            place,
            overrides=dict(overrides),
            lock=lock,
            progress=progress,
            calibrations=calibrations,
            upgrade=upgrade,
            engine=EngineChoice.resolve(*engine),
            extends=extends,
        )
        session = stack.enter_context(opened)
        runs = DagsterRuns(
            {
                "recipe": str(Path(recipe).resolve()) if Path(recipe).exists() else recipe,
                "home": str(place.root),
                "overrides": dict(overrides),
                "lock": str(Path(lock).resolve()) if lock else "",
                "recalibrate": "all" in upgrade,
            }
        )
        made = build(session, version, runs)
        asked = session.registry.version().name
        return built(session.pipeline, made, place, recipe, asked)


@dataclass(frozen=True)
class WrittenReport:
    """A version's report as a file."""

    version: str
    file: str

    def __str__(self) -> str:
        return f"report of {self.version}: {self.file}"


def write_report(
    version: str, target: Path, place: Home, prices: str | None = None
) -> WrittenReport:
    """Write the report of a version, with its cost, its gates and its reviews first."""
    from catalog.pages import put_first
    from corpus_assets.evidence import choices_section, gates_section
    from corpus_assets.inspect import cost_section, judgements_section, load_prices
    from corpus_assets.session import open_home
    from corpus_assets.versions import load_published_recipe

    store, registry = open_home(place)
    page = f"versions/{version}/report.html"
    if not store.exists(page):
        raise CorpusError(f"there is no version {version} here; `catalog versions` lists them")
    row = registry.version(version)
    added = [
        cost_section(place, row, load_prices(prices)),
        gates_section(store, registry.gates(version)),
        choices_section(store, load_published_recipe(store, row.recipe_digest)[0]),
        judgements_section(registry.judgements(version)),
    ]
    try:
        target.write_text(put_first(store.read(page).decode(), added), encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {target}: {error}") from error
    return WrittenReport(version, str(target))
