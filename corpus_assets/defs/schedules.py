"""New crawls are looked for once a week, where the recipe asks for it (`crawl.follow: new`), and when
it says (`crawl_check`). The schedule itself ticks every hour and asks the recipe.

What is found is written down as a snapshot of the recipe, in the store; the sensor
`new_snapshots` sees it there, adds its partition and starts its run. Looking twice finds the
same: a crawl that is written down is not new.
"""

import dagster as dg

from corpus_assets.defs.resources import CorpusResource
from corpus_assets.inspect.snapshots import follow

PASSED_OVER = "passed_over"


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
    description="Looks for new crawls once a week, on the day and from the hour of the recipe's "
    "`crawl_check`, if a source says `crawl.follow: new`.",
)
def weekly_crawl_check(
    context: dg.ScheduleEvaluationContext, corpus: CorpusResource
) -> dg.RunRequest | dg.SkipReason:
    """Ask for one run a week, whoever ticks; one that was missed is made up for in that week."""
    recipe, now = corpus.book().recipe, context.scheduled_execution_time
    sources = recipe.sources
    if not any(source.crawl is not None and source.crawl.follow == "new" for source in sources):
        return dg.SkipReason("no source of the recipe says `crawl.follow: new`")
    due = recipe.crawl_check
    if not due.is_due(now):
        return dg.SkipReason(f"due on {due.weekday} from {due.hour}:00 UTC on")
    year, week, _ = now.isocalendar()
    return dg.RunRequest(run_key=f"crawls/{year}-{week:02d}")
