"""List, discover, add and remove a recipe's snapshots: `corpus snapshots`."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from catalog.figures import counted
from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION, overrides_of, recipe_options
from corpus_assets.core.home import Home

PIN_AT_ONCE = 200  # files; more are pinned by the first build, a request each
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
@JSON_OPTION
def discover(
    recipe: str,
    source: str | None,
    limit: int,
    sizes: bool,
    home: str | None,
    settings: Sequence[str],
    as_json: bool,
) -> None:
    """List crawls that the recipe does not have, newest first."""
    from corpus_assets.inspect import Book, shown_bytes
    from corpus_assets.inspect import discover as find_new

    book = Book.open(recipe, Home.resolve(home), overrides_of(settings))
    found = find_new(book, *book.crawl_source(source), limit, sizes, _tell)
    if as_json:
        click.echo(json.dumps([asdict(crawl) for crawl in found]))
        return
    if not found:
        click.echo(f"recipe {book.recipe.name} already has every available crawl")
    for crawl in found:
        size = f"{shown_bytes(crawl.bytes):>12}" if sizes else ""
        click.echo(
            f"  {crawl.crawl:<24}{crawl.files:>8,} files, {crawl.taken:,} would be used{size}"
        )


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
@JSON_OPTION
def add(
    recipe: str,
    name: str,
    files: int | None,
    snapshot: str | None,
    source: str | None,
    home: str | None,
    settings: Sequence[str],
    as_json: bool,
) -> None:
    """Add the crawl NAME to the recipe in this home.

    The next build ingests it. The recipe file is not changed.
    """
    from corpus_assets.graph import pin_snapshot
    from corpus_assets.ingest import OpenPlace, choose_files
    from corpus_assets.inspect import Book, make_entry, shown_bytes
    from corpus_assets.recipe import add_snapshot, undo_add
    from corpus_assets.session import open_session

    place = Home.resolve(home)
    book = Book.open(recipe, place, overrides_of(settings))
    entry, crawl = book.crawl_source(source)
    wanted = make_entry(book, entry, name, snapshot, files)
    with OpenPlace(crawl, book.locations) as crawls:
        paths = crawls.paths(name, entry.format)
    taken = len(
        choose_files(paths, files or crawl.number_of_files(wanted.snapshot), book.recipe.seed)
    )
    book.with_snapshot(wanted)
    add_snapshot(book.store, book.recipe.name, wanted)
    size: int | None = None
    if taken <= PIN_AT_ONCE:
        try:
            with open_session(recipe, place, 1, overrides_of(settings)) as session:
                pinned = pin_snapshot(session.pipeline, session.registry, wanted.snapshot)
            size = sum(file.size for file in pinned.files)
        except BaseException:
            undo_add(book.store, book.recipe.name, wanted.snapshot)
            raise
    if as_json:
        body = {"snapshot": wanted.snapshot, "source": entry.name, "crawl": name}
        click.echo(json.dumps(body | {"files": len(paths), "taken": taken, "bytes": size}))
        return
    amount = f", {shown_bytes(size)}" if size is not None else "; the first build asks for sizes"
    click.echo(
        f"added {wanted.snapshot} to {entry.name}: {taken:,} of {len(paths):,} files{amount}"
    )
    click.echo(f"to ingest it, run: corpus build {recipe}")


@snapshots.command()
@click.argument("recipe")
@click.argument("name")
@click.option(
    "--list-only", is_flag=True, help="Remove it even though live versions have documents of it."
)
@HOME_OPTION
@recipe_options
def remove(
    recipe: str, name: str, list_only: bool, home: str | None, settings: Sequence[str]
) -> None:
    """Remove an added snapshot from the recipe.

    Works even if the snapshot has made the recipe unreadable. Its pinned file list and its Dagster
    partition are removed too, unless a live version has documents of it.
    """
    from corpus_assets.inspect import remove_whole

    place = Home.resolve(home)
    gone, holding = remove_whole(recipe, place, overrides_of(settings), name, list_only, _tell)
    if holding:
        click.echo(f"removed {name} from {gone.source}; {', '.join(holding)} still holds it")
        return
    from corpus_assets.defs import forget_partition

    forget_partition(place, name)
    click.echo(f"removed {name} from {gone.source}; `corpus gc` deletes what was made of it")


@snapshots.command(name="list")
@click.argument("recipe")
@HOME_OPTION
@recipe_options
@JSON_OPTION
def list_(recipe: str, home: str | None, settings: Sequence[str], as_json: bool) -> None:
    """List the recipe's snapshots with ingest counts."""
    from corpus_assets.inspect import Book, known_snapshots, shown_bytes
    from corpus_assets.session import open_session

    place = Home.resolve(home)
    book = Book.open(recipe, place, overrides_of(settings))
    known = []
    if book.recipe.snapshots:
        with open_session(recipe, place, 1, overrides_of(settings)) as session:
            known = known_snapshots(book, session.pipeline)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in known]))
        return
    if not known:
        click.echo(f"recipe {book.recipe.name} has no snapshot yet; `corpus snapshots add` one")
    for each in known:
        pinned = "not pinned yet"
        if each.files is not None:
            pinned = (
                f"{counted(each.files, 'file'):>13} {shown_bytes(each.bytes):>10}  "
                f"{each.parts_done:,} ingested: {counted(each.records, 'record')}, "
                f"{counted(each.documents, 'document')}"
            )
        mark = "added" if each.added else ""
        click.echo(f"  {each.snapshot:<24}{each.source:<12}{mark:<7}{pinned}")


def _tell(line: str) -> None:
    click.echo(line, err=True)
