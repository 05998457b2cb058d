"""Plan a run before training: `corpus mix` and `corpus plan-tokens`. Reads manifests only."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catalog.cli import answers, bar, print_line, print_table
from catalog.figures import amount, counted
from corpus_assets.cli.options import HOME_OPTION, overrides_of, recipe_options
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect import MixAnswer, MixComparison, TokensWanted

BY_OPTION = click.option(
    "--by",
    metavar="group|domain|source|tier|LABEL",
    help="One row per group or domain, or per source, tier or label of it (language ...) "
    "[group up to 30, else tier].",
)
SIZES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def number(written: str) -> float:
    """Parse a large number as people write it: 7e9, 7B, 1.5T, 320000000."""
    plain = written.replace("_", "").lower()
    found = re.fullmatch(r"(\d+\.?\d*(?:e[+-]?\d+)?)([kmbgt]?)", plain)
    value = float(found[1]) * SIZES[found[2]] if found else 0.0
    if not 1 <= value < 1e30:
        raise click.BadParameter(f"{written!r} is not a number; write it like 7e9, 7B or 320000000")
    return value


def show_mix(answer: "MixAnswer") -> None:
    """Print the answer of `corpus mix`."""
    from corpus_assets.inspect import MixComparison

    if isinstance(answer, MixComparison):
        _show_comparison(answer)
        return
    print_line(
        f"{answer.of}: {amount(sum(row.tokens for row in answer.rows))} tokens there, a "
        f"run of {amount(answer.run_tokens)} in blocks of {answer.block_samples:,} samples"
    )
    print_line()
    phases = answer.phases
    print_table(
        ("phase", "blocks", "tokens"),
        [(p.name, f"{p.blocks:,}", f"{p.tokens:,}") for p in phases],
        numbers_right=True,
    )
    print_line()
    several = [phase.name for phase in phases] if len(phases) > 1 else []
    top = max((row.share for row in answer.rows), default=0.0) or 1.0
    print_table(
        ("group", "tokens", "drawn", "epochs", "allowed", *several, "share", ""),
        [
            (
                row.group,
                f"{row.tokens:,}",
                f"{row.drawn_tokens:,}",
                f"{row.epochs:.2f}",
                f"{row.allowed:g}",
                *(f"{row.phases[name]:.2%}" for name in several),
                f"{row.share:.2%}",
                bar(row.share / top),
            )
            for row in answer.rows
        ],
        numbers_right=True,
        marked=[row.epochs > row.allowed for row in answer.rows],
    )
    print_line()
    for share in answer.shares:
        if share.problem is not None:
            print_line(share.line())
    if answer.longest_run is not None:
        print_line(
            f"With these weights a run of up to {answer.longest_run:,} tokens stays inside "
            "the epochs allowed."
        )
    if answer.unseen:
        print_line(
            f"Never drawn, because less than one sample of a block is theirs: "
            f"{counted(len(answer.unseen), 'group')} (for example {answer.unseen[0]}); "
            f"block_samples of {answer.block_samples_for_all:,} would include them all."
        )


def _show_comparison(answer: "MixComparison") -> None:
    this, other = answer.of, answer.against.of
    print_line(f"{other} (before) and {this} (after)")
    print_line()
    rows = answer.differences
    print_table(
        ("group", "share", "after", "change", "drawn", "after", "epochs", "after", "allowed"),
        [
            (
                row.group,
                f"{row.share.before:.2%}",
                f"{row.share.after:.2%}",
                _points(row.share.after - row.share.before),
                amount(row.drawn_tokens.before),
                amount(row.drawn_tokens.after),
                f"{row.epochs.before:.2f}",
                f"{row.epochs.after:.2f}",
                f"{row.allowed:g}",
            )
            for row in rows
        ],
        numbers_right=True,
        marked=[row.epochs.after > row.allowed for row in rows],
    )
    print_line()
    moved = sum(abs(row.share.after - row.share.before) for row in rows) / 2
    print_line(f"{moved:.2%} of the run's tokens move to another group.")


def _points(change: float) -> str:
    return f"{change * 100:+.2f}" if abs(change) >= 5e-5 else "-"


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
@answers(view=show_mix)
def mix(
    version_or_recipe: str,
    settings: Sequence[str],
    tokens: float | None,
    against: str | None,
    plot: Path | None,
    by: str | None,
    home: str | None,
) -> "MixAnswer":
    """Show what a training run would see.

    Lists tokens, shares and epochs of each group, computed from manifests; --set tries other
    weights. Exits with 1 if a group exceeds its allowed epochs.
    """
    from corpus_assets.inspect import compare_mixes, mix_answer, write_plot

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise CorpusError(f"--plot {plot}: the name must end in .svg or .html")
    place = Home.resolve(home)
    answer = mix_answer(place, version_or_recipe, overrides_of(settings), tokens, by)
    if against is not None:
        answer = compare_mixes(mix_answer(place, against, {}, tokens, by), answer)
    if plot is not None:
        write_plot(plot, answer)
    return answer


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
@answers
def plan_tokens(
    params: float,
    regime: str,
    tokens_per_param: float | None,
    version: str | None,
    by: str | None,
    home: str | None,
) -> "TokensWanted":
    """Show how many tokens a model needs.

    Compares the need with the tokens of a version, and shows what is missing.
    """
    from corpus_assets.inspect import plan_tokens as make_plan

    place = Home.resolve(home)
    return make_plan(place, params, regime, tokens_per_param, version, by or "tier")
