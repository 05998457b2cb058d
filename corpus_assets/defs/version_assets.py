"""A corpus version: the shards of all snapshots under one manifest."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from catalog.db import Registry
from catalog.pages import charts
from corpus_assets.build import CORPUS_VERSION
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.core.store import sha256_hex
from corpus_assets.defs.links import certificate_links, version_links
from corpus_assets.defs.materialize import check_evaluation, check_result, check_spec
from corpus_assets.defs.partitions import EVERY, VERSIONS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.graph import CheckOutcome, check_shares, check_version
from corpus_assets.session import Session, open_home
from corpus_assets.versions import (
    FunnelStep,
    Version,
    funnel_steps,
    make_version,
    publish_version,
    release_if_passed,
)

Result = dg.MaterializeResult
RELEASE_GATE = "release_gate"
VERSION_READS = "lineage_keys"
VERSION_CODE = "1"  # of both assets


@dg.asset(
    name=CORPUS_VERSION,
    partitions_def=VERSIONS,
    group_name="release",
    kinds={"python", "json"},
    deps=[dg.AssetDep(VERSION_READS, partition_mapping=EVERY)],
    code_version=VERSION_CODE,
    check_specs=[
        check_spec(
            CORPUS_VERSION,
            "conservation",
            "Ingested = in shards + dropped, exactly, for every snapshot.",
            VERSIONS,
        ),
        check_spec(
            CORPUS_VERSION,
            "shares",
            "Shares got = shares asked, up to whole samples and blocks, for every phase.",
            VERSIONS,
        ),
    ],
)
def corpus_version_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Manifest with mixture and phases, lock, report; registered in the catalog."""
    with corpus.work() as session:
        version = make_version(session.pipeline, context.partition_key)
        publish_version(
            session.pipeline, session.registry, version, session.replaces, session.requests
        )
        metadata, content, outcomes = recorded_version(session, version)
    return dg.MaterializeResult(
        metadata=metadata,
        data_version=dg.DataVersion(content),
        check_results=[check_result(outcome) for outcome in outcomes],
    )


def recorded_version(
    session: Session, version: Version
) -> tuple[dict[str, Any], str, list[CheckOutcome]]:
    """Return what Dagster shows of a published version, its data version, and its checks."""
    pipeline, groups = session.pipeline, version.manifest.groups
    metadata: dict[str, Any] = version_links(version.name, pipeline.store.url)
    if session.requests:
        metadata["certificates"] = certificate_links(session.requests)
    metadata |= {
        "documents": sum(group.documents for group in groups),
        "tokens": sum(group.tokens for group in groups),
        "samples": sum(group.samples for group in groups),
        "shards": sum(len(group.shards) for group in groups),
        "funnel": _funnel_table(funnel_steps(pipeline)),
        "utilisation": version.manifest.utilisation,
        "tokens_by_group": dg.MetadataValue.json({g.id: g.tokens for g in groups}),
        "lock_digest": version.lock.digest,
        "removed_documents": _removed(session, version.name),
    }
    outcomes = [check(pipeline, version.manifest) for check in (check_version, check_shares)]
    return metadata, sha256_hex(version.manifest_bytes), outcomes


@dg.asset(
    name=RELEASE_GATE,
    partitions_def=VERSIONS,
    group_name="release",
    kinds={"python", "sql"},
    deps=[corpus_version_asset],
    code_version=VERSION_CODE,
    check_specs=[
        check_spec(RELEASE_GATE, "released", "All gates of the version have passed.", VERSIONS)
    ],
)
def release_gate_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Release a candidate whose gates have passed, or say why not."""
    name = context.partition_key
    _, registry = open_home(Home.resolve(corpus.home or None))
    message = release_if_passed(registry, name)
    metadata, content, outcome = recorded_gates(registry, name, message)
    return dg.MaterializeResult(
        metadata=metadata,
        data_version=dg.DataVersion(content),
        check_results=[
            dg.AssetCheckResult(
                check_name=outcome.name, passed=outcome.passed, description=outcome.message
            )
        ],
    )


def recorded_gates(
    registry: Registry, name: str, message: str
) -> tuple[dict[str, Any], str, CheckOutcome]:
    """Return what Dagster shows of a version's gates, their data version, and whether the version
    is released."""
    gates, row = registry.gates(name), registry.version(name)
    lines = [
        f"| {g.name} | {'passed' if g.passed else 'closed'} | {g.detail.get('message', '')} |"
        for g in gates
    ]
    listed = "\n".join(["| gate | outcome | message |", "|---|---|---|", *lines])
    numbers = {f"gate_{g.name}": g.value for g in gates if g.value is not None}
    drawn = [intervals_image(g.detail["intervals"]) for g in gates if "intervals" in g.detail]
    shown = "\n\n".join([listed, *drawn])
    metadata = {"state": row.state, "gates": dg.MetadataValue.md(shown), **numbers}
    content = digest([row.state, [[g.name, g.passed, g.value] for g in gates]])
    return metadata, content, CheckOutcome("released", row.state == "released", message)


def intervals_image(rows: Sequence[Sequence[Any]]) -> str:
    """Return the differences of a comparison as Markdown."""
    title = "percent of bits per byte by domain"
    return charts.as_image(charts.forest(rows, title), title)


def gate_events(
    registry: Registry, name: str, message: str
) -> tuple[dg.AssetMaterialization, dg.AssetCheckEvaluation]:
    """Return the asset `release_gate` of a version and its check as events of a run."""
    metadata, content, outcome = recorded_gates(registry, name, message)
    tags = {"dagster/data_version": content}
    return (
        dg.AssetMaterialization(RELEASE_GATE, partition=name, metadata=metadata, tags=tags),
        check_evaluation(RELEASE_GATE, name, outcome),
    )


def _funnel_table(steps: Sequence[FunnelStep]) -> dg.TableMetadataValue:
    """Show what each stage left of the records, and the reasons it gave most often."""
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "stage": step.stage,
                    "in": step.entered,
                    "out": step.left,
                    "most dropped as": ", ".join(
                        f"{reason} {count:,}" for reason, count in step.reasons.most_common(3)
                    ),
                }
            )
            for step in steps
        ]
    )


def _removed(session: Session, version: str) -> int:
    """Documents that takedowns took out: those the versions it replaces have more. Plots by
    partition show the highest value ever, so a count that falls would not be seen."""

    def texts(name: str) -> int:
        return sum(row.rows for row in session.registry.lineage_files(name, "documents"))

    return sum(texts(old) - texts(version) for old in session.replaces)
