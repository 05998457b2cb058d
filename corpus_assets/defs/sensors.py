"""New snapshots of the recipe become partitions, and their runs start by themselves."""

import dagster as dg

from corpus_assets.defs.partitions import SNAPSHOTS
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.takedown import run_pending
from corpus_assets.home import Home
from corpus_assets.session import open_home
from corpus_assets.step import digest

ingest_job = dg.define_asset_job(
    "ingest_snapshot",
    selection=dg.AssetSelection.assets("source_files", "documents", "signatures"),
    description="Pin a snapshot's files and extract its documents.",
)


@dg.sensor(job=ingest_job, minimum_interval_seconds=60)
def new_snapshots(context: dg.SensorEvaluationContext, corpus: CorpusResource) -> dg.SensorResult:
    """Compare the recipe's snapshots with the partitions there are; ingest what is new."""
    with corpus.session() as session:
        wanted = session.pipeline.recipe.snapshots
        locations = {s: session.pipeline.recipe.source_of(s).snapshots[s] for s in wanted}
    known = set(context.instance.get_dynamic_partitions(SNAPSHOTS.name or ""))
    fresh = [snapshot for snapshot in wanted if snapshot not in known]
    if not fresh:
        return dg.SensorResult(skip_reason=dg.SkipReason("every snapshot of the recipe is known"))
    return dg.SensorResult(
        dynamic_partitions_requests=[SNAPSHOTS.build_add_request(fresh)],
        run_requests=[
            dg.RunRequest(
                partition_key=snapshot,
                run_key=f"ingest/{snapshot}/{digest(locations[snapshot])[:16]}",
            )
            for snapshot in fresh
        ],
    )


@dg.op
def carry_out_takedowns(context: dg.OpExecutionContext, corpus: CorpusResource) -> None:
    """Build every live version without what the pending requests name."""
    outcome = run_pending(Home.resolve(corpus.home or None), corpus.workers or 1)
    if outcome is None:
        context.log.info("no takedown is pending")
        return
    context.add_output_metadata(
        {
            "requests": list(outcome.requests),
            "documents_removed": outcome.documents,
            "versions": [change.after for change in outcome.changes],
            "bytes_deleted": outcome.freed_bytes,
        }
    )


@dg.job(executor_def=dg.in_process_executor)
def takedown_job() -> None:
    """Carry out the takedowns that are pending."""
    carry_out_takedowns()


@dg.sensor(job=takedown_job, minimum_interval_seconds=30)
def pending_takedowns(
    context: dg.SensorEvaluationContext, corpus: CorpusResource
) -> dg.SensorResult:
    """One run for all requests that are pending; a failed one is tried again as a new attempt."""
    _, registry = open_home(Home.resolve(corpus.home or None))
    waiting = [(row.id, row.attempts) for row in registry.pending_takedowns()]
    if not waiting:
        return dg.SensorResult(skip_reason=dg.SkipReason("no takedown is pending"))
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"takedown/{digest(waiting)}",
                tags={"corpus/takedowns": ",".join(str(number) for number, _ in waiting[:50])},
            )
        ]
    )
