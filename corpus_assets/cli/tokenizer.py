"""Measure tokenizers: `corpus tokenizer audit`, `sweep`, `sample` and `name-slots`."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catalog.cli import answers, bar, print_fields, print_line, print_table, printable
from corpus_assets.cli.mix import number
from corpus_assets.cli.options import HOME_OPTION, engine_options, overrides_of, recipe_options
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect import ComparedAudit, NamedAudit, SampleSummary, Sweep


def show_audit(first: "ComparedAudit") -> None:
    """Print the audit of a tokenizer, compared with those of others."""
    reports = [first, *first.against]
    special = first.special_tokens
    print_fields(
        [
            ("tokenizer", f"{first.of} ({first.sha256[:16]})"),
            ("kind", f"{first.kind}, {first.vocab_size:,} ids"),
            ("bytes", f"{first.bytes_covered} of 256 are tokens"),
            (
                "special tokens",
                f"{special.one_id_and_back} of {special.slots} round-trip as one id; "
                f"{len(special.named)} named, {special.reserved} reserved",
            ),
            ("", listed(list(special.named), 10) or None),
            ("scripts", ", ".join(first.scripts) or None),
            *(
                (
                    "biased to",
                    f"{kind}: {row.lines:,} lines, {row.char_share:.2%} of the sample, counted "
                    f"{row.times} times; {row.tokens:,} tokens",
                )
                for kind, row in first.upsampled.items()
            ),
            ("verdict", "passed" if first.passed else "FAILED"),
        ]
    )
    for problem in first.problems:
        print_line(f"  problem: {problem}")
    for warning in first.warnings:
        print_line(f"  warning: {warning}")
    _compression(reports)
    _probes(reports)
    _vocabulary(reports)
    for other in reports[1:]:
        for problem in other.problems:
            print_line(f"{other.of}: {problem}")


def _compression(reports: "Sequence[NamedAudit]") -> None:
    """Print bytes per token by domain and by language; a longer bar is a better one."""
    for kind in ("domain", "language"):
        tables = [getattr(report.held_out, f"by_{kind}") for report in reports]
        if not tables[0]:
            continue
        print_line()
        rows: list[tuple[Any, ...]] = []
        best = max((row.bytes_per_token for row in tables[0].values()), default=1.0) or 1.0
        for name, row in [*tables[0].items(), ("total", reports[0].held_out)]:
            others = [
                table.get(name) if name != "total" else report.held_out
                for table, report in zip(tables[1:], reports[1:], strict=True)
            ]
            rows.append(
                (
                    name,
                    f"{row.documents:,}",
                    f"{row.bytes:,}",
                    f"{row.bytes_per_token:.3f}",
                    *(f"{other.bytes_per_token:.3f}" if other else "-" for other in others),
                    f"{row.tokens_per_word:.3f}",
                    bar(row.bytes_per_token / best, 16),
                )
            )
        print_table(
            (kind, "texts", "bytes", *_heads("bytes per token", reports), "tokens per word", ""),
            rows,
            numbers_right=True,
        )


def _probes(reports: "Sequence[NamedAudit]") -> None:
    """Print how many tokens probe texts take, and whether they decode to themselves."""
    print_line()
    rows = []
    for name, probe in reports[0].probes.items():
        cells = [report.probes[name] for report in reports]
        shown = [f"{cell.tokens:,}" + ("" if cell.exact else " inexact") for cell in cells]
        rows.append((name, f"{probe.bytes:,}", *shown))
    print_table(
        ("probe", "bytes", *_heads("tokens", reports)),
        rows,
        numbers_right=True,
        marked=[not p.exact for p in reports[0].probes.values()],
    )


def _heads(what: str, reports: "Sequence[NamedAudit]") -> list[str]:
    """Name the columns: one tokenizer needs no name, of several each has its own."""
    if len(reports) == 1:
        return [what]
    print_line(f"{what}, by tokenizer:")
    return [one_line(report.of) for report in reports]


def _vocabulary(reports: "Sequence[NamedAudit]") -> None:
    print_line()
    names = (
        ("merges", "merges"),
        ("tokens across words", "across_words"),
        ("mean bytes of a token", "mean_token_bytes"),
        ("share that no held-out text needs", "unused_share"),
        ("share that the sample does not need either", "never_used_share"),
        ("tokens in other scripts than the text", "foreign"),
        ("tokens with letters that are too long", "too_long"),
    )
    print_table(
        ("vocabulary", *(one_line(report.of) for report in reports)),
        [
            (label, *(_number(getattr(report.vocabulary, key)) for report in reports))
            for label, key in names
        ],
        numbers_right=True,
    )
    vocabulary = reports[0].vocabulary
    for label, key in (
        ("first merges", "first_merges"),
        ("last merges", "last_merges"),
        ("longest tokens", "longest"),
        ("across words", "across_words_examples"),
        ("of foreign scripts", "foreign_examples"),
        ("too long", "too_long_examples"),
    ):
        if some := getattr(vocabulary, key):
            print_line(f"{label}: {listed(some)}")


def _number(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def one_line(text: str, width: int = 28) -> str:
    """Shorten a token or a name to a cell of a table."""
    shown = printable(text)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def listed(texts: Sequence[str], count: int = 12) -> str:
    return "  ".join(one_line(text.replace(" ", "·")) for text in texts[:count])


@click.group()
def tokenizer() -> None:
    """Inspect and compare tokenizers."""


@tokenizer.command("audit")
@click.argument("version_or_file")
@click.option(
    "--against", multiple=True, metavar="VERSION_OR_FILE", help="Compare with another tokenizer."
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Measure on this file (text, JSONL, Parquet) instead of held-out text.",
)
@click.option(
    "--one-token", multiple=True, metavar="TEXT", help="Fail unless this text is a single token."
)
@click.option("--eod", metavar="TOKEN", help="End-of-document token [<|end_of_document|>].")
@click.option("--pad", metavar="TOKEN", help="Padding token [<|pad|>].")
@HOME_OPTION
@answers(view=show_audit)
def audit_command(
    version_or_file: str,
    against: Sequence[str],
    texts: Sequence[str],
    one_token: Sequence[str],
    eod: str | None,
    pad: str | None,
    home: str | None,
) -> "ComparedAudit":
    """Audit a tokenizer for use in shards.

    A version is measured on text its tokenizer was not trained on; for a file, pass --text. Exits
    with 1 if the audit fails.
    """
    from corpus_assets.inspect import compare_audits

    place = Home.resolve(home)
    return compare_audits(place, version_or_file, against, texts, one_token, eod, pad)


@tokenizer.command("sweep")
@click.argument("recipe")
@click.option(
    "--sizes",
    default="32768,65536,131072",
    show_default=True,
    metavar="N,N,...",
    help="Vocabulary sizes to compare.",
)
@click.option("--width", type=click.IntRange(1), default=4096, show_default=True)
@click.option("--layers", type=click.IntRange(1), default=32, show_default=True)
@click.option(
    "--params", type=number, help="Parameters excluding embeddings [12 x layers x width^2]."
)
@click.option("--tied", is_flag=True, help="Tie input and output embeddings.")
@engine_options
@HOME_OPTION
@recipe_options
@answers
def sweep_command(
    recipe: str,
    sizes: str,
    width: int,
    layers: int,
    params: float | None,
    tied: bool,
    workers: int | None,
    engine: str | None,
    ray_address: str | None,
    home: str | None,
    settings: Sequence[str],
) -> "Sweep":
    """Compare vocabulary sizes.

    Shows bytes per token next to the cost of the embedding. Each size is trained on the sample of
    RECIPE and measured on its held-out text. Missing parts of the sample are built first; no
    version's tokenizer changes.
    """
    from corpus_assets.core.display import display
    from corpus_assets.graph import EngineChoice
    from corpus_assets.inspect import Model, layer_params, sweep_sizes
    from corpus_assets.session import open_session

    try:
        wanted = [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise CorpusError(f"--sizes {sizes}: write numbers like 32768,65536") from error
    model = Model(width, int(params or layer_params(width, layers)), tied)
    with (
        display() as progress,
        open_session(
            recipe,
            Home.resolve(home),
            overrides=overrides_of(settings),
            progress=progress,
            engine=EngineChoice.resolve(engine, workers, ray_address),
        ) as session,
    ):
        return sweep_sizes(session, wanted, model)


@tokenizer.command("sample")
@click.argument("version")
@click.option(
    "--doc",
    "doc_id",
    metavar="DOC_ID",
    help="Show whether this document was in the training sample.",
)
@HOME_OPTION
@answers
def sample_command(version: str, doc_id: str | None, home: str | None) -> "SampleSummary":
    """Show what a version's tokenizer was trained on.

    Also shows which documents were held out.
    """
    from corpus_assets.inspect import sample_of

    return sample_of(Home.resolve(home), version, doc_id)


@dataclass(frozen=True)
class WrittenTokenizer:
    """A tokenizer file."""

    file: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.file}: sha256 {self.sha256}"


@tokenizer.command("name-slots")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1, required=True)
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True)
@answers
def name_slots_command(file: Path, names: Sequence[str], out: Path) -> WrittenTokenizer:
    """Name reserved slots of a trained tokenizer.

    Takes the next free slots; no id or merge changes.
    """
    from corpus_assets.tokenizer import name_slots

    data = name_slots(file.read_bytes(), names)
    try:
        out.write_bytes(data)
    except OSError as error:
        raise CorpusError(f"cannot write {out}: {error.strerror}") from error
    return WrittenTokenizer(str(out), hashlib.sha256(data).hexdigest())
