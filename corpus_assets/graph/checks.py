"""Checks of what an asset left behind: schema, conservation, survival, what pages declare, losses, yield,
signals and signatures beside their references, and what the audit of the tokenizer says. Plain data for anyone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.figures import counted
from corpus_assets.clean import (
    SHOWN,
    count_cut_lines,
    losses_message,
    snapshot_losses,
    snapshot_yields,
    yield_losses_message,
)
from corpus_assets.core.errors import StoreError
from corpus_assets.core.lazy_sequence import spread
from corpus_assets.dedup import compare_with_datasketch
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import AssetReport
from corpus_assets.ingest import recall_message, snapshot_recall
from corpus_assets.select import Bounds, language_losses_message
from corpus_assets.shards import shares_met
from corpus_assets.signals import EngineComparison, compare_with_fasttext
from corpus_assets.tokenizer import Audit, audit_of
from corpus_loader import Manifest

SCHEMA_PARTS = 256


@dataclass(frozen=True)
class CheckOutcome:
    name: str
    passed: bool
    message: str
    is_warning: bool = False
    numbers: Mapping[str, int | float] = field(default_factory=dict)


def check_asset(pipeline: Pipeline, report: AssetReport) -> list[CheckOutcome]:
    """Return the checks of a snapshot's asset."""
    found = [
        _schema(pipeline, report),
        _conservation(pipeline, report),
        _survival(pipeline, report),
    ]
    own = {
        "documents": [_declared_recall],
        "signals": [_fasttext],
        "selection": [_language_losses],
        "signatures": [_datasketch],
        "clean_text": [_losses, _last_copies, _yield_losses],
    }.get(report.asset, [])
    return [*found, *(check(pipeline, report) for check in own)]


def _schema(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Compare the columns of files with what is declared; of many parts, those of a few hundred."""
    checked = 0
    stage = pipeline.graph.assets[report.asset].last
    results = pipeline.results(report.asset, report.snapshot)
    for number in spread(len(results), SCHEMA_PARTS):
        for name, output in results[number].outputs.items():
            declared = stage.file(name)
            if declared is None or declared.table is None:
                continue
            expected = declared.table.schema
            try:
                with pipeline.store.open(output.path) as file:
                    found = pq.read_schema(file)
            except (pa.ArrowException, OSError, StoreError) as error:
                return CheckOutcome("schema", False, f"{output.path} cannot be read: {error}")
            absent = [f.name for f in expected if f.name not in found.names]
            wrong = [
                f.name
                for f in expected
                if f.name in found.names and found.field(f.name).type != f.type
            ]
            if absent or wrong:
                problem = f"{output.path}: missing {absent}, of another type {wrong}"
                return CheckOutcome("schema", False, problem)
            checked += 1
    return CheckOutcome("schema", True, f"{counted(checked, 'file')}", numbers={"files": checked})


def _conservation(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    dropped = sum(report.reasons.values())
    numbers = {
        "documents_in": report.documents_in,
        "documents_out": report.documents_out,
        "dropped": dropped,
    }
    lost = report.documents_in - report.documents_out - dropped
    if lost:
        message = f"{counted(lost, 'document')} neither passed nor have a drop reason"
        return CheckOutcome("conservation", False, message, numbers=numbers)
    asset = pipeline.graph.assets[report.asset].last
    unknown = sorted(reason for reason in report.reasons if not asset.is_reason(reason))
    if unknown:
        message = f"reasons that {asset.name} does not declare: {', '.join(unknown)}"
        return CheckOutcome("conservation", False, message, True, numbers)  # none is lost
    fed_by = asset.fed_by
    if fed_by is not None:
        stage, count = fed_by
        fed = sum(r.counts.get(count, 0) for r in pipeline.results(stage, report.snapshot))
        skipped = report.asset == "contamination" and not pipeline.recipe.eval_suites
        if fed != report.documents_in and not skipped:
            message = f"{stage} gave {counted(fed, 'document')}, {report.documents_in} came in"
            return CheckOutcome("conservation", False, message, numbers=numbers)
    message = f"{report.documents_in} in = {report.documents_out} out + {dropped} dropped"
    return CheckOutcome("conservation", True, message, numbers=numbers)


def _survival(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    stated = pipeline.recipe.survival.items()
    bounds = next((bounds for asset, bounds in stated if asset == report.asset), Bounds())
    share = report.survival
    low, high = bounds.min or 0.0, 1.0 if bounds.max is None else bounds.max
    inside = low <= share <= high or not report.documents_in
    message = f"{share:.1%} survive; expected {low:.0%} to {high:.0%}"
    return CheckOutcome("survival", inside, message, True, {"survival": round(share, 4)})


def _declared_recall(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Warn where texts of one type lack most of what their pages declare of themselves."""
    recalls = snapshot_recall(pipeline, report.snapshot or "")
    numbers = {f"recall_{one.type}": round(one.found / one.lines, 4) for one in recalls}
    passed, message = recall_message(recalls)
    return CheckOutcome("declared_recall", passed, message, True, numbers)


def _losses(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Warn where cleaning empties documents or takes much of a site; show the largest losses."""
    losses = snapshot_losses(pipeline, report.snapshot or "")
    report.losses = losses.slice(0, SHOWN).to_pylist()
    passed, message = losses_message(losses)
    report.counts["emptied_documents"] = sum(losses["emptied"].to_pylist())
    numbers = {"emptied_documents": report.counts["emptied_documents"]}
    return CheckOutcome("losses", passed, message, True, numbers)


def _last_copies(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Fail where a line that cleaning cut as a repeated one is in no document any more."""
    found = count_cut_lines(pipeline, report.snapshot or "")
    numbers = {f"cut_{kind}": count for kind, count in found.lines.items()}
    numbers["lost_lines"] = found.lost
    passed = not (found.lost or found.dropped)
    return CheckOutcome("last_copies", passed, found.message(), not found.lost, numbers)


def _yield_losses(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Warn where a page type or language keeps clearly less than the others."""
    passed, message = yield_losses_message(snapshot_yields(pipeline, report.snapshot or ""))
    return CheckOutcome("yield_losses", passed, message, True)


def _language_losses(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Warn where one rule drops too many documents of one language."""
    passed, message = language_losses_message(pipeline, report.snapshot or "")
    return CheckOutcome("language_losses", passed, message, True)


def _fasttext(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Compare a sample of languages and scores with what fastText says of the texts."""
    found = compare_with_fasttext(pipeline, report.snapshot or "")
    wrong = {doc_id for ids in found.differing.values() for doc_id in ids}
    numbers = {
        "documents": found.documents,
        "models": len(found.models),
        "differing": len(wrong),
    }
    return CheckOutcome("fasttext", not wrong, _fasttext_message(found), numbers=numbers)


def _fasttext_message(found: EngineComparison) -> str:
    documents = counted(found.documents, "document")
    large = f"; too large to compare: {', '.join(found.too_large)}" if found.too_large else ""
    if found.differing:
        named = "; ".join(
            f"fastText disagrees with {model} on {len(ids)} of {documents} "
            f"({', '.join(sorted(ids)[:SHOWN])})"
            for model, ids in sorted(found.differing.items())
        )
        return (
            f"{named}; delete `artifacts/signals` in the store and build again; if they still "
            f"differ, report it and publish nothing{large}"
        )
    if not found.models:
        return f"no signal is computed by a fastText model that can be compared{large}"
    return f"fastText agrees on {documents} (models: {', '.join(found.models)}){large}"


def _datasketch(pipeline: Pipeline, report: AssetReport) -> CheckOutcome:
    """Compare a sample of signatures and candidate similarities with what datasketch makes."""
    found = compare_with_datasketch(pipeline, report.snapshot or "")
    numbers = {
        "documents": found.documents,
        "pairs": found.pairs,
        "differing": len(found.differing),
    }
    message = (
        f"{counted(found.documents, 'document')} and {found.pairs} candidate pairs match datasketch"
    )
    if found.differing:
        named = ", ".join(sorted(found.differing)[:SHOWN])
        message = (
            f"signatures of {len(found.differing)} of {counted(found.documents, 'document')} differ "
            f"from those of datasketch: {named}; delete `artifacts/signatures` in the store "
            "and build again; if they still differ, report it and publish nothing"
        )
    return CheckOutcome("datasketch", not found.differing, message, numbers=numbers)


def check_version(pipeline: Pipeline, manifest: Manifest) -> CheckOutcome:
    """Ingested = in shards + dropped, exactly, for every snapshot."""
    problems: list[str] = []
    for snapshot in pipeline.recipe.snapshots:
        ingested = _sum(pipeline, "documents", snapshot, "documents_in")
        decided = _sum(pipeline, "clean_text", snapshot, "records")
        kept = _sum(pipeline, "clean_text", snapshot, "documents_out")
        dropped = sum(
            count
            for result in pipeline.results("clean_text", snapshot)
            for outcome, count in result.notes["outcomes"].items()
            if outcome != "kept"
        )
        sharded = sum(g.documents for g in manifest.groups if g.snapshot == snapshot)
        if not (ingested == decided == kept + dropped and kept == sharded):
            problems.append(
                f"{snapshot}: {ingested} ingested, {decided} decided, {kept} kept, "
                f"{dropped} dropped, {sharded} in shards"
            )
    message = "; ".join(problems) or "ingested = in shards + dropped, for every snapshot"
    return CheckOutcome("conservation", not problems, message)


def check_shares(pipeline: Pipeline, manifest: Manifest) -> CheckOutcome:
    """Shares got = shares asked, up to whole samples and blocks, for every phase."""
    recipe = pipeline.recipe
    groups = recipe.mixed_groups(manifest.groups)
    found = shares_met(groups, recipe.mixture, manifest.seq_len, manifest.phases)
    problems = [share.line() for share in found if share.problem is not None]
    named = "; ".join(problems[:SHOWN])
    message = named or f"{counted(len(found), 'share')} of the mixture as asked"
    numbers = {"shares": len(found), "missed": len(problems)}
    return CheckOutcome("shares", not problems, message, True, numbers)


def _sum(pipeline: Pipeline, stage: str, snapshot: str, count: str) -> int:
    return sum(result.counts.get(count, 0) for result in pipeline.results(stage, snapshot))


# The tokenizer.

TOKENIZER_CHECKS: Mapping[str, str] = {
    "audit": "Every text round-trips exactly, every byte is a token, every special token is one "
    "id; no token is in a foreign script, too long or personal data, and few are unused.",
    "compression": "Bytes per token on held-out text, by domain and language.",
    "merges": "No token spans several words.",
}


def tokenizer_checks(pipeline: Pipeline) -> list[CheckOutcome]:
    """One outcome for each of `TOKENIZER_CHECKS`."""
    report = audit_of(pipeline)
    is_warning = pipeline.recipe.tokenizer.audit.on_failure == "warn"
    return [_audit(report, is_warning), _compression(report), _merges(report)]


def _audit(report: Audit, is_warning: bool) -> CheckOutcome:
    special, held_out = report.special_tokens, report.held_out
    texts = f" and {held_out.documents} held-out texts" if held_out.documents else ""
    message = (
        f"{len(report.probes)} probes{texts} round-trip exactly; {report.bytes_covered} of "
        f"256 bytes are tokens; {special.one_id_and_back} of {special.slots} special tokens "
        "round-trip as one id"
    )
    numbers: dict[str, int | float] = {
        "vocab_size": report.vocab_size,
        "bytes_covered": report.bytes_covered,
        "special_tokens": special.slots,
        "held_out_documents": held_out.documents,
        "foreign_tokens": report.vocabulary.foreign,
        "too_long_tokens": report.vocabulary.too_long,
    }
    if report.vocabulary.never_used_share is not None:
        numbers["never_used_share"] = report.vocabulary.never_used_share
    problems = "; ".join(report.problems)
    if report.passed and not texts:  # nothing is wrong, and no text was seen to be right
        note = f"the audit ran on 0 held-out texts: not measured; {message}"
        return CheckOutcome("audit", False, note, True, numbers)
    return CheckOutcome("audit", report.passed, problems or message, is_warning, numbers)


def _compression(report: Audit) -> CheckOutcome:
    held_out = report.held_out
    numbers: dict[str, int | float] = {"bytes_per_token": held_out.bytes_per_token}
    for kind, rows in (("domain", held_out.by_domain), ("language", held_out.by_language)):
        for name, row in rows.items():
            numbers[f"bytes_per_token ({kind} {name})"] = row.bytes_per_token
    unused = report.vocabulary.unused_share
    if unused is not None:
        numbers["unused_share"] = unused
    message = f"{held_out.bytes_per_token} bytes per token on {held_out.documents} texts"
    seen = bool(held_out.documents)
    return CheckOutcome(
        "compression", seen, message if seen else "there is no held-out text", True, numbers
    )


def _merges(report: Audit) -> CheckOutcome:
    vocabulary = report.vocabulary
    across = vocabulary.across_words
    message = (
        f"{across} tokens span several words: `corpus tokenizer audit` shows some"
        if across
        else f"none of {vocabulary.merges:,} merges spans several words"
    )
    return CheckOutcome("merges", not across, message, True, {"across_words": across})
