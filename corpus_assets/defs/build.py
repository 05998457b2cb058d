"""A build as a run of Dagster's with a step for each asset: the steps of a job drive those of
`corpus_assets.build`.

The session, its workers and its lease are opened once for a run and closed with it (ADR 55). A step
does all that is to be done up to its asset. In a run from the beginning that is its asset. In one
that goes on after a failure, it finds in the store what earlier steps left, or rebuilds it where the
recipe has changed since.
"""

import contextlib
import fcntl
import os
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import DagsterInstance
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.definitions.repository_definition import SINGLETON_REPOSITORY_NAME
from dagster._core.execution.api import execute_run
from dagster._core.remote_origin import (
    InProcessCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from pydantic import Field

from catalog.db import is_gone, process_name
from catalog.formats.private_files import private
from catalog.stopping import expect_no_stop
from corpus_assets.build import CORPUS_VERSION, SOURCE_FILES, STEPS, Build, InProcess, Step
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.progress import Silent
from corpus_assets.defs.folder import prepared_folder
from corpus_assets.defs.progress import Observed, failure_of
from corpus_assets.defs.record import RunRecord
from corpus_assets.defs.resources import RECIPE_TAG, RESOURCES, CorpusResource, takedown_tags
from corpus_assets.graph import StageIncomplete
from corpus_assets.session import Session, build_lease
from corpus_assets.stages import STAGES

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
BUILD_TAG = "corpus/build"
HERE = RemoteRepositoryOrigin(
    InProcessCodeLocationOrigin(
        LoadableTargetOrigin(module_name="corpus_assets.definitions"), location_name="corpus_assets"
    ),
    SINGLETON_REPOSITORY_NAME,
)
"""The code location as workspaces name it: by it the UI knows what to execute again."""
ABOUT = {
    SOURCE_FILES: "Pin the files of every snapshot.",
    CORPUS_VERSION: "Publish the version.",
} | {asset.name: asset.last.about for asset in STAGES.assets.values()}


class BuildConfig(dg.Config):
    """What the version is called, and what it extends."""

    version: str = Field(
        default="",
        description="Name of the version. Empty: the recipe's name and a digest, or the date.",
    )
    extends: str = Field(
        default="",
        description="Version to which only snapshots are added. Empty: none.",
    )


class Underway:
    """What the steps of a run drive, in this process: the steps of builds that are left to do."""

    def __init__(self, context: dg.OpExecutionContext | None, steps: Sequence[Step] = ()) -> None:
        self.context = context  # of the step that is under way
        self.left = deque(steps)
        self.until_end = contextlib.ExitStack()
        self.opened: object = None  # whatever was opened for the run, for its last step
        self.failed: BaseException | None = None
        self._records: dict[int, RunRecord] = {}

    def tell(self, line: str) -> None:
        if self.context is not None:
            self.context.log.info(line)

    def advance(self, context: dg.OpExecutionContext, name: str = "") -> None:
        """Do what is left up to a step, or all of it, recorded as part of the step that is under
        way."""
        self.context = context
        while any(name in ("", step.name) for step in self.left):
            self._do(context, self.left.popleft())

    def _do(self, context: dg.OpExecutionContext, step: Step) -> None:
        session = step.session
        if session is None:
            step.run(InProcess())
            return
        if id(session) not in self._records:
            self._records[id(session)] = RunRecord(context, session)
        record = self._records[id(session)]
        record.context = context
        progress = session.progress
        session.progress = Observed(progress, context)
        try:
            step.run(record)
        finally:
            session.progress = progress


_UNDERWAY: dict[str, Underway] = {}  # by run

Opening = Callable[[Underway, dg.OpExecutionContext, CorpusResource], Sequence[Step]]


def run_step(
    context: dg.OpExecutionContext, corpus: CorpusResource, name: str, opening: Opening
) -> Underway:
    """Do a step of a run; the first one of a process opens what all of them need, unless a command
    has done so."""
    found = _UNDERWAY.get(context.run_id)
    underway = found or Underway(context)
    try:
        if found is None:
            _UNDERWAY[context.run_id] = underway
            corpus.at_end(lambda: _UNDERWAY.pop(context.run_id, None))
            corpus.at_end(underway.until_end.close)
            underway.left.extend(opening(underway, context, corpus))
        underway.advance(context, name)
    except BaseException as error:
        underway.failed = error
        underway.until_end.__exit__(type(error), error, error.__traceback__)
        if isinstance(error, StageIncomplete):
            raise failure_of(error) from error
        raise
    return underway


def chained(ops: Mapping[str, dg.OpDefinition]) -> None:
    """Let each op of a job wait for the one before it: they share a session, and what fails ends the
    run."""
    done = None
    for name, op in ops.items():
        step = op.alias(name)
        done = step() if done is None else step(done)


def step_ops(prefix: str, opening: Opening) -> dict[str, dg.OpDefinition]:
    """Return an op for each asset of a build. Op names are unique in a code location, and each asset
    has one of its own."""

    def op_of(asset: str) -> dg.OpDefinition:
        @dg.op(
            name=f"{prefix}_{asset}",
            description=ABOUT[asset],
            ins={} if asset == SOURCE_FILES else {"after": dg.In(dg.Nothing)},
            out=dg.Out(dg.Nothing),
        )
        def run(context: dg.OpExecutionContext, corpus: CorpusResource) -> None:
            run_step(context, corpus, asset, opening)

        return run

    return {asset: op_of(asset) for asset in STEPS}


def _open_build(
    underway: Underway, context: dg.OpExecutionContext, corpus: CorpusResource
) -> Sequence[Step]:
    """Open the recipe for a run that was started in the UI."""
    asked: Any = context.run_config
    config = asked.get("ops", {}).get(CORPUS_VERSION, {}).get("config", {})
    version, extends = config.get("version"), config.get("extends")
    enter = underway.until_end.enter_context
    session = enter(corpus.session(Observed(Silent(), context), extends or None))
    context.instance.add_run_tags(context.run_id, {RECIPE_TAG: session.pipeline.recipe.name})
    enter(build_lease(session))
    session.progress = Silent()  # each step tells its own log
    return Build(session, version or None, release=False).steps()


@dg.op(description=ABOUT[CORPUS_VERSION], ins={"after": dg.In(dg.Nothing)}, out=dg.Out(dg.Nothing))
def publish_version(
    context: dg.OpExecutionContext, config: BuildConfig, corpus: CorpusResource
) -> None:
    run_step(context, corpus, CORPUS_VERSION, _open_build)


@dg.job(executor_def=dg.in_process_executor, resource_defs=RESOURCES)
def build_version() -> None:
    """Build and publish a candidate of the recipe: all assets, in the right order. The asset
    `release_gate`, or `catalog release`, lets it go."""
    chained(step_ops("build", _open_build) | {CORPUS_VERSION: publish_version})


class InStep:
    """Does steps of builds within a step of a run that is under way."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context

    def knows(self, session: Session, version: object) -> bool:
        return False

    def run(self, steps: Sequence[Step], version: str = "") -> None:
        Underway(self._context, steps).advance(self._context)

    def built(self, session: Session, version: object) -> None:
        return


def in_run_of(job: dg.JobDefinition, config: Mapping[str, Any], steps: Sequence[Step]) -> None:
    """Do the steps of builds in a new run of a job; an error of theirs comes out as itself."""
    sessions = [step.session for step in steps if step.session is not None]
    recipes = dict.fromkeys(session.pipeline.recipe.name for session in sessions)
    run_id = str(uuid.uuid4())
    tags = {BUILD_TAG: f"{process_name()} {run_id}", RECIPE_TAG: ",".join(recipes)}
    tags |= takedown_tags(sessions[0].requests) if sessions[0].requests else {}
    underway = _UNDERWAY[run_id] = Underway(None, steps)
    with open_instance(sessions[0]) as instance:
        try:
            run = instance.create_run_for_job(
                job,
                run_id=run_id,
                run_config=QUIET | dict(config),
                tags=tags,
                remote_job_origin=RemoteJobOrigin(HERE, job.name),
            )
            done = execute_run(InMemoryJob(job), run, instance)
        finally:
            del _UNDERWAY[run_id]
    if done.success:
        return
    expect_no_stop()  # which Dagster takes for a failure of the run
    if isinstance(underway.failed, dg.DagsterExecutionInterruptedError):
        raise KeyboardInterrupt  # it is no Exception, and would pass by every handler
    if underway.failed is not None:
        raise underway.failed
    raise CorpusError(f"Dagster could not run the build: see its run {run_id}")


def open_instance(session: Session) -> DagsterInstance:
    """Dagster's own records, in the home."""
    folder = prepared_folder(session.home)
    os.environ["DAGSTER_HOME"] = str(folder)  # which dagster.yaml asks for
    # Of two who make its tables at once, both would say that they did.
    with open(folder / "first.lock", "w", opener=private) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        instance = DagsterInstance.from_config(str(folder))
    _close_dead_runs(instance)
    return instance


def _close_dead_runs(instance: DagsterInstance) -> None:
    """Runs of builds that were killed are marked failed, so the UI does not show them running."""
    running = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    for run in instance.get_runs(dg.RunsFilter(statuses=running)):
        builder, _, of_run = run.tags.get(BUILD_TAG, "").rpartition(" ")
        if of_run == run.run_id and is_gone(builder):  # one that is executed again has its tags
            instance.report_run_failed(run, "the build was stopped before this run ended")
