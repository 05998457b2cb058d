"""All assets of the graph: one for each declared asset, the source files before them, the version
after them; and what their columns mean, as the UI shows it (docs/reference/tables.md says more)."""

import os
from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from corpus_assets.build import SOURCE_FILES
from corpus_assets.core.stage import Asset, Graph
from corpus_assets.defs.evidence_assets import heldout_set_asset, proxy_runs_asset
from corpus_assets.defs.materialize import check_specs, materialize_stage
from corpus_assets.defs.partitions import EVERY, SNAPSHOTS
from corpus_assets.defs.record import source_metadata
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.version_assets import corpus_version_asset, release_gate_asset
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.ingest import listing as source_files
from corpus_assets.stages import STAGES

Result = dg.MaterializeResult
GROUPS = {
    "ingest": "ingest",
    "signals": "filter",
    "select": "filter",
    "dedup": "deduplicate",
    "decontam": "decontaminate",
    "clean": "write",
    "shards": "write",
    "lineage": "write",
}
"""The group of an asset in the UI, by the room of its last stage, or the room itself; calibrations
have their own."""
CALIBRATIONS = "calibrations"
COLUMNS = {
    "benchmark": "The benchmark that the item is of.",
    "boilerplate_lines": "Lines that were cut because they repeat.",
    "cluster_id": "The cluster's first member, by snapshot and id.",
    "cluster_size": "Members of the cluster, in all snapshots.",
    "confirmed": "Whether the text was compared, not only hashes.",
    "declared_language": "The language that the page declares.",
    "derived_from": "Keys of the documents that a synthetic one was made from.",
    "doc_id": "The document: 16 bytes, a hash of source, snapshot, address and payload.",
    "doc_token_offset": "First of these tokens within the document.",
    "domain": "The corpus domain of its source: web, code, books ...",
    "edits": "Every change of the extracted text, by place.",
    "failed_rules": "All rules that the document fails.",
    "fetched_at": "When it was fetched, ISO 8601 in UTC; empty when unknown.",
    "generator": "What wrote a synthetic document.",
    "host": "The host of its address.",
    "item_id": "The benchmark's item.",
    "kept": "Whether the document stays.",
    "kept_doc_id": "The member that is kept for the cluster.",
    "kind": "How it was tied: capture, url, exact or near.",
    "language": "The language that was identified.",
    "length": "How many tokens of the document are there.",
    "licence": "SPDX id, or unknown.",
    "matched": "N-grams of the item that the document holds.",
    "n_shingles": "Distinct shingles of the text.",
    "offset": "Byte offset of the record in its file, or its line or row.",
    "part": "The file of the snapshot, by number.",
    "places": "Where in the text the item is.",
    "published_at": "The date that the page declares.",
    "reason": "The first rule that it fails; empty when it is kept.",
    "row": "Its row in the part's documents.",
    "sample": "The sample of the shard.",
    "scrubbed": "Personal data that were replaced, by kind.",
    "similarity": "To the neighbour that tied it in; 1.0 for exact kinds.",
    "sketch": "224 bytes by which near copies are found; empty for a short text.",
    "snapshot": "The snapshot it came with.",
    "text": "The text of the document.",
    "text_id": "First half of the SHA-256 of the NFC text.",
    "tier": "The quality tier; empty when it is dropped.",
    "title": "The page's title.",
    "total": "N-grams of the item.",
    "url_key": "Its address in SURT form, or the record's key.",
}
"""What a column means, in every asset."""
COLUMNS_OF = {
    ("contamination", "kind"): "How the item was met: by its n-grams, near misses or meaning.",
    ("contamination", "similarity"): "Of the item and the passage, where they were compared.",
    ("shards", "offset"): "First of these tokens within the sample.",
}
"""The same, of columns that mean something else in one asset."""


@dg.asset(
    name=SOURCE_FILES,
    partitions_def=SNAPSHOTS,
    group_name=GROUPS["ingest"],
    kinds={"python", "json"},
    code_version=str(source_files.VERSION),
)
def source_files_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """The pinned list of a snapshot's files: names, sizes, digests."""
    with corpus.session() as session:
        pinned = pin_snapshot(session.pipeline, session.registry, context.partition_key)
    return dg.MaterializeResult(
        metadata=source_metadata(pinned),
        data_version=dg.DataVersion(pinned.content_hash),
    )


def stage_asset(asset: Asset, graph: Graph = STAGES) -> dg.AssetsDefinition:
    """Return the Dagster asset of a declared one: edges, columns and checks come from its stages."""
    schema = next((file.schema for file in asset.last.writes if file.schema is not None), None)

    @dg.asset(
        name=asset.name,
        description=asset.last.about,
        partitions_def=SNAPSHOTS if asset.is_by_snapshot else None,
        group_name=group_of(asset),
        kinds={"python", "parquet"},
        deps=[
            dg.AssetDep(edge.asset, partition_mapping=EVERY if edge.is_across else None)
            for edge in graph.edges(asset.name)
        ],
        code_version=str(asset.last.version),
        metadata=described_columns(asset.name, schema) if schema is not None else None,
        check_specs=check_specs(asset),
    )
    def run(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
        return materialize_stage(context, corpus, asset.name)

    return run


def described_columns(asset: str, schema: pa.Schema) -> dict[str, dg.TableSchema]:
    """Return an asset's columns as Dagster shows them."""
    listed = [
        dg.TableColumn(
            field.name,
            str(field.type),
            COLUMNS_OF.get((asset, field.name)) or COLUMNS.get(field.name),
        )
        for field in schema
    ]
    return {"dagster/column_schema": dg.TableSchema(columns=listed)}


def group_of(asset: Asset) -> str:
    """Return where the UI shows an asset."""
    if asset.is_calibration:
        return CALIBRATIONS
    rooms = [stage.run.__module__.split(".")[1] for stage in reversed(asset.stages)]
    room = next((room for room in rooms if room != "core"), rooms[0])  # what is derived is of core
    return GROUPS.get(room, room)


ASSETS = [
    source_files_asset,
    *(stage_asset(asset) for asset in STAGES.assets.values()),
    corpus_version_asset,
    heldout_set_asset,
    proxy_runs_asset,
    release_gate_asset,
]


def owned(assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """Return assets with the owners of CORPUS_OWNERS: addresses and `team:NAME`, with commas."""
    named = [name.strip() for name in os.environ.get("CORPUS_OWNERS", "").split(",")]
    owners = [name for name in named if name]
    if not owners:
        return list(assets)
    return list(dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=owners), assets))
