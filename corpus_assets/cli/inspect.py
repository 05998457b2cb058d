"""Look into a version: `corpus signals show`, `whatif`, `sample-page` and `contamination`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from catalog.cli import answers, print_fields, print_line, print_table, printable, show_table
from catalog.figures import counted
from corpus_assets.cli.options import HOME_OPTION, USE_FALLBACKS, overrides_of, recipe_options
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from catalog.formats.canonical import ChangedKey
    from corpus_assets.inspect import Contamination, DocumentSignals, Example, WhatIf

VERSION_OPTION = click.option("--version", metavar="NAME", help="Version [the newest].")
TEXT_OPTION = click.option("--text", "with_text", is_flag=True, help="Show document text.")
SHOWN = 12  # rows of a table; --json has all


@click.group()
def signals() -> None:
    """Show and import document signals."""


def show_signals(answer: "DocumentSignals") -> None:
    """Print the answer of `corpus signals show`."""
    hidden = "suppressed: a takedown covers it" if answer.suppressed else None
    print_fields(
        [
            ("document", answer.doc_id),
            ("version", answer.version),
            ("url", hidden or answer.url),
            ("snapshot", f"{answer.snapshot} (part {answer.part})"),
            ("domain", answer.domain),
            ("language", answer.language),
            ("outcome", answer.outcome),
            ("failed rules", ", ".join(answer.failed_rules) or None),
        ]
    )
    print_line()
    rows: list[Sequence[Any]] = []
    for signal in answer.signals:
        rank = None if signal.percentile is None else f"{signal.percentile:.1f}"
        head = (signal.name, signal.value, rank)
        rules = [rule for rule in signal.rules if rule.applies]
        for place, rule in enumerate(rules):
            verdict = "passed" if rule.passed else "FAILED"
            rows.append((*(head if not place else ("", "", "")), rule.rule, rule.asks, verdict))
        if not rules:
            rows.append((*head, "", "", ""))
    print_table(("signal", "value", "percentile", "rule", "asks for", ""), rows)
    if answer.tiers:
        print_line()
        print_table(
            ("tier", f"{answer.tiers[0].signal} from", "to"),
            [(tier.tier, tier.min, tier.max) for tier in answer.tiers],
        )
    if answer.text is not None:
        print_line()
        print_text(answer.text)


def print_text(text: str) -> None:
    """Print a text line by line, its control characters written out."""
    for line in text.split("\n"):
        print_line(printable(line))


@signals.command()
@click.argument("doc_id")
@VERSION_OPTION
@TEXT_OPTION
@HOME_OPTION
@answers(view=show_signals)
def show(doc_id: str, version: str | None, with_text: bool, home: str | None) -> "DocumentSignals":
    """Show all signals of a document.

    Also shows the rules that use each signal, and its rank in the snapshot. DOC_ID is a document
    id or an unambiguous prefix of it.
    """
    from corpus_assets.inspect import signals_of

    return signals_of(Home.resolve(home), version, doc_id, with_text)


def show_whatif(answer: "WhatIf") -> None:
    """Print what changes, group by group."""
    print_line(
        f"On {answer.of}: {counted(answer.documents, 'document')} of "
        f"{counted(answer.snapshots, 'snapshot')}."
    )
    for change in answer.changes:
        print_line(f"  {change.key}: {_both(change)}")
    if not answer.changes:
        print_line("  No rule differs.")
    for change in answer.cutoffs[:SHOWN]:
        print_line(f"  recomputed cutoff {change.key}: {_both(change)}")
    print_line()
    print_fields((name, str(change)) for name, change in answer.totals)
    for title, groups in (
        ("language", answer.by_language),
        ("domain", answer.by_domain),
        ("snapshot", answer.by_snapshot),
        ("tier", answer.by_tier),
    ):
        moved = {one.name: one for one in groups if one.documents.before != one.documents.after}
        _some(moved, ("documents", "tokens"), title)
    _some([one for one in answer.reasons if one.before != one.after], ("reason", "documents"))
    _some(answer.flows)
    rules = [rule for rule in answer.rules if rule.drops_any]
    _some(rules, ("rule", "fails", "is_first", "is_only"), shown=len(rules))
    _examples("Would go", answer.would_go, "removed by")
    _examples("Would stay", answer.would_stay, "no longer removed by")
    print_line()
    for note in _notes(answer):
        print_line(note)


def _both(change: "ChangedKey") -> str:
    return f"{printable(change.before)} -> {printable(change.after)}"


def _some(
    rows: Mapping[str, object] | Sequence[object],
    columns: tuple[str, ...] = (),
    title: str = "",
    shown: int = SHOWN,
) -> None:
    """Print the first rows of a table, and how many more there are."""
    if not rows:
        return
    first = dict(list(rows.items())[:shown]) if isinstance(rows, Mapping) else rows[:shown]
    print_line()
    show_table(first, columns, title)
    if len(rows) > shown:
        print_line(f"... {len(rows) - shown} more (--json has all)")


def _examples(title: str, examples: "Sequence[Example]", verb: str) -> None:
    if not examples:
        return
    print_line()
    print_line(f"{title}, for example:")
    for one in examples:
        where = "(suppressed)" if one.suppressed else printable(one.url)
        print_line(f"  {one.doc_id}  {one.snapshot}  {where}")
        print_line(
            f"      {verb} {one.rule}: {one.signal} is {printable(one.value)}, "
            f"asked for: {one.asks}"
        )
        if one.text:
            print_line(f"      {printable(one.text)}")


def _notes(answer: "WhatIf") -> Iterable[str]:
    yield (
        "Selection is exact. Duplicates, benchmarks and cleaning are not re-evaluated: documents "
        "that are newly kept are counted as if they passed them."
    )
    version = answer.version
    if version is None:
        yield "There is no version yet, so tokens are not known; characters are."
        return
    if any(flow.to == "kept" for flow in answer.flows):
        yield (
            "Tokens of added documents are estimated from characters "
            f"({version.chars_per_token} a token in the version); `to expect` supposes that "
            "later stages leave as large a share of them as of the rest."
        )
    promoted = version.promoted_copies
    if promoted.documents:
        yield (
            f"{promoted.documents:,} of those dropped ({counted(promoted.tokens, 'token')}) have a "
            "kept copy that replaces them; they are not counted as lost."
        )


@click.command()
@click.argument("recipe")
@recipe_options
@VERSION_OPTION
@click.option(
    "--pin-cutoffs/--fresh-cutoffs",
    default=None,
    help="Keep the version's cutoffs, or recompute them [recompute if the recipe changes them, as "
    "a build does].",
)
@click.option(
    "--sample",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Number of example documents to list.",
)
@TEXT_OPTION
@HOME_OPTION
@answers(view=show_whatif)
def whatif(
    recipe: str,
    settings: Sequence[str],
    version: str | None,
    pin_cutoffs: bool | None,
    sample: int,
    with_text: bool,
    home: str | None,
) -> "WhatIf":
    """Show what other selection rules would keep and drop.

    Computed from stored columns in seconds. Compares RECIPE with the --set overrides to a published
    version: --version, or the newest version of a recipe with the same name. If there is none,
    compares to RECIPE without the overrides.
    """
    from corpus_assets.inspect import what_if

    overrides = overrides_of(settings)
    for key in overrides:
        if not key.startswith("selection.") and key != USE_FALLBACKS:
            raise CorpusError(
                f"--set {key}: `corpus whatif` is about selection; `corpus plan` shows what "
                "other changes recompute"
            )
    fallbacks = {key: value for key, value in overrides.items() if key == USE_FALLBACKS}
    place = Home.resolve(home)
    return what_if(place, recipe, overrides, fallbacks, version, pin_cutoffs, sample, with_text)


@dataclass(frozen=True)
class WrittenSamplePage:
    """A page of sample documents; it holds text."""

    version: str
    page: str

    def __str__(self) -> str:
        return (
            f"sample page of {self.version}: {self.page} (contains text: delete it after reading)"
        )


@click.command()
@click.argument("version")
@click.option("--per-reason", default=5, show_default=True, type=click.IntRange(1, 1000))
@click.option(
    "--chars",
    default=2000,
    show_default=True,
    type=click.IntRange(1),
    help="Characters of text to show per document.",
)
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Output file.")
@HOME_OPTION
@answers
def sample_page(
    version: str, per_reason: int, chars: int, out: Path | None, home: str | None
) -> WrittenSamplePage:
    """Write a page of sample documents to read.

    Shows some kept documents and some dropped for each reason. The page contains text and is not
    part of the version: delete it after reading.
    """
    from corpus_assets.inspect import write_sample_page

    target = out or Path(f"{version}-sample.html")
    write_sample_page(Home.resolve(home), version, per_reason, chars, target)
    return WrittenSamplePage(version, str(target))


def show_contamination(answer: "Contamination") -> None:
    """Print counts by benchmark, then the hits with their passages."""
    from corpus_assets.decontam import PARAPHRASE

    if not answer.benchmarks:
        print_line(f"No benchmark item was found in version {answer.version}.")
        return
    show_table(answer.benchmarks)
    print_line()
    if len(answer.hits) < answer.total:
        print_line(f"{answer.total:,} hits; the closest {len(answer.hits)} (see --limit):")
    for hit in answer.hits:
        where = "(suppressed)" if hit.suppressed else printable(hit.url)
        print_line(f"{hit.doc_id}  {hit.snapshot}  {where}")
        similarity = hit.similarity
        alike = "" if similarity is None else f", similarity {similarity:.2f}"
        held = f"{hit.matched} of {hit.total} n-grams"
        if hit.kind == PARAPHRASE:
            held = f"{hit.share:.0%} of its words by weight"
        print_line(
            f"    {hit.verdict}: {printable(hit.benchmark)}/{printable(hit.item_id)} by "
            f"{hit.kind}, {held}{alike}"
        )
        for piece in hit.text or ():
            print_text(piece)


@click.group(invoke_without_command=True)
@VERSION_OPTION
@click.option("--benchmark", metavar="NAME", help="Only this benchmark.")
@click.option("--near-misses", is_flag=True, help="List near misses: matches that changed nothing.")
@click.option("--common", is_flag=True, help="List common items: phrases that occur in many texts.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(0),
    help="Number of documents to list.",
)
@TEXT_OPTION
@HOME_OPTION
@answers(view=show_contamination)
@click.pass_context
def contamination(
    context: click.Context,
    version: str | None,
    benchmark: str | None,
    near_misses: bool,
    common: bool,
    limit: int,
    with_text: bool,
    home: str | None,
) -> "Contamination | None":
    """List benchmark items found in documents.

    Counts by benchmark, then lists documents that were dropped, cut or held back, closest match
    first. --near-misses lists lightly edited items, partial quotations and paraphrases, --common
    items that occur in too many texts. --text shows the matching passages.
    """
    from corpus_assets.decontam import COMMON, CUT, DROP, HELD_BACK, KEEP, NEAR_MISS
    from corpus_assets.inspect import contamination_of

    if context.invoked_subcommand is not None:
        return None
    acted = {DROP, CUT, HELD_BACK}
    wanted = {NEAR_MISS, KEEP} if near_misses else {COMMON} if common else acted
    return contamination_of(Home.resolve(home), version, benchmark, wanted, limit, with_text)


@dataclass(frozen=True)
class Judged:
    """A judgement on a near miss, and the file that it was added to."""

    judgement: str
    item: str
    text_id: str
    file: str

    def __str__(self) -> str:
        return f"{self.judgement}: {self.item} in text {self.text_id}, written to {self.file}"


@contamination.command()
@click.argument("doc_id")
@click.argument("item", metavar="BENCHMARK/ITEM")
@click.argument("judgement", type=click.Choice(["drop", "cut", "keep"]))
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Judgements file to append to; created if it does not exist.",
)
@click.option("--by", default="", metavar="NAME", help="Your name.")
@click.option("--reason", default="", metavar="TEXT", help="Reason.")
@VERSION_OPTION
@HOME_OPTION
@answers
def judge(
    doc_id: str,
    item: str,
    judgement: Literal["drop", "cut", "keep"],
    out: Path,
    by: str,
    reason: str,
    version: str | None,
    home: str | None,
) -> Judged:
    """Record a judgement on a near miss.

    Recipes name the file in `contamination.judgements`.

    DOC_ID and BENCHMARK/ITEM are those that `corpus contamination --near-misses` lists.
    """
    from corpus_assets.decontam import record_judgement
    from corpus_assets.inspect import judged_text

    text_id, name = judged_text(Home.resolve(home), version, doc_id, item)
    record_judgement(out, text_id, name, judgement, by, reason)
    return Judged(judgement, item, text_id.hex(), str(out))
