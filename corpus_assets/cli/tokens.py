"""Tokens before training: `corpus tokenizer`, `corpus mix`, `corpus plan-tokens`."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION, SET_OPTION, overrides_of
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect.mix import MixSource

BY_OPTION = click.option(
    "--by",
    type=click.Choice(["group", "tier", "domain"]),
    help="A row a group, a tier of a domain, or a domain [group up to 30 of them, else tier].",
)
SIZES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def number(written: str) -> float:
    """A large number as people write it: 7e9, 7B, 1.5T, 320000000."""
    plain = written.replace("_", "").lower()
    found = re.fullmatch(r"(\d+\.?\d*(?:e[+-]?\d+)?)([kmbgt]?)", plain)
    value = float(found[1]) * SIZES[found[2]] if found else 0.0
    if not 1 <= value < 1e30:
        raise click.BadParameter(f"{written!r} is no amount; write it like 7e9, 7B or 320000000")
    return value


@click.group()
def tokenizer() -> None:
    """What a tokenizer is worth, and what it was trained on."""


@tokenizer.command("audit")
@click.argument("version_or_file")
@click.option(
    "--against", multiple=True, metavar="VERSION_OR_FILE", help="Another tokenizer, side by side."
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Measure on this file (text, JSONL, Parquet) instead of held-out text.",
)
@click.option("--eod", metavar="TOKEN", help="Token that ends a document [<|end_of_document|>].")
@click.option("--pad", metavar="TOKEN", help="Token that fills a sample [<|pad|>].")
@HOME_OPTION
@JSON_OPTION
def audit_command(
    version_or_file: str,
    against: Sequence[str],
    texts: Sequence[str],
    eod: str | None,
    pad: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Measure a tokenizer and prove that shards can be made with it; status 1 where they cannot.

    A version is measured on text that its tokenizer was not trained on. Of a file give --text.
    """
    from catalog.cli.terminal import print_json
    from corpus_assets.cli.tokens_view import show_audit
    from corpus_assets.inspect.tokenizers import find_subject, read_texts
    from corpus_assets.tokenizer.audit import audit

    place = Home.resolve(home)
    subjects = [find_subject(place, version_or_file, eod, pad)]
    subjects += [find_subject(place, name, None, None) for name in against]
    passages = tuple(read_texts(texts)) if texts else subjects[0].texts
    reports = []
    for subject in subjects:
        report = audit(subject.content, passages, subject.eod_token, subject.pad_token)
        reports.append({"of": subject.title, **report})
    if not texts and subjects[0].note:
        reports[0]["warnings"].append(subjects[0].note)
    if as_json:
        print_json({**reports[0], "against": reports[1:]})
    else:
        show_audit(reports)
    if not reports[0]["passed"]:
        raise click.exceptions.Exit(1)


@tokenizer.command("sample")
@click.argument("version")
@click.option("--doc", "doc_id", metavar="DOC_ID", help="Was this document trained on?")
@HOME_OPTION
@JSON_OPTION
def sample_command(version: str, doc_id: str | None, home: str | None, as_json: bool) -> None:
    """Say what the tokenizer of a version was trained on, and what was held out."""
    from catalog.cli.terminal import print_json
    from corpus_assets.cli.tokens_view import show_sample
    from corpus_assets.inspect.tokenizers import sample_of, side_of
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    sha256, drawn, files = sample_of(place, version)
    answer: dict[str, Any] = {
        "of": f"version {version}",
        "sha256": sha256,
        "documents": sum(row["documents"] for row in drawn.values()),
        "chars": sum(row["chars"] for row in drawn.values()),
        "domains": drawn,
        "files": files,
    }
    if doc_id is not None:
        store, _ = open_home(place)
        answer["document"] = {"doc_id": doc_id, "side": side_of(store, files, doc_id)}
    (print_json if as_json else show_sample)(answer)


@tokenizer.command("name-slots")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1, required=True)
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True)
def name_slots_command(file: Path, names: Sequence[str], out: Path) -> None:
    """Name the next reserved slots of a trained tokenizer; no id moves, no merge changes."""
    import hashlib

    from corpus_assets.tokenizer.train import name_slots

    data = name_slots(file.read_bytes(), names)
    try:
        out.write_bytes(data)
    except OSError as error:
        raise CorpusError(f"cannot write {out}: {error.strerror}") from error
    click.echo(f"{out}: sha256 {hashlib.sha256(data).hexdigest()}")


@click.command()
@click.argument("version_or_recipe")
@SET_OPTION
@click.option("--tokens", type=number, help="Length of the run, for example 2e12 or 300B.")
@click.option("--against", metavar="VERSION_OR_RECIPE", help="Compare with another mix.")
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write a .svg or .html too."
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
    """Say what a run would see: tokens, shares and epochs of each group, from manifests only.

    With --set, of other weights. Status 1 where a group is asked for more often than allowed.
    """
    from catalog.cli.terminal import print_json
    from corpus_assets.cli.tokens_view import show_mix, show_mixes
    from corpus_assets.inspect.mix import differences, mix_source, write_plot

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
        (show_mix if against is None else show_mixes)(one)
        if plot is not None:
            click.echo(f"plot: {plot}")
    if one["problem"] is not None:
        if as_json:
            raise click.exceptions.Exit(1)
        raise CorpusError(one["problem"])


def _mix_answer(source: "MixSource", tokens: float | None, by: str | None) -> dict[str, Any]:
    from corpus_assets.shards.mixture_table import gathered, mix_of

    settings = source.mixture
    if tokens is not None:
        settings = settings.model_copy(update={"run_tokens": round(tokens)})
    made = asdict(mix_of(source.groups, settings, source.seq_len))
    chosen: Any = by or ("group" if len(made["rows"]) <= 30 else "tier")
    return {"of": source.title, "by": chosen, **made, "rows": gathered(made["rows"], chosen)}


@click.command("plan-tokens")
@click.option("--params", type=number, required=True, help="Parameters, for example 7e9 or 7B.")
@click.option(
    "--regime",
    type=click.Choice(["chinchilla", "overtrain"]),
    default="chinchilla",
    show_default=True,
    help="20 tokens a parameter, or 1,875 as Llama 3 8B.",
)
@click.option("--tokens-per-param", type=number, help="Tokens a parameter, instead of a regime.")
@click.option("--version", metavar="NAME", help="Which version or recipe [the newest version].")
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
    """Say how many tokens a model wants, how far a version goes, and what is missing."""
    from catalog.cli.terminal import print_json
    from corpus_assets.cli.tokens_view import show_token_plan
    from corpus_assets.inspect.mix import mix_source, newest_version
    from corpus_assets.shards.mixture_table import TOKENS_PER_PARAM, Demand, wanted
    from corpus_assets.shards.mixture_table import plan_tokens as make_plan

    place = Home.resolve(home)
    ratio = tokens_per_param or TOKENS_PER_PARAM[regime]
    demand = Demand(params, ratio)
    name = version or newest_version(place)
    answer: dict[str, Any] = {
        "regime": None if tokens_per_param else regime,
        "why": f"{ratio:,g} tokens a parameter"
        + ("" if tokens_per_param else f", regime {regime}"),
    }
    if name is None:
        answer |= wanted(demand)
    else:
        source = mix_source(place, name, {})
        chosen: Any = by or "tier"
        answer |= {"of": source.title, "by": chosen}
        answer |= make_plan(demand, source.groups, source.mixture, source.seq_len, chosen)
    (print_json if as_json else show_token_plan)(answer)
