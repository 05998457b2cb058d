"""What a version took, and what more would take: `corpus cost` and `corpus estimate`."""

import math
from typing import Any

import click

from catalog.cli import print_fields, print_json, print_line, print_table
from catalog.figures import counted, size
from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

PRICES_OPTION = click.option(
    "--prices",
    metavar="FILE",
    help="YAML file with your prices: cpu_hour, gib_month, thousand_writes, thousand_reads.",
)
WHATEVER = "prices are round defaults; pass your own with --prices"

Answer = dict[str, Any]


@click.command()
@click.argument("version")
@PRICES_OPTION
@HOME_OPTION
@JSON_OPTION
def cost(version: str, prices: str | None, home: str | None, as_json: bool) -> None:
    """Show what VERSION cost to build, by stage.

    CPU time, memory, bytes, requests and money.
    """
    from corpus_assets.inspect import load_prices, version_cost
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    _, registry = open_home(place)
    answer = version_cost(place, registry.version(version), load_prices(prices))
    if as_json:
        print_json(answer)
    else:
        show_cost(answer, own_prices=prices is not None)


def show_cost(answer: Answer, own_prices: bool) -> None:
    """Print the answer of `corpus cost`."""
    columns = ("stage", "parts", "CPU s", "wall s", "peak memory", "read", "written", "objects",
               "retries", "money")  # fmt: skip
    stages = [*answer["stages"], {"stage": "total", **answer["total"]}]
    stages[-1]["money"] = sum(answer["total"]["money"].values())
    rows = [
        (
            row["stage"],
            row["parts"],
            f"{row['cpu_hours'] * 3600:,.1f}",
            f"{row['wall_hours'] * 3600:,.1f}",
            size(row["peak_bytes"]),
            size(row["bytes_in"]),
            size(row["bytes_out"]),
            row["objects"],
            row["retries"],
            money(row["money"]),
        )
        for row in stages
    ]
    print_table(columns, rows, numbers_right=True)
    print_line()
    for title, key in (
        ("for 1,000 documents read", "per_1000_documents"),
        ("for a trillion tokens", "per_trillion_tokens"),
    ):
        each = answer[key]
        print_line(
            f"{title}: {each['cpu_hours']:,.4g} CPU hours, {size(each['bytes_out'])} stored, "
            f"{each['objects']:,.0f} objects, {money(each['money'])}"
        )
    if answer["total"]["unmeasured"]:
        print_line(
            f"{counted(answer['total']['unmeasured'], 'part')} computed before costs were recorded"
        )
    if not own_prices:
        print_line(WHATEVER)


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
@JSON_OPTION
def estimate(
    recipe: str,
    crawls: int,
    cores: int,
    files: int,
    file_gib: float,
    version: str | None,
    prices: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Estimate the cost of building RECIPE at scale.

    Extrapolates from a version of the recipe to whole crawls. Build a small version first, from
    some files of a crawl: the more parts, the better the estimate. Ranges are the 5th and 95th
    percentile of a bootstrap over its parts.
    """
    from corpus_assets.inspect import GIB, Crawls, load_prices
    from corpus_assets.inspect import estimate as estimated
    from corpus_assets.recipe import find_recipe, load_recipe
    from corpus_assets.session import open_home
    from corpus_assets.versions import load_published_recipe

    place = Home.resolve(home)
    store, registry = open_home(place)
    name = load_recipe(find_recipe(recipe)).name
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
    asked = Crawls(crawls, files, file_gib * GIB)
    answer = estimated(place, found[-1], asked, cores, load_prices(prices))
    if as_json:
        print_json(answer)
    else:
        show_estimate(answer, own_prices=prices is not None)


def show_estimate(answer: Answer, own_prices: bool) -> None:
    """Print the answer of `corpus estimate`."""
    rows = [
        (row["stage"], span(row["cpu_hours"], ",.1f"), sizes(row["stored_bytes"]))
        for row in answer["stages"]
    ]
    print_table(("stage", "CPU hours", "stored"), rows)
    print_line()
    print_fields(
        [
            ("source files", f"{answer['crawls']} crawls, {size(answer['source_bytes'])}"),
            ("CPU hours", span(answer["cpu_hours"], ",.0f")),
            (f"days on {answer['cores']} cores", span(answer["days"], ",.1f")),
            ("stored", sizes(answer["stored_bytes"])),
            ("requests", f"{answer['writes']:,.0f} writes, {answer['reads']:,.0f} reads"),
            ("money", span(answer["money"], ",.0f")),
        ]
    )
    print_line()
    mean = answer["measured_bytes"] / answer["measured_parts"]
    print_line(
        f"measured on {counted(answer['measured_parts'], 'part')} of {answer['source']} in "
        f"{answer['version']}, {size(mean)} each; the fixed cost per part is included, so small "
        "parts give high figures; storage is per month"
    )
    if not own_prices:
        print_line(WHATEVER)


def money(amount: float) -> str:
    """Return money with as many digits as it has."""
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.6f}"


def span(found: list[float], form: str) -> str:
    """Return the middle of three figures, and the two around it."""
    low, middle, high = found
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def sizes(found: list[float]) -> str:
    low, middle, high = found
    return f"{size(middle)} ({size(low)} to {size(high)})"
