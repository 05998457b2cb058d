"""A sensor that builds a version once all snapshots of the recipe are ingested."""

import dagster as dg

from corpus_assets.defs.build import build_version
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.sensors import INGESTED


@dg.sensor(
    job=build_version,
    minimum_interval_seconds=30,
    description="Builds the recipe as it is now, once, when every snapshot it names is ingested.",
)
def ingested_snapshots(
    context: dg.SensorEvaluationContext, corpus: CorpusResource
) -> dg.SensorResult:
    """Build the recipe as it is now, once, when every snapshot that it names is ingested."""
    recipe = corpus.book().recipe
    if not recipe.snapshots:
        return dg.SensorResult(skip_reason=dg.SkipReason("the recipe has no snapshot yet"))
    for asset in INGESTED:
        ingested = context.instance.get_materialized_partitions(dg.AssetKey(asset))
        waiting = [name for name in recipe.snapshots if name not in ingested]
        if waiting:
            why = f"{asset} of {waiting[0]} is not there yet"
            return dg.SensorResult(skip_reason=dg.SkipReason(why))
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=f"build/{recipe.digest}")])
