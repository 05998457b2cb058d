"""Versions in Dagster: the job that builds one, and a sensor that starts it once all snapshots of
the recipe are ingested."""

import dagster as dg
from pydantic import Field

from corpus_assets.build import build
from corpus_assets.core.progress import Silent
from corpus_assets.defs.build import DagsterRuns
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.sensors import INGESTED


class BuildConfig(dg.Config):
    """What the version is called."""

    version: str = Field(
        default="",
        description="Name of the version. Empty: the recipe's name with a digest of what it holds.",
    )


class _Logged(Silent):
    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._log = context.log

    def told(self, line: str) -> None:
        self._log.info(line)


@dg.op
def build_corpus(
    context: dg.OpExecutionContext, config: BuildConfig, corpus: CorpusResource
) -> None:
    """Build a version of the recipe, as `corpus build` does; what is there is not computed again."""
    with corpus.session(_Logged(context)) as session:
        made = build(session, config.version or None, DagsterRuns())
    context.add_output_metadata({"version": made.name, "lock_digest": made.lock.digest})


@dg.job(executor_def=dg.in_process_executor)
def build_version() -> None:
    """Build and publish a version of the recipe: all assets, in the right order."""
    build_corpus()


@dg.sensor(job=build_version, minimum_interval_seconds=30)
def ingested_snapshots(
    context: dg.SensorEvaluationContext, corpus: CorpusResource
) -> dg.SensorResult:
    """Build the recipe as it is now, once, when every snapshot that it names is ingested."""
    recipe = corpus.book().recipe
    for asset in INGESTED:
        ingested = context.instance.get_materialized_partitions(dg.AssetKey(asset))
        waiting = [name for name in recipe.snapshots if name not in ingested]
        if waiting:
            why = f"{asset} of {waiting[0]} is not there yet"
            return dg.SensorResult(skip_reason=dg.SkipReason(why))
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=f"build/{recipe.digest}")])
