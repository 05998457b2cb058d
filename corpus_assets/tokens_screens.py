"""What `corpus mix`, `corpus plan-tokens` and `corpus tokenizer` print; --json has it all."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.output import print_fields, print_line, printable
from corpus_assets.screen_tables import amount, bar, print_columns

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
