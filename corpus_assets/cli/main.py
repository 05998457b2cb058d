"""The `corpus` command: build a corpus, see what would run, look at what came out.

Commands import what they need when they run: half of the time of a short one is imports.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catalog.answers import Named
from catalog.cli import STOPPED, answers, command_process, explained
from catalog.stopping import stoppable
from corpus_assets.cli.cost import PRICES_OPTION, cost, estimate
from corpus_assets.cli.evidence import evidence
from corpus_assets.cli.export import (
    check_export_command,
    export_command,
    export_signatures_command,
)
from corpus_assets.cli.extraction import extraction
from corpus_assets.cli.init import init, recipes
from corpus_assets.cli.inspect import contamination, sample_page, signals, whatif
from corpus_assets.cli.mix import mix, plan_tokens
from corpus_assets.cli.models import models
from corpus_assets.cli.options import HOME_OPTION, engine_options, overrides_of, recipe_options
from corpus_assets.cli.parts import parts
from corpus_assets.cli.signal_import import import_signals
from corpus_assets.cli.snapshots import snapshots
from corpus_assets.cli.tokenizer import tokenizer
from corpus_assets.cli.ui import ui
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.cli.build_view import Built
    from corpus_assets.cli.building import WrittenReport
    from corpus_assets.inspect import PlannedAsset
    from corpus_assets.recipe import Retention
    from corpus_assets.versions import Collected

LOCK_OPTION = click.option(
    "--lock",
    metavar="FILE",
    help="Build exactly what this lock pins: recipe, inputs, calibrations.",
)
CALIBRATIONS_OPTION = click.option(
    "--calibrations", metavar="LOCK", help="Use this lock's calibrations with another recipe."
)
UPGRADE_OPTION = click.option(
    "--upgrade",
    multiple=True,
    metavar="NAME",
    help="Recompute this calibration instead of reusing it; `all` for all of them.",
)

EXTENDS_OPTION = click.option(
    "--extends",
    metavar="VERSION",
    help="Only add snapshots to this version and reuse the rest of it; `latest`: the newest release.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="corpus-assets", prog_name="corpus")
def cli() -> None:
    """Build LLM pre-training corpora whose every token can be traced to its source.

    RECIPE is a YAML file, or the name of a recipe that ships with corpus-assets (`demo`).
    """


cli.add_command(init)
cli.add_command(recipes)
cli.add_command(snapshots)
signals.add_command(import_signals)
cli.add_command(signals)
cli.add_command(whatif)
cli.add_command(sample_page)
cli.add_command(contamination)
cli.add_command(tokenizer)
cli.add_command(models)
cli.add_command(extraction)
cli.add_command(mix)
cli.add_command(parts)
cli.add_command(cost)
cli.add_command(estimate)
cli.add_command(evidence)
cli.add_command(plan_tokens)
cli.add_command(ui)
cli.add_command(export_command)
cli.add_command(check_export_command)
cli.add_command(export_signatures_command)


def _show_built(answer: "Built") -> None:
    from corpus_assets.cli.build_view import show_built

    show_built(answer)


@cli.command()
@click.argument("recipe")
@click.option(
    "--version",
    metavar="NAME",
    help="Name of the version [recipe name + digest; with --extends + date].",
)
@engine_options
@LOCK_OPTION
@CALIBRATIONS_OPTION
@UPGRADE_OPTION
@EXTENDS_OPTION
@HOME_OPTION
@recipe_options
@answers(view=_show_built)
def build(
    recipe: str,
    version: str | None,
    workers: int | None,
    engine: str | None,
    ray_address: str | None,
    lock: str | None,
    calibrations: str | None,
    upgrade: Sequence[str],
    extends: str | None,
    home: str | None,
    settings: Sequence[str],
) -> "Built":
    """Build a version of a corpus. Cached results are reused."""
    from corpus_assets.cli.building import build_version

    return build_version(
        recipe,
        Home.resolve(home),
        version,
        overrides_of(settings),
        engine=(engine, workers, ray_address),
        lock=lock,
        calibrations=calibrations,
        upgrade=upgrade,
        extends=extends,
    )


@dataclass(frozen=True)
class WrittenLock:
    """A lock, and what is to be known of its calibrations."""

    file: str
    digest: str
    remarks: list[str]

    def __str__(self) -> str:
        return "\n".join([*self.remarks, f"lock {self.digest[:12]} written to {self.file}"])


@cli.command()
@click.argument("recipe")
@UPGRADE_OPTION
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Folder to write to [RECIPE.lock next to the recipe].",
)
@engine_options
@HOME_OPTION
@recipe_options
@answers
def lock(
    recipe: str,
    upgrade: Sequence[str],
    output: Path | None,
    workers: int | None,
    engine: str | None,
    ray_address: str | None,
    home: str | None,
    settings: Sequence[str],
) -> WrittenLock:
    """Resolve calibrations and write them to a lock.

    The lock and its files go next to the recipe, and later builds and plans of the recipe use it.
    Calibrations that the lock or a live version already has are reused as long as their settings
    are unchanged; --upgrade recomputes them.
    """
    from corpus_assets.build import resolve_lock
    from corpus_assets.core.display import display
    from corpus_assets.graph import EngineChoice
    from corpus_assets.session import open_session

    with (
        display() as progress,
        open_session(
            recipe,
            Home.resolve(home),
            overrides=overrides_of(settings),
            progress=progress,
            upgrade=upgrade,
            engine=EngineChoice.resolve(engine, workers, ray_address),
        ) as session,
    ):
        folder = output or session.lock_folder or Path(f"{Path(recipe).stem}.lock")
        digest = resolve_lock(session, folder)
        remarks = [*session.pipeline.recipe.caveats(), *session.reused.lines()]
    return WrittenLock(str(folder / "lock.json"), digest, remarks)


@cli.command()
@click.argument("recipe")
@LOCK_OPTION
@UPGRADE_OPTION
@EXTENDS_OPTION
@HOME_OPTION
@recipe_options
@answers
def plan(
    recipe: str,
    lock: str | None,
    upgrade: Sequence[str],
    extends: str | None,
    home: str | None,
    settings: Sequence[str],
) -> "Named[PlannedAsset]":
    """Show what a build would compute and what is cached.

    Nothing is run. Also shows which calibrations are reused and which a fresh lock would change
    and, once selection is done, whether the mixture is feasible.
    """
    from corpus_assets.inspect import planned_assets
    from corpus_assets.session import open_session

    place, changes = Home.resolve(home), overrides_of(settings)
    opened = open_session(recipe, place, 1, changes, lock, upgrade=upgrade, extends=extends)
    with opened as session:
        return planned_assets(session, lock)


@cli.command()
@click.argument("version")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Output file.")
@PRICES_OPTION
@HOME_OPTION
@answers
def report(
    version: str, output: Path | None, prices: str | None, home: str | None
) -> "WrittenReport":
    """Write a version's report as one self-contained page.

    It starts with the build time and cost, gate results and review results.
    """
    from corpus_assets.cli.building import write_report

    return write_report(
        version, output or Path(f"{version}-report.html"), Home.resolve(home), prices
    )


@cli.command()
@click.option("--dry-run", is_flag=True, help="Show what would be deleted without deleting it.")
@click.option(
    "--keep",
    type=click.Choice(["all", "takedowns", "published"]),
    help="What to keep of live versions: all results; not what only calibrations read; or only what "
    "versions name [`retention` of their recipes].",
)
@HOME_OPTION
@answers
def gc(dry_run: bool, keep: "Retention | None", home: str | None) -> "Collected":
    """Delete files that no live version uses.

    Leftovers of killed runs are deleted too. Also shows what else could be freed and what it would
    cost to compute that again.
    """
    from corpus_assets.graph import collecting
    from corpus_assets.session import open_home
    from corpus_assets.versions import collect_garbage

    place = Home.resolve(home)
    store, registry = open_home(place)
    if dry_run:
        return collect_garbage(store, registry, place, dry_run=True, keep=keep)
    with collecting(registry, lambda line: click.echo(line, err=True)) as fenced:
        return collect_garbage(store, fenced, place, keep=keep)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line, without a trace."""
    with stoppable() as stopped, command_process():
        try:
            done = cli.main(args=list(arguments) if arguments is not None else None,
                            prog_name="corpus", standalone_mode=False)  # fmt: skip
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, click.Abort | KeyboardInterrupt) or stopped.exit_code():
                click.echo(f"corpus: {STOPPED}", err=True)
                return stopped.exit_code() or 130
            from corpus_assets.core.known_errors import KNOWN_ERRORS

            line = str(error) if isinstance(error, KNOWN_ERRORS) else explained(error)
            if line is None:
                raise
            click.echo(f"corpus: error: {' '.join(line.split())}", err=True)
            return 1
    return done if isinstance(done, int) else 0  # a command that ends with `Exit`: its status


if __name__ == "__main__":
    sys.exit(main())
