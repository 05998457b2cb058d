"""What a version took, and what more would take: `corpus cost` and `corpus estimate`."""

import math
from typing import TYPE_CHECKING

import click

from catalog.cli import answers
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect import Estimate, VersionCost

PRICES_OPTION = click.option(
    "--prices",
    metavar="FILE",
    help="YAML file with your prices: cpu_hour, gpu_hour, gib_month, thousand_writes, thousand_reads.",
)


@click.command()
@click.argument("version")
@PRICES_OPTION
@HOME_OPTION
@answers
def cost(version: str, prices: str | None, home: str | None) -> "VersionCost":
    """Show what VERSION cost to build, by stage.

    Lists CPU time, memory, bytes, requests and money.
    """
    from corpus_assets.inspect import load_prices, version_cost
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    _, registry = open_home(place)
    return version_cost(place, registry.version(version), load_prices(prices))


def _number(_: click.Context, __: click.Parameter, value: float) -> float:
    if math.isnan(value):  # which no range refuses
        raise click.BadParameter("nan is not a size.")
    return value


@click.command()
@click.argument("recipe")
@click.option("--crawls", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option("--cores", type=click.IntRange(1), default=64, show_default=True, metavar="C")
@click.option(
    "--files",
    type=click.IntRange(1),
    default=90_000,
    show_default=True,
    metavar="N",
    help="Files per crawl.",
)
@click.option(
    "--file-gib",
    type=click.FloatRange(min=0, max=1 << 20, min_open=True),
    callback=_number,
    default=1.0,
    show_default=True,
    metavar="GIB",
    help="Size of a file as transferred.",
)
@click.option(
    "--version", metavar="NAME", help="Version to extrapolate from [the recipe's newest]."
)
@PRICES_OPTION
@HOME_OPTION
@answers
def estimate(
    recipe: str,
    crawls: int,
    cores: int,
    files: int,
    file_gib: float,
    version: str | None,
    prices: str | None,
    home: str | None,
) -> "Estimate":
    """Estimate the cost of building RECIPE at scale.

    Extrapolates from a version of the recipe to whole crawls. Build a small version first, from
    some files of a crawl: the more parts, the better the estimate. Ranges are the 5th and 95th
    percentile of a bootstrap over its parts and snapshots. Clusters are costed by
    `clusters.scope` of RECIPE: with `all`, each crawl is compared with all before it.
    """
    from corpus_assets.inspect import Crawls, load_prices
    from corpus_assets.inspect import estimate as estimated
    from corpus_assets.recipe import find_recipe, load_recipe
    from corpus_assets.session import open_home
    from corpus_assets.versions import load_published_recipe

    place = Home.resolve(home)
    store, registry = open_home(place)
    wanted = load_recipe(find_recipe(recipe))
    name = wanted.name
    found = [row for row in registry.versions() if row.status == "live"]
    if version is not None:
        found = [registry.version(version)]
    else:
        found = [r for r in found if load_published_recipe(store, r.recipe_digest)[0].name == name]
    if not found:
        raise CorpusError(
            f"no live version of the recipe {name} is in this home: build a small one first, from "
            "some files of a crawl"
        )
    asked = Crawls(crawls, files, file_gib)
    scope = wanted.clusters.scope
    return estimated(place, found[-1], asked, cores, load_prices(prices), scope)
