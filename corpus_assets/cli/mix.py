"""Plan a run before training: `corpus mix` and `corpus plan-tokens`. Reads manifests only."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catalog.cli import bar, print_fields, print_json, print_line, print_table
from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION, overrides_of, recipe_options
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect import MixSource

Answer = Mapping[str, Any]

BY_OPTION = click.option(
    "--by",
    metavar="group|domain|source|tier|LABEL",
    help="One row per group or domain, or per source, tier or label of it (language ...) "
    "[group up to 30, else tier].",
)
SIZES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "B"), (10**6, "M"))


def number(written: str) -> float:
    """Parse a large number as people write it: 7e9, 7B, 1.5T, 320000000."""
    plain = written.replace("_", "").lower()
    found = re.fullmatch(r"(\d+\.?\d*(?:e[+-]?\d+)?)([kmbgt]?)", plain)
    value = float(found[1]) * SIZES[found[2]] if found else 0.0
    if not 1 <= value < 1e30:
        raise click.BadParameter(f"{written!r} is not a number; write it like 7e9, 7B or 320000000")
    return value


def amount(number: float) -> str:
    """Format a count as people say it: 15.0T, 7.25B, 320M; small ones whole."""
    for size, unit in UNITS:
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}" if abs(number) < 1000 * size else f"{number:,.0f}"
    return f"{number:,.0f}"


@click.command()
@click.argument("version_or_recipe")
@recipe_options
@click.option(
    "--tokens", type=number, help="Length of the run in tokens, for example 2e12 or 300B."
)
@click.option("--against", metavar="VERSION_OR_RECIPE", help="Compare with another mix.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a chart (.svg or .html).",
)
@BY_OPTION
@HOME_OPTION
@JSON_OPTION
def mix(
    version_or_recipe: str,
    settings: Sequence[str],
    tokens: float | None,
    against: str | None,
    plot: Path | None,
    by: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Show what a training run would see.

    Lists tokens, shares and epochs of each group, computed from manifests; --set tries other
    weights. Exits with 1 if a group exceeds its allowed epochs.
    """
    from corpus_assets.inspect import differences, mix_source, write_plot

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise CorpusError(f"--plot {plot}: the name must end in .svg or .html")
    place = Home.resolve(home)
    one = _mix_answer(mix_source(place, version_or_recipe, overrides_of(settings)), tokens, by)
    if against is not None:
        other = _mix_answer(mix_source(place, against, {}), tokens, by)
        one["against"] = other
        one["differences"] = differences(other, one)
    if plot is not None:
        write_plot(plot, one)
    if as_json:
        print_json(one)
    else:
        (show_mix if against is None else show_mix_comparison)(one)
        if plot is not None:
            click.echo(f"plot: {plot}")
    if one["problem"] is not None:
        if as_json:
            raise click.exceptions.Exit(1)
        raise CorpusError(one["problem"])


def _mix_answer(source: "MixSource", tokens: float | None, by: str | None) -> dict[str, Any]:
    from corpus_assets.shards import gathered_rows, mix_of

    settings = source.mixture
    if tokens is not None:
        settings = settings.model_copy(update={"run_tokens": round(tokens)})
    made = asdict(mix_of(source.groups, settings, source.seq_len))
    chosen = by or ("group" if len(made["rows"]) <= 30 else "tier")
    return {"of": source.title, "by": chosen, **made, "rows": gathered_rows(made["rows"], chosen)}


def show_mix(answer: Answer) -> None:
    """Print the answer of `corpus mix`."""
    print_line(
        f"{answer['of']}: {amount(sum(row['tokens'] for row in answer['rows']))} tokens there, a "
        f"run of {amount(answer['run_tokens'])} in blocks of {answer['block_samples']:,} samples"
    )
    print_line()
    phases = answer["phases"]
    print_table(
        ("phase", "blocks", "tokens"),
        [(p["name"], f"{p['blocks']:,}", f"{p['tokens']:,}") for p in phases],
        numbers_right=True,
    )
    print_line()
    several = [phase["name"] for phase in phases] if len(phases) > 1 else []
    top = max((row["share"] for row in answer["rows"]), default=0.0) or 1.0
    print_table(
        ("group", "tokens", "drawn", "epochs", "allowed", *several, "share", ""),
        [
            (
                row["group"],
                f"{row['tokens']:,}",
                f"{row['drawn_tokens']:,}",
                f"{row['epochs']:.2f}",
                f"{row['allowed']:g}",
                *(f"{row['phases'][name]:.2%}" for name in several),
                f"{row['share']:.2%}",
                bar(row["share"] / top),
            )
            for row in answer["rows"]
        ],
        numbers_right=True,
        marked=[row["epochs"] > row["allowed"] for row in answer["rows"]],
    )
    print_line()
    if answer["longest_run"] is not None:
        print_line(
            f"With these weights a run of up to {answer['longest_run']:,} tokens stays inside "
            "the epochs allowed."
        )
    if answer["unseen"]:
        print_line(
            f"{len(answer['unseen'])} groups are too small for one sample in a block and are "
            f"never drawn (for example {answer['unseen'][0]}); block_samples of "
            f"{answer['block_samples_for_all']:,} would have them all."
        )


def show_mix_comparison(answer: Answer) -> None:
    """Print the answer of `corpus mix --against`."""
    this, other = answer["of"], answer["against"]["of"]
    print_line(f"{other} (before) beside {this} (after)")
    print_line()
    rows = answer["differences"]
    print_table(
        ("group", "share", "after", "change", "drawn", "after", "epochs", "after", "allowed"),
        [
            (
                row["group"],
                f"{row['share']['before']:.2%}",
                f"{row['share']['after']:.2%}",
                _points(row["share"]["after"] - row["share"]["before"]),
                amount(row["drawn_tokens"]["before"]),
                amount(row["drawn_tokens"]["after"]),
                f"{row['epochs']['before']:.2f}",
                f"{row['epochs']['after']:.2f}",
                f"{row['allowed']:g}",
            )
            for row in rows
        ],
        numbers_right=True,
        marked=[row["epochs"]["after"] > row["allowed"] for row in rows],
    )
    print_line()
    moved = sum(abs(row["share"]["after"] - row["share"]["before"]) for row in rows) / 2
    print_line(f"{moved:.2%} of the run's tokens move to another group.")


def _points(change: float) -> str:
    return f"{change * 100:+.2f}" if abs(change) >= 5e-5 else "-"


@click.command("plan-tokens")
@click.option("--params", type=number, required=True, help="Parameters, for example 7e9 or 7B.")
@click.option(
    "--regime",
    type=click.Choice(["chinchilla", "overtrain"]),
    default="chinchilla",
    show_default=True,
    help="20 tokens per parameter, or 1,875 as in Llama 3 8B.",
)
@click.option("--tokens-per-param", type=number, help="Tokens per parameter, instead of a regime.")
@click.option("--version", metavar="NAME", help="Version or recipe [the newest version].")
@BY_OPTION
@HOME_OPTION
@JSON_OPTION
def plan_tokens(
    params: float,
    regime: str,
    tokens_per_param: float | None,
    version: str | None,
    by: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Show how many tokens a model needs.

    Compares the need with the tokens of a version, and shows what is missing.
    """
    from corpus_assets.inspect import mix_source, newest_version
    from corpus_assets.shards import TOKENS_PER_PARAM, Demand, wanted
    from corpus_assets.shards import plan_tokens as make_plan

    place = Home.resolve(home)
    ratio = tokens_per_param or TOKENS_PER_PARAM[regime]
    demand = Demand(params, ratio)
    name = version or newest_version(place)
    answer: dict[str, Any] = {
        "regime": None if tokens_per_param else regime,
        "why": f"{ratio:,g} tokens per parameter"
        + ("" if tokens_per_param else f", regime {regime}"),
    }
    if name is None:
        answer |= wanted(demand)
    else:
        source = mix_source(place, name, {})
        chosen = by or "tier"
        answer |= {"of": source.title, "by": chosen}
        answer |= make_plan(demand, source.groups, source.mixture, source.seq_len, chosen)
    (print_json if as_json else show_token_plan)(answer)


def show_token_plan(answer: Answer) -> None:
    """Print the answer of `corpus plan-tokens`."""
    print_fields(
        [
            ("parameters", amount(answer["params"])),
            ("tokens wanted", f"{answer['tokens_wanted']:,} ({answer['why']})"),
            ("compute", f"{answer['flops']:.3g} FLOPs (6 x parameters x tokens)"),
        ]
    )
    if "groups" not in answer:
        print_line()
        print_line("There is no version yet; `corpus build` makes one to compare this with.")
        return
    print_fields(
        [
            ("tokens there", f"{answer['tokens_there']:,} in {answer['of']}"),
            ("epochs implied", f"{answer['epochs']:.2f} over all groups together"),
        ]
    )
    print_line()
    rows = answer["groups"]
    print_table(
        ("group", "tokens", "share", "asked", "epochs", "allowed", "worth", "missing"),
        [
            (
                row["group"],
                f"{row['tokens']:,}",
                f"{row['share']:.2%}",
                amount(row["asked_tokens"]),
                f"{row['epochs']:,.2f}",
                f"{row['allowed']:g}",
                amount(row["worth_tokens"]),
                amount(row["missing_tokens"]) if row["missing_tokens"] else "-",
            )
            for row in rows
        ],
        numbers_right=True,
        marked=[bool(row["missing_tokens"]) for row in rows],
    )
    print_line()
    for line in _gap(answer):
        print_line(line)


def _gap(answer: Answer) -> list[str]:
    lines = []
    if answer["missing_tokens"]:
        lines.append(
            f"Missing: {answer['missing_tokens']:,} tokens, with every group repeated as often as "
            f"the recipe allows. {answer['fresh_tokens']:,} new ones, repeated as often, would do."
        )
        lines.append(
            f"The longest run with these weights is {answer['longest_run']:,} tokens; `corpus mix` "
            "tries others."
        )
    else:
        lines.append("Nothing is missing: the corpus covers this run inside the epochs allowed.")
    lines.append(
        f"`worth`: what the repeated tokens are as good as, {amount(answer['worth_tokens'])} fresh "
        "ones in all (Muennighoff et al. 2023; about four epochs are nearly as good as fresh)."
    )
    return lines
