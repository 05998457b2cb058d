"""List, discover, add and remove a recipe's snapshots: `corpus snapshots`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from catalog.answers import Rows
from catalog.cli import answers
from corpus_assets.cli.options import HOME_OPTION, overrides_of, recipe_options
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect import AddedCrawl, Known, NewCrawl, RemovedSnapshot

SOURCE_OPTION = click.option(
    "--source", metavar="NAME", help="Crawl source of the recipe, if it has several."
)


@click.group()
def snapshots() -> None:
    """List, add and remove a recipe's snapshots."""


@snapshots.command()
@click.argument("recipe")
@SOURCE_OPTION
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of crawls to list.",
)
@click.option("--sizes", is_flag=True, help="Look up the size of each file that would be used.")
@HOME_OPTION
@recipe_options
@answers
def discover(
    recipe: str,
    source: str | None,
    limit: int,
    sizes: bool,
    home: str | None,
    settings: Sequence[str],
) -> "Rows[NewCrawl]":
    """List crawls that the recipe does not have, newest first."""
    from corpus_assets.inspect import Book
    from corpus_assets.inspect import discover as find_new

    book = Book.open(recipe, Home.resolve(home), overrides_of(settings))
    found = find_new(book, *book.crawl_source(source), limit, sizes, _tell)
    nothing = f"Recipe {book.recipe.name} already has every available crawl."
    return Rows(found, ("crawl", "files", "taken", "bytes"), nothing)


@snapshots.command()
@click.argument("recipe")
@click.argument("name")
@click.option("--files", type=click.IntRange(1), help="Number of files to use.")
@click.option(
    "--as", "snapshot", metavar="SNAPSHOT", help="Name of the snapshot [the crawl's name]."
)
@SOURCE_OPTION
@HOME_OPTION
@recipe_options
@answers
def add(
    recipe: str,
    name: str,
    files: int | None,
    snapshot: str | None,
    source: str | None,
    home: str | None,
    settings: Sequence[str],
) -> "AddedCrawl":
    """Add the crawl NAME to the recipe in this home.

    The next build ingests it. The recipe file is not changed.
    """
    from corpus_assets.inspect import add_crawl

    return add_crawl(
        recipe, Home.resolve(home), overrides_of(settings), name, snapshot, files, source
    )


@snapshots.command()
@click.argument("recipe")
@click.argument("name")
@click.option(
    "--list-only", is_flag=True, help="Remove it even though live versions have documents of it."
)
@HOME_OPTION
@recipe_options
@answers
def remove(
    recipe: str, name: str, list_only: bool, home: str | None, settings: Sequence[str]
) -> "RemovedSnapshot":
    """Remove an added snapshot from the recipe.

    Works even if the snapshot has made the recipe unreadable. Its pinned file list and its Dagster
    partition are removed too, unless a live version has documents of it.
    """
    from corpus_assets.inspect import remove_whole

    place = Home.resolve(home)
    removed = remove_whole(recipe, place, overrides_of(settings), name, list_only, _tell)
    if not removed.held_by:
        from corpus_assets.defs import forget_partition

        forget_partition(place, name)
    return removed


@snapshots.command(name="list")
@click.argument("recipe")
@HOME_OPTION
@recipe_options
@answers
def list_(recipe: str, home: str | None, settings: Sequence[str]) -> "Rows[Known]":
    """List the recipe's snapshots with ingest counts."""
    from corpus_assets.inspect import Book, known_snapshots
    from corpus_assets.session import open_session

    place = Home.resolve(home)
    book = Book.open(recipe, place, overrides_of(settings))
    known = []
    if book.recipe.snapshots:
        with open_session(recipe, place, 1, overrides_of(settings)) as session:
            known = known_snapshots(book, session.pipeline)
    nothing = f"Recipe {book.recipe.name} has no snapshot yet; `corpus snapshots add` adds one."
    return Rows(known, empty=nothing)


def _tell(line: str) -> None:
    click.echo(line, err=True)
