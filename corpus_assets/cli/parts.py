"""Parts that failed for good: `corpus parts`."""

from typing import TYPE_CHECKING

import click

from catalog.answers import Rows
from catalog.cli import answers
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


def show_failed(answer: "Rows[FailedPartRow]") -> None:
    """`corpus parts failed`"""
    for row in answer.rows:
        click.echo(f"{row.stage}  {row.label}  {row.tries} tries, {row.failed_at}")
        click.echo(f"    {row.error}")
    count = len(answer.rows)
    click.echo(f"quarantined: {count}" if count else "no part is quarantined")


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
@answers(view=show_failed)
def failed(stage: str | None, snapshot: str | None, home: str | None) -> "Rows[FailedPartRow]":
    """List quarantined parts with their errors."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    return Rows(registry.failed_parts(stage, snapshot))


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
def retry(stage: str | None, snapshot: str | None, home: str | None) -> None:
    """Retry quarantined parts in the next build."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    n = registry.forget_failed_parts(stage, snapshot)
    click.echo(f"parts to retry in the next build: {n}" if n else "no part was quarantined")


@parts.command()
@click.argument("recipe")
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
def skip(recipe: str, stage: str | None, snapshot: str | None, home: str | None) -> None:
    """Build RECIPE without the files of quarantined parts.

    A version lists the files that it was built without.
    """
    from corpus_assets.core.home import Home
    from corpus_assets.inspect import skip_failed

    skipped = skip_failed(recipe, Home.resolve(home), stage, snapshot)
    for name in skipped:
        click.echo(f"skipped: {name}")
    if not skipped:
        click.echo("no part of a file is quarantined")


@parts.command()
@click.argument("recipe")
@SNAPSHOT_OPTION
@HOME_OPTION
def unskip(recipe: str, snapshot: str | None, home: str | None) -> None:
    """Read skipped files again in the next build of RECIPE."""
    from corpus_assets.core.home import Home
    from corpus_assets.inspect import unskip_files

    n = unskip_files(recipe, Home.resolve(home), snapshot)
    click.echo(f"files to read again in the next build: {n}" if n else "no file was skipped")
