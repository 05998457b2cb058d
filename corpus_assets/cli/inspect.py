"""Look into a version: `corpus signals show`, `whatif`, `canary` and `contamination`.

Each command makes an answer of plain values: printed whole with --json, else by its `show_`
function.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from catalog.cli import print_fields, print_json, print_line, print_table, printable
from catalog.figures import counted
from corpus_assets.cli.options import (
    HOME_OPTION,
    JSON_OPTION,
    USE_FALLBACKS,
    overrides_of,
    recipe_options,
)
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

VERSION_OPTION = click.option("--version", metavar="NAME", help="Version [the newest].")
TEXT_OPTION = click.option("--text", "with_text", is_flag=True, help="Show document text.")
SHOWN = 12  # rows of a table; --json has all

Answer = dict[str, Any]


@click.group()
def signals() -> None:
    """Show and import document signals."""


@signals.command()
@click.argument("doc_id")
@VERSION_OPTION
@TEXT_OPTION
@HOME_OPTION
@JSON_OPTION
def show(
    doc_id: str, version: str | None, with_text: bool, home: str | None, as_json: bool
) -> None:
    """Show all signals of a document.

    With the rules that use each signal and its rank in the snapshot. DOC_ID is a document id or an
    unambiguous prefix of it.
    """
    from catalog.formats.store import FileStore as CatalogStore
    from catalog.lineage import Lineage
    from corpus_assets.inspect import open_version, signals_of

    place = Home.resolve(home)
    registry, columns = open_version(place, version)
    name = columns.title.removeprefix("version ")
    with Lineage(registry, CatalogStore(place.store_url), name) as lineage:
        answer = signals_of(columns, lineage, doc_id, with_text)
    (print_json if as_json else show_signals)(answer)


def show_signals(answer: Answer) -> None:
    """Print the answer of `corpus signals show`."""
    hidden = "suppressed: a takedown covers it" if answer["suppressed"] else None
    print_fields(
        [
            ("document", answer["doc_id"]),
            ("version", answer["version"]),
            ("url", hidden or answer["url"]),
            ("snapshot", f"{answer['snapshot']} (part {answer['part']})"),
            ("domain", answer["domain"]),
            ("language", answer["language"]),
            ("outcome", answer["fate"]),
            ("failed rules", ", ".join(answer["failed_rules"]) or None),
        ]
    )
    print_line()
    rows: list[Sequence[Any]] = []
    for signal in answer["signals"]:
        rank = None if signal["percentile"] is None else f"{signal['percentile']:.1f}"
        head = (signal["name"], signal["value"], rank)
        rules = [rule for rule in signal["rules"] if rule["applies"]]
        for place, rule in enumerate(rules):
            verdict = "passed" if rule["passed"] else "FAILED"
            rows.append(
                (*(head if not place else ("", "", "")), rule["rule"], rule["asks"], verdict)
            )
        if not rules:
            rows.append((*head, "", "", ""))
    print_table(("signal", "value", "percentile", "rule", "asks for", ""), rows)
    if answer["tiers"]:
        print_line()
        print_table(
            ("tier", f"{answer['tiers'][0]['signal']} from", "to"),
            [(tier["tier"], tier["min"], tier["max"]) for tier in answer["tiers"]],
        )
    if "text" in answer:
        print_line()
        print_text(answer["text"])


def print_text(text: str | None) -> None:
    """Print a text line by line, its control characters written out."""
    if text is None:
        print_line("(no text may be shown)")
        return
    for line in text.split("\n"):
        print_line(printable(line))


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
@JSON_OPTION
def whatif(
    recipe: str,
    settings: Sequence[str],
    version: str | None,
    pin_cutoffs: bool | None,
    sample: int,
    with_text: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Show what other selection rules would keep and drop.

    Computed from stored columns in seconds. Compares RECIPE with the --set overrides to a published
    version: --version, or the newest version of a recipe with the same name. If there is none,
    compares to RECIPE without the overrides.
    """
    from corpus_assets.core.store import open_store
    from corpus_assets.inspect import Ruling, answer_of, compare, open_columns, samples_of
    from corpus_assets.recipe import find_recipe, load_with_added

    overrides = overrides_of(settings)
    for key in overrides:
        if not key.startswith("selection.") and key != USE_FALLBACKS:
            raise CorpusError(
                f"--set {key}: `corpus whatif` is about selection; `corpus plan` says what "
                "another change would recompute"
            )
    place = Home.resolve(home)
    changed, _ = load_with_added(find_recipe(recipe), overrides, open_store(place.store_url))
    fallbacks = {key: value for key, value in overrides.items() if key == USE_FALLBACKS}
    columns = open_columns(place, recipe, changed.name, version, fallbacks)
    if pin_cutoffs is None:
        pin_cutoffs = changed.selection.asks_for_cutoffs_of(columns.ruling.settings)
    cutoffs = columns.ruling.cutoffs if pin_cutoffs else columns.resolve(changed)
    found = compare(columns, Ruling(changed.selection, cutoffs), sample)
    answer = answer_of(found) | samples_of(found, with_text)
    (print_json if as_json else show_whatif)(answer)


def show_whatif(answer: Answer) -> None:
    """Print the answer of `corpus whatif`."""
    print_line(
        f"On {answer['of']}: {counted(answer['documents'], 'document')} of {counted(answer['snapshots'], 'snapshot')}."
    )
    for change in answer["changes"]:
        print_line(
            f"  {change['key']}: {printable(change['before'])} -> {printable(change['after'])}"
        )
    if not answer["changes"]:
        print_line("  No rule differs.")
    for change in answer["cutoffs"][:SHOWN]:
        print_line(
            f"  resolved again, cutoff {change['key']}: {printable(change['before'])} -> "
            f"{printable(change['after'])}"
        )
    print_line()
    print_table(("", "before", "after", "change"), list(_totals(answer)))
    for title, key in (
        ("language", "by_language"),
        ("domain", "by_domain"),
        ("snapshot", "by_snapshot"),
        ("tier", "by_tier"),
    ):
        _groups(title, answer[key])
    moved = [row for row in answer["reasons"] if row["before"] != row["after"]]
    if moved:
        print_line()
        print_table(
            ("first failing rule", "before", "after", "change"),
            [(row["reason"], *_change(row["before"], row["after"])) for row in moved],
        )
    _flows(answer)
    _rules(answer["rules"])
    _samples("Would go", answer["would_go"], "removed by")
    _samples("Would stay", answer["would_stay"], "no longer removed by")
    print_line()
    for note in _notes(answer):
        print_line(note)


def _totals(answer: Answer) -> Iterable[Sequence[Any]]:
    selection, version = answer["selection"], answer["version"]
    for name, counts in (
        ("documents that selection keeps", selection["documents"]),
        ("characters in them", selection["chars"]),
    ):
        yield (name, *_change(counts["before"], counts["after"]))
    if version is not None:
        documents, tokens = version["documents"], version["tokens"]
        yield (
            "documents in the version, at most",
            *_change(documents["before"], documents["after_at_most"]),
        )
        yield "tokens, at most", *_change(tokens["before"], tokens["after_at_most"])
        yield "tokens, to expect", *_change(tokens["before"], tokens["after_expected"])


def _change(before: int, after: int) -> tuple[str, str, str]:
    difference = after - before
    if not difference:
        return f"{before:,}", f"{after:,}", "-"
    share = f" ({difference / before:+.1%})" if before else ""
    return f"{before:,}", f"{after:,}", f"{difference:+,}{share}"


def _groups(title: str, rows: Sequence[Answer]) -> None:
    """Print the groups that change."""
    moved = [row for row in rows if row["documents"]["before"] != row["documents"]["after"]]
    if not moved:
        return
    print_line()
    heads = [title, "documents", "after", "change"]
    with_tokens = "tokens" in moved[0]
    print_table(
        [*heads, *(("tokens", "after, at most", "change") if with_tokens else ())],
        [
            (
                row["name"],
                *_change(row["documents"]["before"], row["documents"]["after"]),
                *(
                    _change(row["tokens"]["before"], row["tokens"]["after_at_most"])
                    if with_tokens
                    else ()
                ),
            )
            for row in moved[:SHOWN]
        ],
    )
    _rest(len(moved) - SHOWN, "more change")


def _flows(answer: Answer) -> None:
    flows = answer["flows"]
    if not flows:
        return
    print_line()
    with_tokens = "tokens" in flows[0]
    print_table(
        ("from", "to", "documents", "characters", *(("tokens",) if with_tokens else ())),
        [
            (
                flow["from"],
                flow["to"],
                f"{flow['documents']:,}",
                f"{flow['chars']:,}",
                *((f"{flow['tokens']:,}",) if with_tokens else ()),
            )
            for flow in flows[:SHOWN]
        ],
    )
    _rest(len(flows) - SHOWN, "more flows")


def _rules(rules: Sequence[Answer]) -> None:
    """Print what each rule drops before and after; rules that drop nothing are left out."""
    kinds = ("alone", "first", "only")
    rows = []
    for rule in rules:
        before, after = (
            [(rule[side] or {}).get(kind, {"documents": 0})["documents"] for kind in kinds]
            for side in ("before", "after")
        )
        if any(before) or any(after):
            cells = (
                f"{new:,}" if old == new else f"{old:,} -> {new:,}"
                for old, new in zip(before, after, strict=True)
            )
            rows.append((rule["rule"], *cells))
    if rows:
        print_line()
        print_table(("rule", "fails", "is first to fail", "alone fails"), rows)


def _samples(title: str, sample: Sequence[Answer], verb: str) -> None:
    if not sample:
        return
    print_line()
    print_line(f"{title}, for example:")
    for one in sample:
        where = "(suppressed)" if one["suppressed"] else printable(one["url"])
        print_line(f"  {one['doc_id']}  {one['snapshot']}  {where}")
        print_line(
            f"      {verb} {one['rule']}: {one['signal']} is {printable(one['value'])}, "
            f"asked for: {one['asks']}"
        )
        if one.get("text"):
            print_line(f"      {printable(one['text'])}")


def _notes(answer: Answer) -> Iterable[str]:
    yield (
        "Selection is exact. Duplicates, benchmarks and cleaning are not re-evaluated: documents "
        "that are newly kept are counted as if they passed them."
    )
    version = answer["version"]
    if version is None:
        yield "There is no version yet, so tokens are not known; characters are."
        return
    if any(flow["to"] == "kept" for flow in answer["flows"]):
        yield (
            "Tokens of what comes in are estimated from characters "
            f"({version['chars_per_token']} a token in the version); `to expect` supposes that "
            "later stages leave as large a share of them as of the rest."
        )
    promoted = version["promoted_copies"]
    if promoted["documents"]:
        yield (
            f"{promoted['documents']:,} of those dropped ({counted(promoted['tokens'], 'token')}) have a "
            "kept copy that replaces them; they are not counted as lost."
        )


def _rest(count: int, what: str) -> None:
    if count > 0:
        print_line(f"... {count} {what} (--json has all)")


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
def canary(version: str, per_reason: int, chars: int, out: Path | None, home: str | None) -> None:
    """Write a page of sample documents to read.

    Shows some kept documents and some dropped for each reason. The page contains text and is not
    part of the version: delete it after reading.
    """
    from catalog.copies import writing
    from corpus_assets.inspect import draw_canary, open_version, render_canary

    place = Home.resolve(home)
    registry, columns = open_version(place, version)
    groups = list(draw_canary(columns, per_reason))
    page = render_canary(version, groups, chars)
    target = out or Path(f"{version}-canary.html")
    shown = {registry.version(version).name: {one.doc_id for _, some in groups for one in some}}
    try:
        with writing(registry, place.root, target, "page", shown):
            target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {target}: {error}") from error
    click.echo(f"canary of {version}: {target} (it holds text; delete it when you have looked)")


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
@JSON_OPTION
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
    as_json: bool,
) -> None:
    """List benchmark items found in documents.

    Counts by benchmark, then lists documents that were dropped, cut or held back, closest match
    first. --near-misses lists lightly edited items, partial quotations and paraphrases, --common
    items that occur in too many texts. --text shows the matching passages.
    """
    from corpus_assets.decontam import COMMON, CUT, DROP, HELD_BACK, KEEP, NEAR_MISS
    from corpus_assets.inspect import contamination_of, open_version

    if context.invoked_subcommand is not None:
        return
    acted = {DROP, CUT, HELD_BACK}
    wanted = {NEAR_MISS, KEEP} if near_misses else {COMMON} if common else acted
    registry, columns = open_version(Home.resolve(home), version)
    answer = contamination_of(registry, columns, benchmark, wanted, limit, with_text)
    (print_json if as_json else show_contamination)(answer)


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
def judge(
    doc_id: str,
    item: str,
    judgement: Literal["drop", "cut", "keep"],
    out: Path,
    by: str,
    reason: str,
    version: str | None,
    home: str | None,
) -> None:
    """Record a judgement on a near miss.

    Recipes name the file in `contamination.judgements`.

    DOC_ID and BENCHMARK/ITEM are those that `corpus contamination --near-misses` lists.
    """
    from corpus_assets.decontam import record_judgement
    from corpus_assets.inspect import judged_text, open_version

    registry, columns = open_version(Home.resolve(home), version)
    text_id, name = judged_text(registry, columns, doc_id, item)
    record_judgement(out, text_id, name, judgement, by, reason)
    click.echo(f"{judgement}: {item} in text {text_id.hex()}, written to {out}")


def show_contamination(answer: dict[str, Any]) -> None:
    from corpus_assets.decontam import PARAPHRASE

    if not answer["benchmarks"]:
        print_line(f"Nothing of a benchmark was found in version {answer['version']}.")
        return
    print_table(
        ("benchmark", "items seen", "documents", "near misses", "in documents", "common items"),
        [tuple(row.values()) for row in answer["benchmarks"]],
    )
    print_line()
    if len(answer["hits"]) < answer["total"]:
        print_line(f"{answer['total']:,} hits; the closest {len(answer['hits'])} (see --limit):")
    for hit in answer["hits"]:
        where = "(suppressed)" if hit["suppressed"] else printable(hit["url"])
        print_line(f"{hit['doc_id']}  {hit['snapshot']}  {where}")
        similarity = hit["similarity"]
        alike = "" if similarity is None else f", similarity {similarity:.2f}"
        held = f"{hit['matched']} of {hit['total']} n-grams"
        if hit["kind"] == PARAPHRASE:
            held = f"{hit['share']:.0%} of its words by weight"
        print_line(
            f"    {hit['verdict']}: {printable(hit['benchmark'])}/{printable(hit['item_id'])} by "
            f"{hit['kind']}, {held}{alike}"
        )
        for piece in hit.get("text") or ():
            print_text(piece)
