"""Parts that failed for good: `corpus parts`."""

import json
from dataclasses import asdict

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION

STAGE_OPTION = click.option("--stage", metavar="NAME", help="Of one stage.")
SNAPSHOT_OPTION = click.option("--snapshot", metavar="NAME", help="Of one snapshot.")


@click.group()
def parts() -> None:
    """Parts that failed for good and are set aside; a build goes on without them up to there."""


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
@JSON_OPTION
def failed(stage: str | None, snapshot: str | None, home: str | None, as_json: bool) -> None:
    """List the parts that are set aside, with the error of each."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    found = registry.failed_parts(stage, snapshot)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in found]))
        return
    for row in found:
        click.echo(f"{row.stage}  {row.label}  {row.tries} tries, {row.failed_at}")
        click.echo(f"    {row.error}")
    click.echo(f"set aside: {len(found)}" if found else "no part is set aside")


@parts.command()
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
def retry(stage: str | None, snapshot: str | None, home: str | None) -> None:
    """Let the next build try parts again that are set aside."""
    from corpus_assets.core.home import Home
    from corpus_assets.session import open_home

    _, registry = open_home(Home.resolve(home))
    n = registry.forget_failed_parts(stage, snapshot)
    click.echo(f"the next build tries again: {n}" if n else "no part was set aside")


@parts.command()
@click.argument("recipe")
@STAGE_OPTION
@SNAPSHOT_OPTION
@HOME_OPTION
def skip(recipe: str, stage: str | None, snapshot: str | None, home: str | None) -> None:
    """Build RECIPE without the files whose parts are set aside.

    The recipe's `max_failed_parts` must allow as many; a version names the files it was built
    without.
    """
    from corpus_assets.core.home import Home
    from corpus_assets.inspect.snapshots import skip_failed

    skipped = skip_failed(recipe, Home.resolve(home), stage, snapshot)
    for name in skipped:
        click.echo(f"skipped: {name}")
    if not skipped:
        click.echo("no part of a file is set aside")


@parts.command()
@click.argument("recipe")
@SNAPSHOT_OPTION
@HOME_OPTION
def unskip(recipe: str, snapshot: str | None, home: str | None) -> None:
    """Let the next build of RECIPE read files again that `skip` left out."""
    from corpus_assets.core.home import Home
    from corpus_assets.inspect.snapshots import unskip_files

    n = unskip_files(recipe, Home.resolve(home), snapshot)
    click.echo(f"the next build reads again: {n}" if n else "no file was skipped")
