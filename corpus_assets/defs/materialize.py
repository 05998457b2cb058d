"""From an asset's run to what Dagster shows of it: metadata that plots, and its checks."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from corpus_assets.clean import CLEAN_TEXT
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.files import MEMBERS
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.core.stage import Asset
from corpus_assets.core.task import read_table
from corpus_assets.dedup import CLUSTERS, SIGNATURES
from corpus_assets.defs.partitions import SNAPSHOTS
from corpus_assets.defs.progress import Observed, failure_of
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.graph import (
    TOKENIZER_CHECKS,
    AssetReport,
    CheckOutcome,
    StageIncomplete,
    check_asset,
    content_hash,
    metric_rows,
    run_asset,
    tokenizer_checks,
)
from corpus_assets.ingest import DOCUMENTS
from corpus_assets.scrub import SCRUBBED
from corpus_assets.select import SELECTION
from corpus_assets.session import Session
from corpus_assets.signals import SIGNALS
from corpus_assets.tokenizer import TOKENIZER
from corpus_assets.versions import DRIFT_CHECKS, drift_checks

RECALL_CHECKS = {
    "declared_recall": "Of no type of schema.org do more than a quarter of the texts lack half of what "
    "their pages declare in JSON-LD."
}
LOSS_CHECKS = {
    "losses": "Cutting repeated lines and passages empties no document, and takes no more of a "
    "site's text than the recipe's bound.",
    "last_copies": "Every line that was cut as repeated is still in a kept document; what "
    "was cut is counted by kind of line.",
    "yield_losses": "No page type or language keeps clearly less of its documents than the others.",
}
SIGNATURE_CHECKS = {
    "datasketch": "Band keys, sketches and candidate similarities of a sample are what the "
    "datasketch library makes of the texts."
}
SIGNAL_CHECKS = {
    "fasttext": "Languages, labels and scores of a sample match those of the fastText library."
}
LANGUAGE_CHECKS = {
    "language_losses": "No rule drops more of a language's documents than the recipe's bound."
}
BLOCKING = frozenset({"schema", "conservation", "last_copies", *DRIFT_CHECKS})
"""Checks that, failed as errors, keep what is downstream from running; drift is an error above the
recipe's error bound only."""
MORE_CHECKS: Mapping[str, Mapping[str, str]] = {
    DOCUMENTS.name: RECALL_CHECKS,
    SELECTION.name: {**LANGUAGE_CHECKS, **DRIFT_CHECKS},
    SIGNALS.name: SIGNAL_CHECKS,
    SIGNATURES.name: SIGNATURE_CHECKS,
    CLEAN_TEXT.name: LOSS_CHECKS,
    TOKENIZER.name: TOKENIZER_CHECKS,
}


COUNTED_FILES = 4096  # of more, a run would wait for the metadata


def check_specs(asset: Asset) -> list[dg.AssetCheckSpec]:
    """Return the checks of an asset by snapshot, and those that only one asset has."""
    about: dict[str, str] = {
        "schema": "Every file has the columns of its schema.",
        "conservation": "Documents in = documents out + documents dropped with a reason.",
        "survival": "The share of documents that survives is inside the recipe's bounds.",
    }
    described = (about if asset.is_by_snapshot else {}) | dict(MORE_CHECKS.get(asset.name, {}))
    by = SNAPSHOTS if asset.is_by_snapshot else None
    return [check_spec(asset.name, name, text, by) for name, text in described.items()]


def check_spec(
    asset: str, name: str, about: str, by: dg.PartitionsDefinition[str] | None
) -> dg.AssetCheckSpec:
    """Return a check with a state of its own for each partition."""
    with warnings.catch_warnings():  # partitions of checks are a preview in Dagster 1.13
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name, asset=asset, description=about, blocking=name in BLOCKING, partitions_def=by
        )


class ChecksFailed(CorpusError):
    """What an asset left failed a check that keeps what is downstream from running."""


def materialize_stage(
    context: dg.AssetExecutionContext, corpus: CorpusResource, asset: str
) -> dg.MaterializeResult:
    """Run one asset for the partition at hand (or for all, where it has none)."""
    snapshot = context.partition_key if context.has_partition_key else None
    with corpus.work() as session:
        progress = Observed(session.progress, context)
        try:
            report = run_asset(
                session.pipeline, session.engine, session.registry, progress, asset, snapshot
            )
        except StageIncomplete as error:
            raise failure_of(error) from error
        except Exception:
            for outcome in checks_of_refused(session, asset):
                evaluation = check_evaluation(asset, snapshot, outcome)
                context.log_event(evaluation)  # type: ignore[arg-type]  # it takes checks too
            raise
        session.registry.add_metrics(metric_rows(report))
        outcomes, sizes = outcomes_of(session, report), cluster_metadata(session, report)
    return dg.MaterializeResult(
        metadata=stage_metadata(report, outcomes) | sizes,
        data_version=dg.DataVersion(report.content_hash),
        check_results=[check_result(outcome) for outcome in outcomes],
    )


def outcomes_of(session: Session, report: AssetReport) -> list[CheckOutcome]:
    """Return the checks of what an asset left."""
    outcomes = check_asset(session.pipeline, report) if report.snapshot else []
    if report.asset == SELECTION.name and report.snapshot:
        outcomes += drift_checks(session.pipeline, report.snapshot)
    if report.asset == TOKENIZER.name:
        outcomes += tokenizer_checks(session.pipeline)
    return outcomes


def checks_of_refused(session: Session, asset: str) -> list[CheckOutcome]:
    """Return the checks of an asset that is complete and was refused all the same: a tokenizer that
    fails its audit. None where it is not complete."""
    declared = session.pipeline.graph.assets.get(asset)
    if declared is None or declared.is_by_snapshot:
        return []
    with contextlib.suppress(*KNOWN_ERRORS):  # the first error is the one to tell
        content_hash(session.pipeline, asset, None)
        return outcomes_of(session, AssetReport(asset, None))
    return []


def cluster_metadata(session: Session, report: AssetReport) -> dict[str, dg.MetadataValue]:
    """Return how large the clusters are whose kept document is of the snapshot at hand."""
    if report.asset != CLUSTERS.name or report.snapshot is None:
        return {}
    store, sizes = session.pipeline.store, Counter[int]()
    results = session.pipeline.results(CLUSTERS.name, report.snapshot)
    files = [out for r in results for n, out in sorted(r.outputs.items()) if MEMBERS.matches(n)]
    if not files or len(files) > COUNTED_FILES:
        return {}
    for file in files:
        table = read_table(store, file, columns=["cluster_size", "kept"])
        sizes.update(table.filter(table["kept"])["cluster_size"].to_pylist())
    by_power = Counter[int]()
    for size, count in sizes.items():
        by_power[size.bit_length() - 1] += count
    return {
        "largest_cluster": dg.MetadataValue.int(max(sizes, default=0)),
        "documents_in_clusters": dg.MetadataValue.int(sum(k * n for k, n in sizes.items())),
        "cluster_sizes": dg.MetadataValue.table(
            [
                dg.TableRecord({"members": f"{2**power} to {2 ** (power + 1) - 1}", "clusters": n})
                for power, n in sorted(by_power.items())
            ],
            schema=dg.TableSchema(
                [dg.TableColumn("members", "string"), dg.TableColumn("clusters", "int")]
            ),
        ),
    }


def blocking(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Return those that keep what is downstream from running."""
    return [o for o in outcomes if o.name in BLOCKING and not (o.passed or o.is_warning)]


def check_evaluation(
    asset: str, partition: str | None, outcome: CheckOutcome
) -> dg.AssetCheckEvaluation:
    """Return a check as an event of a run."""
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(asset),
        check_name=outcome.name,
        passed=outcome.passed,
        metadata=dict(outcome.numbers),
        severity=_severity(outcome),
        description=outcome.message,
        blocking=outcome.name in BLOCKING,
        partition=partition,
    )


def check_result(outcome: CheckOutcome) -> dg.AssetCheckResult:
    """Return a check as the result of a step."""
    return dg.AssetCheckResult(
        check_name=outcome.name,
        passed=outcome.passed,
        severity=_severity(outcome),
        description=outcome.message,
        metadata=dict(outcome.numbers),
    )


def _severity(outcome: CheckOutcome) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.WARN if outcome.is_warning else dg.AssetCheckSeverity.ERROR


def stage_metadata(
    report: AssetReport, outcomes: Sequence[CheckOutcome] = ()
) -> dict[str, dg.MetadataValue]:
    """Numbers first, since Dagster plots them by partition; then the reasons as a table."""
    dropped = report.documents_in - report.documents_out
    moved: dict[str, dg.MetadataValue] = {
        name: dg.MetadataValue.float(float(value))
        for outcome in outcomes
        if outcome.name in DRIFT_CHECKS
        for name, value in outcome.numbers.items()
    }
    metadata: dict[str, dg.MetadataValue] = moved | {
        "dagster/row_count": dg.MetadataValue.int(report.documents_out),
        "documents_in": dg.MetadataValue.int(report.documents_in),
        "documents_out": dg.MetadataValue.int(report.documents_out),
        "removed_documents": dg.MetadataValue.int(dropped),
        "survival": dg.MetadataValue.float(round(report.survival, 4)),
        "cpu_seconds": dg.MetadataValue.float(round(report.cpu_seconds, 3)),
        "bytes": dg.MetadataValue.int(report.bytes),
        "parts": dg.MetadataValue.int(report.parts),
        "parts_cached": dg.MetadataValue.int(report.cached),
    }
    if "clusters" in report.notes:
        metadata["clusters"] = dg.MetadataValue.int(report.notes["clusters"])
    for name in ("tokens", "samples", "hits", "contaminated", "items", "emptied_documents",
                 "gate_sampled", "gate_false_drops"):  # fmt: skip
        if name in report.counts:
            metadata[name] = dg.MetadataValue.int(report.counts[name])
    for name, number in sorted(report.counts.items()):
        if name.startswith(SCRUBBED):
            metadata[name] = dg.MetadataValue.int(number)
    if report.reasons:
        metadata["drop_reasons"] = dg.MetadataValue.table(
            [
                dg.TableRecord(
                    {"reason": reason, "documents": count, "share": _share(count, report)}
                )
                for reason, count in report.reasons.most_common(25)
            ],
            schema=dg.TableSchema(
                [
                    dg.TableColumn("reason", "string"),
                    dg.TableColumn("documents", "int"),
                    dg.TableColumn("share", "float"),
                ]
            ),
        )
    if report.losses:
        metadata["largest_losses"] = dg.MetadataValue.table(
            [dg.TableRecord(dict(loss)) for loss in report.losses]
        )
    for name in ("metrics", "audit", "cutoffs"):
        if name in report.notes:
            metadata[name] = dg.MetadataValue.json(_numbers(report.notes[name]))
    return metadata


def _numbers(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stage noted without lists and texts: tokens and words are pieces of documents,
    and no takedown reaches into Dagster's event log."""
    kept = {
        name: _numbers(value) if isinstance(value, Mapping) else value
        for name, value in notes.items()
        if isinstance(value, Mapping | int | float)
    }
    return {name: value for name, value in kept.items() if value != {}}


def _share(count: int, report: AssetReport) -> float:
    return round(count / report.documents_in, 4) if report.documents_in else 0.0
