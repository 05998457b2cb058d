"""What the audit of the tokenizer says, as checks of its asset."""

from collections.abc import Mapping
from typing import Any

from corpus_assets.graph.checks import CheckOutcome
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.tokenizer.stage import audit_of

TOKENIZER_CHECKS: Mapping[str, str] = {
    "audit": "Every text comes back exactly, every byte is a token, every special token is one id; "
    "no token is foreign to the sample, too long or personal data, and few are unused.",
    "compression": "Bytes per token on text that was not trained on, by domain and language.",
    "merges": "No merge goes across words.",
}


def tokenizer_checks(pipeline: Pipeline) -> list[CheckOutcome]:
    """One outcome for each of `TOKENIZER_CHECKS`."""
    report = audit_of(pipeline)
    is_warning = pipeline.recipe.tokenizer.audit.on_failure == "warn"
    return [_audit(report, is_warning), _compression(report), _merges(report)]


def _audit(report: Mapping[str, Any], is_warning: bool) -> CheckOutcome:
    special, held_out = report["special_tokens"], report["held_out"]
    message = (
        f"{len(report['probes'])} probes and {held_out['documents']} held-out texts come back "
        f"exactly; {report['bytes_covered']} of 256 bytes are tokens; "
        f"{special['one_id_and_back']} of {special['slots']} special tokens are one id and back"
    )
    numbers = {
        "vocab_size": report["vocab_size"],
        "bytes_covered": report["bytes_covered"],
        "special_tokens": special["slots"],
        "held_out_documents": held_out["documents"],
        "foreign_tokens": report["vocabulary"]["foreign"],
        "too_long_tokens": report["vocabulary"]["too_long"],
    }
    if "never_used_share" in report["vocabulary"]:
        numbers["never_used_share"] = report["vocabulary"]["never_used_share"]
    problems = "; ".join(report["problems"])
    return CheckOutcome("audit", report["passed"], problems or message, is_warning, numbers)


def _compression(report: Mapping[str, Any]) -> CheckOutcome:
    held_out = report["held_out"]
    numbers: dict[str, int | float] = {"bytes_per_token": held_out["bytes_per_token"]}
    for kind in ("domain", "language"):
        for name, row in held_out[f"by_{kind}"].items():
            numbers[f"bytes_per_token ({kind} {name})"] = row["bytes_per_token"]
    unused = report["vocabulary"]["unused_share"]
    if unused is not None:
        numbers["unused_share"] = unused
    message = f"{held_out['bytes_per_token']} bytes per token on {held_out['documents']} texts"
    seen = bool(held_out["documents"])
    return CheckOutcome(
        "compression", seen, message if seen else "there is no held-out text", True, numbers
    )


def _merges(report: Mapping[str, Any]) -> CheckOutcome:
    vocabulary = report["vocabulary"]
    across = vocabulary["across_words"]
    examples = ", ".join(repr(text) for text in vocabulary["across_words_examples"][:5])
    message = (
        f"{across} tokens go across words: {examples}"
        if across
        else f"none of {vocabulary['merges']:,} merges goes across words"
    )
    return CheckOutcome("merges", not across, message, True, {"across_words": across})
