"""New snapshots of the recipe become partitions, and their runs start by themselves."""

import dagster as dg

from corpus_assets.core.identity import digest
from corpus_assets.defs.partitions import SNAPSHOTS
from corpus_assets.defs.resources import CorpusResource

INGESTED = ("source_files", "documents", "signatures")

ingest_job = dg.define_asset_job(
    "ingest_snapshot",
    selection=dg.AssetSelection.assets(*INGESTED),
    description="Pin a snapshot's files and extract its documents.",
)


@dg.sensor(
    job=ingest_job,
    minimum_interval_seconds=60,
    description="Adds a partition for every new snapshot of the recipe, and ingests it.",
)
def new_snapshots(context: dg.SensorEvaluationContext, corpus: CorpusResource) -> dg.SensorResult:
    """Compare the recipe's snapshots with the partitions there are; ingest what is new.

    The cursor is the list of snapshots that was seen last. A tick that is repeated asks for the
    same run keys, and Dagster starts each once.
    """
    book = corpus.book()
    recipe = book.recipe
    places = {each.snapshot: each.position for each in book.added}
    wanted = recipe.snapshots
    locations = {name: recipe.source_of(name).snapshots[name] for name in wanted}
    seen = digest(list(wanted))
    known = set(context.instance.get_dynamic_partitions(SNAPSHOTS.name or ""))
    fresh = [snapshot for snapshot in wanted if snapshot not in known]
    if not fresh:
        return dg.SensorResult(
            skip_reason=dg.SkipReason("every snapshot of the recipe is known"), cursor=seen
        )
    return dg.SensorResult(
        dynamic_partitions_requests=[SNAPSHOTS.build_add_request(fresh)],
        run_requests=[
            dg.RunRequest(
                partition_key=snapshot,
                # One that was removed and added again has another place: it is run again.
                run_key=f"ingest/{snapshot}/"
                + digest([locations[snapshot], places.get(snapshot)])[:16],
            )
            for snapshot in fresh
        ],
        cursor=seen,
    )
