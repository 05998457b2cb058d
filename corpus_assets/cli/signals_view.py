"""What `corpus signals show` and `corpus whatif` print. The same answers go out whole with --json."""

from collections.abc import Iterable, Sequence
from typing import Any

from catalog.cli.terminal import print_fields, print_line, print_table, printable

Answer = dict[str, Any]
SHOWN = 12  # rows of a table; --json has all


def show_signals(answer: Answer) -> None:
    """`corpus signals show`"""
    hidden = "suppressed: a takedown covers it" if answer["suppressed"] else None
    print_fields(
        [
            ("document", answer["doc_id"]),
            ("version", answer["version"]),
            ("url", hidden or answer["url"]),
            ("snapshot", f"{answer['snapshot']} (part {answer['part']})"),
            ("domain", answer["domain"]),
            ("language", answer["language"]),
            ("fate", answer["fate"]),
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
    """Text line by line, its control characters written out."""
    if text is None:
        print_line("(no text may be shown)")
        return
    for line in text.split("\n"):
        print_line(printable(line))


def show_whatif(answer: Answer) -> None:
    """`corpus whatif`"""
    print_line(
        f"On {answer['of']}: {answer['documents']:,} documents of {answer['snapshots']} snapshots."
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
    """Groups that change, and how many others do not."""
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
    """What each rule does after the change; rules that drop nobody, before or after, are left out."""
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
        "Selection is exact. Duplicates, benchmarks and cleaning are not decided again: whoever "
        "comes in is counted as if it passed them."
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
    stand_ins = version["stand_ins"]
    if stand_ins["documents"]:
        yield (
            f"{stand_ins['documents']:,} of those that go ({stand_ins['tokens']:,} tokens) have a "
            "copy that stays and takes their place; they are not counted as lost."
        )


def _rest(count: int, what: str) -> None:
    if count > 0:
        print_line(f"... {count} {what} (--json has all)")
