"""Runs that start by themselves, one after another: a schedule looks for new crawls, new snapshots of
the recipe become partitions and are ingested, and a version is built once all of them are.

New crawls are looked for once a week, where the recipe asks for it (`crawl.follow_after`). The
schedule ticks every hour, so that a tick that was missed on Monday is made up for within the week.
What is found is written down as a snapshot of the recipe, in the store; the sensor `new_snapshots`
sees it there, adds its partition and starts its run. Looking twice finds the same: a crawl that is
written down is not new.
"""

import dagster as dg

from corpus_assets.build import CORPUS_VERSION
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.defs.build import build_version
from corpus_assets.defs.partitions import SNAPSHOTS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.inspect import follow
from corpus_assets.session import open_home
from corpus_assets.versions import extendable

PASSED_OVER = "passed_over"
INGESTED = ("source_files", "documents", "signatures")


@dg.op
def look_for_new_crawls(context: dg.OpExecutionContext, corpus: CorpusResource) -> None:
    """Add the crawls that have appeared to each source that follows them."""
    passed_over: list[str] = []
    added = follow(corpus.book(), passed_over.append)
    for line in passed_over:
        context.log.warning(line)
    context.log.info(f"{len(added)} new crawls")
    names = [each.snapshot for each in added]
    context.add_output_metadata({"crawls": names, PASSED_OVER: passed_over})


@dg.job(executor_def=dg.in_process_executor)
def crawl_list_job() -> None:
    """Compare the list of crawls with the recipe's snapshots."""
    look_for_new_crawls()


@dg.schedule(
    job=crawl_list_job,
    cron_schedule="17 * * * *",
    description="Looks for new crawls once a week, from Monday on, if a source of the recipe has "
    "`crawl.follow_after`.",
)
def weekly_crawl_check(
    context: dg.ScheduleEvaluationContext, corpus: CorpusResource
) -> dg.RunRequest | dg.SkipReason:
    """Ask for one run a week, whoever ticks; one that was missed is made up for in that week."""
    sources = corpus.book().recipe.sources
    if not any(source.crawl is not None and source.crawl.follow_after for source in sources):
        return dg.SkipReason("no source of the recipe has `crawl.follow_after`")
    year, week, _ = context.scheduled_execution_time.isocalendar()
    return dg.RunRequest(run_key=f"crawls/{year}-{week:02d}")


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
        return dg.SensorResult(skip_reason=dg.SkipReason("no new snapshot"), cursor=seen)
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


@dg.sensor(
    job=build_version,
    minimum_interval_seconds=30,
    description="Builds the recipe once when all of its snapshots are ingested; extends its newest "
    "release where only snapshots or the mixture changed.",
)
def ingested_snapshots(
    context: dg.SensorEvaluationContext, corpus: CorpusResource
) -> dg.SensorResult:
    """Build the recipe as it is now, once, when every snapshot that it names is ingested. Where its
    newest release keeps its snapshots as they are, the version extends that."""
    recipe = corpus.book().recipe
    if not recipe.snapshots:
        return dg.SensorResult(skip_reason=dg.SkipReason("the recipe has no snapshot yet"))
    for asset in INGESTED:
        ingested = context.instance.get_materialized_partitions(dg.AssetKey(asset))
        waiting = [name for name in recipe.snapshots if name not in ingested]
        if waiting:
            why = f"{asset} of {waiting[0]} is not ingested yet"
            return dg.SensorResult(skip_reason=dg.SkipReason(why))
    extends = extendable(*open_home(Home.resolve(corpus.home or None)), recipe)
    config = {"ops": {CORPUS_VERSION: {"config": {"extends": extends}}}} if extends else {}
    request = dg.RunRequest(run_key=f"build/{recipe.digest}", run_config=config)
    return dg.SensorResult(run_requests=[request])
