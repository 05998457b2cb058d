"""What `corpus tokenizer audit` prints: one tokenizer, or several side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.output import print_fields, print_line
from corpus_assets.screen_tables import bar, print_columns
from corpus_assets.tokens_screens import listed, one_line

Report = Mapping[str, Any]


def show_audit(reports: Sequence[Report]) -> None:
    """The first one is under audit, the others are what it is compared with."""
    first = reports[0]
    special = first["special_tokens"]
    print_fields(
        [
            ("tokenizer", f"{first['of']} ({first['sha256'][:16]})"),
            ("kind", f"{first['kind']}, {first['vocab_size']:,} ids"),
            ("bytes", f"{first['bytes_covered']} of 256 are tokens"),
            (
                "special tokens",
                f"{special['one_id_and_back']} of {special['slots']} are one id and back; "
                f"{len(special['named'])} named, {special['reserved']} reserved",
            ),
            ("", listed(list(special["named"]), 10) or None),
            ("verdict", "passed" if first["passed"] else "FAILED"),
        ]
    )
    for problem in first["problems"]:
        print_line(f"  problem: {problem}")
    for warning in first["warnings"]:
        print_line(f"  warning: {warning}")
    _compression(reports)
    _probes(reports)
    _vocabulary(reports)
    for other in reports[1:]:
        for problem in other["problems"]:
            print_line(f"{other['of']}: {problem}")


def _compression(reports: Sequence[Report]) -> None:
    """Bytes per token by domain and by language; a longer bar is a better one."""
    for kind in ("domain", "language"):
        tables = [report["held_out"][f"by_{kind}"] for report in reports]
        if not tables[0]:
            continue
        print_line()
        rows: list[tuple[Any, ...]] = []
        best = max((row["bytes_per_token"] for row in tables[0].values()), default=1.0) or 1.0
        for name, row in [*tables[0].items(), ("in all", reports[0]["held_out"])]:
            others = [
                table.get(name) if name != "in all" else report["held_out"]
                for table, report in zip(tables[1:], reports[1:], strict=True)
            ]
            rows.append(
                (
                    name,
                    f"{row['documents']:,}",
                    f"{row['bytes']:,}",
                    f"{row['bytes_per_token']:.3f}",
                    *(f"{other['bytes_per_token']:.3f}" for other in others if other),
                    f"{row['tokens_per_word']:.3f}",
                    bar(row["bytes_per_token"] / best, 16),
                )
            )
        print_columns(
            (kind, "texts", "bytes", *_heads("bytes per token", reports), "tokens per word", ""),
            rows,
        )


def _probes(reports: Sequence[Report]) -> None:
    """Tokens that texts of many kinds take, and whether they come back."""
    print_line()
    rows = []
    for name, probe in reports[0]["probes"].items():
        cells = [report["probes"][name] for report in reports]
        shown = [f"{cell['tokens']:,}" + ("" if cell["exact"] else " inexact") for cell in cells]
        rows.append((name, f"{probe['bytes']:,}", *shown))
    print_columns(
        ("probe", "bytes", *_heads("tokens", reports)),
        rows,
        [not p["exact"] for p in reports[0]["probes"].values()],
    )


def _heads(what: str, reports: Sequence[Report]) -> list[str]:
    """One tokenizer needs no name; of several, each column has its own."""
    if len(reports) == 1:
        return [what]
    print_line(f"{what}, by tokenizer:")
    return [one_line(report["of"]) for report in reports]


def _vocabulary(reports: Sequence[Report]) -> None:
    print_line()
    names = (
        ("merges", "merges"),
        ("tokens across words", "across_words"),
        ("mean bytes of a token", "mean_token_bytes"),
        ("share that no held-out text needs", "unused_share"),
    )
    print_columns(
        ("vocabulary", *(one_line(report["of"]) for report in reports)),
        [
            (label, *(_number(report["vocabulary"][key]) for report in reports))
            for label, key in names
        ],
    )
    vocabulary = reports[0]["vocabulary"]
    for label, key in (
        ("first merges", "first_merges"),
        ("last merges", "last_merges"),
        ("longest tokens", "longest"),
        ("across words", "across_words_examples"),
    ):
        if vocabulary[key]:
            print_line(f"{label}: {listed(vocabulary[key])}")


def _number(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
