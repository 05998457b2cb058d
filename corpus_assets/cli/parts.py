"""Parts that failed for good: `corpus parts`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from catalog.answers import Rows
from catalog.cli import answers
from catalog.figures import counted
from corpus_assets.cli.options import HOME_OPTION

if TYPE_CHECKING:
    from catalog.db import FailedPartRow

STAGE_OPTION = click.option("--stage", metavar="NAME", help="Only this stage.")
SNAPSHOT_OPTION = click.option("--snapshot", metavar="NAME", help="Only this snapshot.")


@click.group()
def parts() -> None:
    """List, retry or skip quarantined parts.

    A part that keeps failing is quarantined; a build continues without it as far as it can.
    """


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
@answers
def failed(stage: str | None, snapshot: str | None, home: str | None) -> "Rows[FailedPartRow]":
    """List quarantined parts with their errors."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    columns = ("stage", "label", "tries", "failed_at", "error")
    return Rows(registry.failed_parts(stage, snapshot), columns, "No part is quarantined.")


@dataclass(frozen=True)
class Retried:
    """Parts that are no longer quarantined."""

    parts: int

    def __str__(self) -> str:
        if not self.parts:
            return "No part was quarantined."
        return f"The next build retries {counted(self.parts, 'part')}."


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
@answers
def retry(stage: str | None, snapshot: str | None, home: str | None) -> Retried:
    """Retry quarantined parts in the next build."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    return Retried(registry.forget_failed_parts(stage, snapshot))


@dataclass(frozen=True)
class Skipped:
    """Files that a recipe is built without from now on."""

    files: list[str]

    def __str__(self) -> str:
        return "\n".join(f"skipped: {name}" for name in self.files) or (
            "No part of a file is quarantined."
        )


@parts.command()
@click.argument("recipe")
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
@answers
def skip(recipe: str, stage: str | None, snapshot: str | None, home: str | None) -> Skipped:
    """Build RECIPE without the files of quarantined parts.

    A version lists the files that it was built without.
    """
    from corpus_assets.core.home import Home
    from corpus_assets.inspect import skip_failed

    return Skipped(skip_failed(recipe, Home.resolve(home), stage, snapshot))


@dataclass(frozen=True)
class Unskipped:
    """Files that a recipe is built with again."""

    files: int

    def __str__(self) -> str:
        if not self.files:
            return "No file was skipped."
        return f"The next build reads {counted(self.files, 'file')} again."


@parts.command()
@click.argument("recipe")
@SNAPSHOT_OPTION
@HOME_OPTION
@answers
def unskip(recipe: str, snapshot: str | None, home: str | None) -> Unskipped:
    """Read skipped files again in the next build of RECIPE."""
    from corpus_assets.core.home import Home
    from corpus_assets.inspect import unskip_files

    return Unskipped(unskip_files(recipe, Home.resolve(home), snapshot))
