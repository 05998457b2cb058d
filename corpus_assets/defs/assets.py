"""All assets of the graph: one for each declared asset, the source files before them, the version
after them."""

import os
from collections.abc import Sequence

import dagster as dg

from catalog.formats.tables import Table
from corpus_assets.build import SOURCE_FILES
from corpus_assets.core.stage import Asset, Graph
from corpus_assets.defs.evidence_assets import heldout_set_asset, proxy_runs_asset
from corpus_assets.defs.materialize import check_specs, materialize_stage
from corpus_assets.defs.partitions import EVERY, SNAPSHOTS
from corpus_assets.defs.record import source_metadata
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.version_assets import corpus_version_asset, release_gate_asset
from corpus_assets.graph import pin_snapshot
from corpus_assets.ingest import LISTING_VERSION
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


@dg.asset(
    name=SOURCE_FILES,
    partitions_def=SNAPSHOTS,
    group_name=GROUPS["ingest"],
    kinds={"python", "json"},
    code_version=str(LISTING_VERSION),
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
    table = next((file.table for file in asset.last.writes if file.table is not None), None)

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
        metadata=described_columns(table) if table is not None else None,
        check_specs=check_specs(asset),
    )
    def run(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
        return materialize_stage(context, corpus, asset.name)

    return run


def described_columns(table: Table) -> dict[str, dg.TableSchema]:
    """Return a table's columns as Dagster shows them."""
    listed = [
        dg.TableColumn(column.name, str(column.type), column.meaning) for column in table.columns
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


def with_owner(assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """Return assets with the owners of CORPUS_OWNERS: addresses and `team:NAME`, with commas."""
    named = [name.strip() for name in os.environ.get("CORPUS_OWNERS", "").split(",")]
    owners = [name for name in named if name]
    if not owners:
        return list(assets)
    return list(dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=owners), assets))
