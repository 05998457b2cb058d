"""Tables with numbers on the right and bars behind them: drawn on a terminal, plain in a pipe."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catalog.cli.terminal import print_fields, print_line, printable

EIGHTHS = " ▏▎▍▌▋▊▉"
UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "B"), (10**6, "M"))


def print_columns(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], marked: Sequence[bool] = ()
) -> None:
    """A table; a column whose every cell is a number, or text of one, stands on the right.

    `marked` rows are red on a terminal.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    right = [all(_is_number(row[i]) for row in cells) for i in range(len(heads))]
    if sys.stdout.isatty():
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for head, is_number in zip(heads, right, strict=True):
            table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold")
        for place, row in enumerate(cells):
            style = "red" if place < len(marked) and marked[place] else ""
            table.add_row(*(Text(cell) for cell in row), style=style)
        Console().print(table)
        return
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    for row in [list(heads), *cells]:
        padded = (
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, right, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def bar(share: float, width: int = 24) -> str:
    """A bar in eighths of a character; anything above nothing shows."""
    filled = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        filled = max(1, filled)
    whole, rest = divmod(filled, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def amount(number: float) -> str:
    """A count as people say it: 15.0T, 7.25B, 320M; small ones whole."""
    for size, unit in UNITS:
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}" if abs(number) < 1000 * size else f"{number:,.0f}"
    return f"{number:,.0f}"


def _is_number(cell: str) -> bool:
    return not cell or cell in "-–" or cell.lstrip("+-−").replace(",", "")[:1].isdigit()


# --------------------------------------------------------------------------------------------------
# What `corpus mix`, `corpus plan-tokens` and `corpus tokenizer` print; --json has it all.

Answer = Mapping[str, Any]
MANY = 30


def show_mix(answer: Answer) -> None:
    """`corpus mix`"""
    print_line(
        f"{answer['of']}: {amount(sum(row['tokens'] for row in answer['rows']))} tokens there, a "
        f"run of {amount(answer['run_tokens'])} in blocks of {answer['block_samples']:,} samples"
    )
    print_line()
    phases = answer["phases"]
    print_columns(
        ("phase", "blocks", "tokens"),
        [(p["name"], f"{p['blocks']:,}", f"{p['tokens']:,}") for p in phases],
    )
    print_line()
    several = [phase["name"] for phase in phases] if len(phases) > 1 else []
    top = max((row["share"] for row in answer["rows"]), default=0.0) or 1.0
    print_columns(
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
        [row["epochs"] > row["allowed"] for row in answer["rows"]],
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


def show_mixes(answer: Answer) -> None:
    """`corpus mix --against`"""
    this, other = answer["of"], answer["against"]["of"]
    print_line(f"{other} (before) beside {this} (after)")
    print_line()
    rows = answer["differences"]
    print_columns(
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
        [row["epochs"]["after"] > row["allowed"] for row in rows],
    )
    print_line()
    moved = sum(abs(row["share"]["after"] - row["share"]["before"]) for row in rows) / 2
    print_line(f"{moved:.2%} of the run's tokens move to another group.")


def show_token_plan(answer: Answer) -> None:
    """`corpus plan-tokens`"""
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
    print_columns(
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
        [bool(row["missing_tokens"]) for row in rows],
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


def show_sample(answer: Answer) -> None:
    """`corpus tokenizer sample`"""
    print_line(f"tokenizer {answer['sha256'][:16]} of {answer['of']}")
    if answer.get("document") is not None:
        found = answer["document"]
        print_line(f"{found['doc_id']}: {found['side']}")
        return
    print_line()
    rows = [
        (
            name,
            f"{row['available_documents']:,}",
            f"{row['documents']:,}",
            f"{row['chars']:,}",
            f"{row['chars'] / max(1, answer['chars']):.2%}",
            f"{row['held_out_documents']:,}",
            f"{row['held_out_chars']:,}",
        )
        for name, row in answer["domains"].items()
    ]
    heads = ("domain", "documents there", "trained on", "characters", "share", "held out",
             "characters")  # fmt: skip
    print_columns(heads, rows)


def _points(change: float) -> str:
    return f"{change * 100:+.2f}" if abs(change) >= 5e-5 else "-"


def one_line(text: str, width: int = 28) -> str:
    """A token or a name as a cell of a table."""
    shown = printable(text)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def listed(texts: Sequence[str], count: int = 12) -> str:
    return "  ".join(one_line(text.replace(" ", "·")) for text in texts[:count])


# --------------------------------------------------------------------------------------------------
# What `corpus tokenizer audit` prints: one tokenizer, or several side by side.

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
