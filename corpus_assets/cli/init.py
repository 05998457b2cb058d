"""Start: `corpus init` looks at a folder and builds a sample of it, `corpus recipes` lists recipes."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from catalog.answers import Bytes, Count, Rows, Shown
from catalog.cli import answers, print_line, show_table
from catalog.figures import counted
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.ingest import FolderSource, LeftOut


@dataclass(frozen=True)
class ShownSource:
    """A source that was found, as a person checks it."""

    found: str
    format: str
    files: Count
    size: Annotated[Bytes, Shown("size")]
    records: Annotated[Count, Shown("records, about")]
    columns: str


@dataclass(frozen=True)
class Started:
    """A recipe for a folder, and the first look at it."""

    recipe: str
    sources: Annotated[list[ShownSource], Shown(in_text=False)]
    left_out: Annotated[list["LeftOut"], Shown(in_text=False)]
    build: str | None  # the command that builds all of it, where that is left to do
    version: str | None = None
    report: str | None = None

    def __str__(self) -> str:
        lines = ["", f"recipe  {self.recipe}"]
        if self.report is not None:
            lines.append(f"report  {self.report}")
        if self.build is not None:
            lines += ["", "Build everything:", "", f"  {self.build}"]
        return "\n".join(lines)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Recipe to write [FOLDER's name .yaml]."
)
@click.option("--yes", is_flag=True, help="Build a sample without asking.")
@HOME_OPTION
@answers
def init(folder: Path, output: Path | None, yes: bool, home: str | None) -> Started:
    """Write a recipe for FOLDER and build a sample.

    Recognizes web archives, JSON lines, Parquet, text, Markdown and source code, and guesses which
    columns hold what. After you confirm it, about 2,000 records are built and their report opens.
    """
    from corpus_assets.ingest import find_sources
    from corpus_assets.recipe import load_recipe, recipe_name, sample_share, write_recipe

    name = output.stem if output is not None else recipe_name(folder)
    target = output or Path(f"{name}.yaml")
    if target.exists():
        raise CorpusError(f"{target} exists; choose another file with --output")
    sources, left_out = find_sources(folder)
    _show(sources, left_out)
    if not sources:
        raise CorpusError(f"{folder}: no file of a format that is read")
    try:
        target.write_text(write_recipe(name, folder, sources, target.resolve()), encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {target}: {error.strerror}") from error
    load_recipe(target.resolve())
    share = sample_share(sources)
    started = Started(
        str(target),
        [_shown(source) for source in sources],
        left_out,
        f"corpus build {target} --version {name}-1",
    )
    if not (yes or _is_confirmed(target, share)):
        return started
    return _first_look(started, name, share, Home.resolve(home))


def _first_look(started: Started, name: str, share: float | None, place: Home) -> Started:
    from corpus_assets.cli.build_view import show_built
    from corpus_assets.cli.building import build_version, write_report

    version = f"{name}-sample" if share else f"{name}-1"
    overrides = {} if share is None else {"documents.gates.sample_share": share}
    show_built(build_version(started.recipe, place, version, overrides))
    report = write_report(version, Path(f"{version}-report.html"), place)
    if sys.stdin.isatty():
        click.launch(report.file)
    left_to_do = started.build if share else None
    return replace(started, build=left_to_do, version=version, report=report.file)


def _is_confirmed(recipe: Path, share: float | None) -> bool:
    """Ask a person; a script says --yes."""
    if not sys.stdin.isatty():
        print_line(f"wrote {recipe}; --yes builds a sample")
        return False
    what = "build it" if share is None else f"build a sample ({share:.3g} of the records)"
    return click.confirm(f"Wrote {recipe}. Are the columns right: {what} now?", default=True)


def _show(sources: "list[FolderSource]", left_out: "list[LeftOut]") -> None:
    if sources:
        show_table([_shown(source) for source in sources])
    for each in left_out:
        print_line(f"not read: {counted(each.files, 'file')} ({each.kind}): {each.advice}")
    print_line()


def _shown(source: "FolderSource") -> ShownSource:
    columns = ", ".join(f"{field}: {column}" for field, column in source.fields.items())
    return ShownSource(
        ", ".join(source.locations),
        source.format,
        source.files,
        source.bytes,
        source.records,
        columns,
    )


@dataclass(frozen=True)
class ShippedRecipe:
    """A recipe that ships with the project."""

    name: str
    about: str


@click.command()
@answers
def recipes() -> "Rows[ShippedRecipe]":
    """List the recipes that ship with corpus-assets."""
    from corpus_assets.recipe import shipped_recipes

    return Rows([ShippedRecipe(name, about) for name, about in shipped_recipes().items()])
