"""The stages that every snapshot goes through: one asset each, partitioned by snapshot."""

import dagster as dg

from corpus_assets.clean import clean_text
from corpus_assets.core.schemas import (
    CLUSTER_MEMBERS,
    DOCUMENTS,
    FINAL_TEXT,
    HITS,
    SELECTION,
    SIGNATURES,
    SPANS,
)
from corpus_assets.decontam import contamination
from corpus_assets.dedup import clusters, signatures
from corpus_assets.defs.materialize import check_specs, columns, materialize_stage
from corpus_assets.defs.partitions import EVERY, SNAPSHOTS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.ingest import documents, source_files
from corpus_assets.select import selection
from corpus_assets.shards import route as shards
from corpus_assets.signals.stages import signals
from corpus_assets.versions import lineage_keys

Result = dg.MaterializeResult


@dg.asset(
    name="source_files",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    code_version=str(source_files.VERSION),
)
def source_files_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """The pinned list of a snapshot's files: names, sizes, digests."""
    with corpus.session() as session:
        pinned = pin_snapshot(session.pipeline, session.registry, context.partition_key)
    return dg.MaterializeResult(
        metadata={
            "files": len(pinned.files),
            "bytes": sum(file.size for file in pinned.files),
            "location": pinned.location,
        },
        data_version=dg.DataVersion(pinned.content_hash),
    )


@dg.asset(
    name="documents",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["source_files"],
    code_version=str(documents.VERSION),
    metadata=columns(DOCUMENTS),
    check_specs=check_specs("documents"),
)
def documents_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """WARC, JSONL or Parquet in, text out. Gates come before any expensive work; every record
    that gives no text has a reason."""
    return materialize_stage(context, corpus, "documents")


@dg.asset(
    name="signals",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["documents", "classifiers", "perplexity_models", "score_ranks"],
    code_version=str(signals.VERSION),
    check_specs=check_specs("signals"),
)
def signals_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Numbers and labels of every document: language, Gopher, FineWeb, quality. Never recomputed
    for a new threshold."""
    return materialize_stage(context, corpus, "signals")


@dg.asset(
    name="selection",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["signals", "quality_cutoffs"],
    code_version=str(selection.VERSION),
    metadata=columns(SELECTION),
    check_specs=check_specs("selection"),
)
def selection_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Keep or drop by the recipe's thresholds over the signals; the first failing rule is the
    reason, all failing rules are kept."""
    return materialize_stage(context, corpus, "selection")


@dg.asset(
    name="signatures",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["documents"],
    code_version=str(signatures.VERSION),
    metadata=columns(SIGNATURES),
    check_specs=check_specs("signatures"),
)
def signatures_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Exact keys and MinHash signatures of every document."""
    return materialize_stage(context, corpus, "signatures")


@dg.asset(
    name="clusters",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=[
        dg.AssetDep("signatures", partition_mapping=EVERY),
        dg.AssetDep("selection", partition_mapping=EVERY),
    ],
    code_version=str(clusters.VERSION),
    metadata=columns(CLUSTER_MEMBERS),
    check_specs=check_specs("clusters"),
)
def clusters_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Duplicates by capture, URL, exact text and near text; one member of each cluster is kept."""
    return materialize_stage(context, corpus, "clusters")


@dg.asset(
    name="contamination",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["documents", "eval_index"],
    code_version=str(contamination.VERSION),
    metadata=columns(HITS),
    check_specs=check_specs("contamination"),
)
def contamination_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Benchmark items found in documents, by n-grams and confirmed on the words themselves."""
    return materialize_stage(context, corpus, "contamination")


@dg.asset(
    name="clean_text",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["selection", "clusters", "contamination", "common_items"],
    code_version=str(clean_text.VERSION),
    metadata=columns(FINAL_TEXT),
    check_specs=check_specs("clean_text"),
)
def clean_text_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Final text of the survivors: boilerplate lines out, personal data scrubbed, every edit
    recorded; and the fate of every record."""
    return materialize_stage(context, corpus, "clean_text")


@dg.asset(
    name="shards",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["clean_text", "tokenizer"],
    code_version=str(shards.VERSION),
    metadata=columns(SPANS),
    check_specs=check_specs("shards"),
)
def shards_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Tokenized, shuffled and packed into memory-mapped shards by (domain, tier)."""
    return materialize_stage(context, corpus, "shards")


@dg.asset(
    name="lineage_keys",
    partitions_def=SNAPSHOTS,
    group_name="corpus",
    deps=["shards"],
    code_version=str(lineage_keys.VERSION),
    check_specs=check_specs("lineage_keys"),
)
def lineage_keys_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Sorted keys of records, texts, clusters and spans: a document is found without a scan."""
    return materialize_stage(context, corpus, "lineage_keys")


SNAPSHOT_ASSETS = [
    source_files_asset,
    documents_asset,
    signals_asset,
    selection_asset,
    signatures_asset,
    clusters_asset,
    contamination_asset,
    clean_text_asset,
    shards_asset,
    lineage_keys_asset,
]
