"""A corpus version: the shards of all snapshots under one manifest."""

import dagster as dg

from corpus_assets.core.store import sha256_hex
from corpus_assets.defs.partitions import EVERY, VERSIONS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.graph.checks import check_version
from corpus_assets.session import Session
from corpus_assets.versions.publish import publish
from corpus_assets.versions.version import make_version

Result = dg.MaterializeResult


@dg.asset(
    name="corpus_version",
    partitions_def=VERSIONS,
    group_name="corpus",
    deps=[dg.AssetDep("lineage_keys", partition_mapping=EVERY)],
    code_version="1",
    check_specs=[
        dg.AssetCheckSpec(
            "conservation",
            asset="corpus_version",
            description="Ingested = in shards + dropped, exactly, for every snapshot.",
        )
    ],
)
def corpus_version_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Manifest with mixture and phases, lock, report; registered in the catalog."""
    with corpus.work() as session:
        version = make_version(session.pipeline, context.partition_key)
        publish(session.pipeline, session.registry, version, session.replaces, session.requests)
        outcome = check_version(session.pipeline, version.manifest)
        removed = _removed(session, context.partition_key)
    groups = version.manifest.groups
    return dg.MaterializeResult(
        metadata={
            "documents": sum(group.documents for group in groups),
            "tokens": sum(group.tokens for group in groups),
            "samples": sum(group.samples for group in groups),
            "shards": sum(len(group.shards) for group in groups),
            "utilisation": version.manifest.utilisation,
            "tokens_by_group": dg.MetadataValue.json({g.id: g.tokens for g in groups}),
            "lock_digest": version.lock.digest,
            "removed_documents": removed,
        },
        data_version=dg.DataVersion(sha256_hex(version.manifest_bytes)),
        check_results=[
            dg.AssetCheckResult(
                check_name="conservation", passed=outcome.passed, description=outcome.message
            )
        ],
    )


def _removed(session: Session, version: str) -> int:
    """Documents that takedowns took out: those the versions it replaces have more. Plots by
    partition show the highest value ever, so a count that falls would not be seen."""

    def texts(name: str) -> int:
        return sum(row.rows for row in session.registry.lineage_files(name, "texts"))

    return sum(texts(old) - texts(version) for old in session.replaces)
