"""Takedowns in Dagster: a sensor that sees what is pending, and the job that carries it out.

The sensor decides *when* to start a run, never *what* it does: a run takes everything that
waits, under a claim in the catalog, and of two runs one waits for the other. So a tick that is
repeated, or a daemon that dies between two of its steps, can start a run too many (which finds
nothing to do) but can neither carry out a request twice nor lose one.

    waiting set    (id, attempts) of all requests that no run works on
    run key        digest of the waiting set, and how often runs for this very set came to nothing
    cursor         the last run asked for: its key, its waiting set, when, how often

Requests are gathered for the recipe's `takedowns.window_minutes`. One that failed is tried again
after a minute, then two, four, up to an hour.
"""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial

import dagster as dg

from catalog.db import Registry, TakedownRow
from catalog.errors import OrdersChanged
from catalog.takedown import Rematched
from corpus_assets.build import Record, Step
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.core.store import Store
from corpus_assets.defs.build import InStep, Underway, chained, run_step, step_ops
from corpus_assets.defs.links import certificate_links
from corpus_assets.defs.resources import RESOURCES, CorpusResource, takedown_tags
from corpus_assets.recipe import TakedownSettings
from corpus_assets.session import open_home
from corpus_assets.takedown import (
    CERTIFICATES,
    MORE_CAME_IN,
    Takedowns,
    open_takedowns,
    release_dead_claims,
)
from corpus_assets.versions import load_published_recipe

RUN_KEY_TAG = "dagster/run_key"
MAX_BATCH = 1000  # requests: that many do not wait for the window
MAX_PAUSE_MINUTES = 60.0
NAMES_IN_TAG = 10


def _open_takedowns(
    underway: Underway, context: dg.OpExecutionContext, corpus: CorpusResource
) -> Sequence[Step]:
    """Claim what waits and open all live versions, for a run that no command started."""

    def tag(requests: Sequence[int], found: Rematched) -> None:
        tags = takedown_tags(requests) | {
            "corpus/versions": _named(found.versions),
            "corpus/snapshots": _named(found.snapshots),
        }
        context.instance.add_run_tags(context.run_id, {k: v for k, v in tags.items() if v})

    home = Home.resolve(corpus.home or None)
    engine = corpus.chosen_engine(local_workers=1)
    opened = open_takedowns(home, engine, underway.tell, tag)
    work = underway.opened = underway.until_end.enter_context(opened)
    steps = work.begin()
    if not steps:
        context.log.info("no takedown is pending")

    def again(step: Step, record: Record) -> None:
        """Do a step; where takedowns came in meanwhile, it does all that is left."""
        try:
            step.run(record)
        except OrdersChanged:
            underway.left.clear()
            underway.tell(MORE_CAME_IN)
            work.run(InStep(underway.context or context))

    return [replace(step, run=partial(again, step)) for step in steps]


@dg.op(ins={"after": dg.In(dg.Nothing)}, out=dg.Out(dg.Nothing))
def carry_out_takedowns(context: dg.OpExecutionContext, corpus: CorpusResource) -> None:
    """Delete what no live version uses any more, search for the removed texts, and certify."""
    work = run_step(context, corpus, CERTIFICATES, _open_takedowns).opened
    if not isinstance(work, Takedowns) or work.outcome is None:
        return  # a command tells itself what it did, and there may have been nothing to do
    outcome, residue = work.outcome, work.outcome.residue
    context.add_output_metadata(
        {
            "requests": list(outcome.requests),
            "removed_documents": outcome.documents,
            "versions": [change.after for change in outcome.changes],
            "snapshots": list(outcome.snapshots),
            "shards_rewritten": sum(len(change.shards) for change in outcome.changes),
            "shards_shared": sum(change.shared_shards for change in outcome.changes),
            "exact_copies_left": residue.exact if residue is not None else 0,
            "bytes_deleted": outcome.freed_bytes,
            "files_not_deleted": len(outcome.deletion.left),
            "still_open": sorted(outcome.still_open),
            "certificates": certificate_links(outcome.requests),
        }
    )
    if outcome.still_open:
        raise dg.Failure(next(iter(outcome.still_open.values())), allow_retries=False)


@dg.job(executor_def=dg.in_process_executor, resource_defs=RESOURCES)
def takedown_job() -> None:
    """Carry out the takedowns that are pending: build every live version without what they name."""
    chained(step_ops("rebuild", _open_takedowns) | {CERTIFICATES: carry_out_takedowns})


@dataclass(frozen=True)
class LastRun:
    """What the cursor remembers of the run that was asked for last."""

    run_key: str
    waiting: str
    tries: int
    asked_at: float

    @classmethod
    def from_cursor(cls, cursor: str | None) -> "LastRun | None":
        return cls(**json.loads(cursor)) if cursor else None

    def to_cursor(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dg.sensor(
    job=takedown_job,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Runs pending takedowns after the recipe's `takedowns.window_minutes`.",
)
def pending_takedowns(
    context: dg.SensorEvaluationContext, corpus: CorpusResource
) -> dg.SensorResult:
    """Start a run when the oldest request has waited for the window, or a pause is over."""
    store, registry = open_home(Home.resolve(corpus.home or None))
    try:
        settings = corpus.book().recipe.takedowns
    except CorpusError as error:
        settings = published_settings(store, registry)
        context.log.warning(f"the recipe cannot be read, using the published one: {error}")
    return decide(context, registry, settings, datetime.now(UTC))


def published_settings(store: Store, registry: Registry) -> TakedownSettings:
    """When takedowns are carried out, by the newest live version that can be read; else at once."""
    for version in reversed(registry.versions()):
        if version.status == "live":
            with contextlib.suppress(*KNOWN_ERRORS, ValueError):
                return load_published_recipe(store, version.recipe_digest)[0].takedowns
    return TakedownSettings()


def decide(
    context: dg.SensorEvaluationContext,
    registry: Registry,
    settings: TakedownSettings,
    now: datetime,
) -> dg.SensorResult:
    """Return a run for all that waits, or why there is none yet."""
    release_dead_claims(registry)
    rows = registry.free_takedowns()
    last = LastRun.from_cursor(context.cursor)
    if not rows:
        running = [row.id for row in registry.takedowns("running", 1)]
        return _skip("takedowns are running" if running else "no takedown is pending")
    if last is not None and _is_on_its_way(context.instance, last.run_key):
        return _skip("a takedown run is already queued")
    waiting = digest([[row.id, row.attempts] for row in rows])
    tries = 0
    if last is not None and last.waiting == waiting:  # that run ended and changed nothing
        tries = last.tries + 1
        left = last.asked_at / 60 + pause_minutes(tries) - now.timestamp() / 60
        if left > 0:
            return _skip(f"the last run did not begin; the next one starts in {left:.0f} minutes")
    left = wait_minutes(rows, settings, now)
    if left > 0:
        return _skip(f"{len(rows)} takedowns are pending; a run starts in {left:.0f} minutes")
    run_key = f"takedown/{waiting}/{tries}"
    asked = LastRun(run_key, waiting, tries, now.timestamp())
    request = dg.RunRequest(run_key=run_key, tags=takedown_tags([row.id for row in rows]))
    return dg.SensorResult(run_requests=[request], cursor=asked.to_cursor())


def wait_minutes(rows: Sequence[TakedownRow], settings: TakedownSettings, now: datetime) -> float:
    """How long until a run is due: none before the window or the pause of any request is over."""
    if len(rows) >= MAX_BATCH:
        return 0.0
    waits = []
    for row in rows:
        if row.attempts:
            waits.append(pause_minutes(row.attempts) - _minutes(row.updated_at, now))
        else:
            waits.append(settings.window_minutes - _minutes(row.created_at, now))
    return max(0.0, min(waits))


def pause_minutes(attempts: int) -> float:
    """1, 2, 4 ... minutes after the first, second, third failure; an hour at most."""
    return float(min(2.0 ** min(attempts - 1, 10), MAX_PAUSE_MINUTES))


def _minutes(moment: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(moment)).total_seconds() / 60


def _is_on_its_way(instance: dg.DagsterInstance, run_key: str) -> bool:
    runs = instance.get_runs(dg.RunsFilter(tags={RUN_KEY_TAG: run_key}), limit=5)
    return any(not run.is_finished for run in runs)


def _skip(why: str) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=dg.SkipReason(why))


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMES_IN_TAG
    return ",".join(names[:NAMES_IN_TAG]) + (f" and {more} more" if more > 0 else "")
