"""A build as one run of Dagster's: each asset's materialization and checks are events of the run as
soon as the asset is done.

A step for every asset and snapshot would cost more than the work on a small corpus (ADR 0042).
What is complete in the store and already known to Dagster with the same data version is passed over.
"""

import fcntl
import os
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
from dagster import DagsterInstance
from pydantic import Field

from catalog.db.leases import is_gone, process_name
from catalog.formats.store import private
from corpus_assets.build import Work, build
from corpus_assets.core.progress import Silent
from corpus_assets.defs.folder import prepared_folder
from corpus_assets.defs.materialize import (
    ChecksFailed,
    blocking,
    check_evaluation,
    cluster_metadata,
    outcomes_of,
    stage_metadata,
)
from corpus_assets.defs.partitions import SNAPSHOTS, VERSIONS
from corpus_assets.defs.progress import Observed, failure_of
from corpus_assets.defs.resources import (
    RECIPE_TAG,
    VERSION_TAG,
    CorpusResource,
    takedown_tags,
)
from corpus_assets.defs.version_assets import CORPUS_VERSION, gate_events, recorded_version
from corpus_assets.graph.checks import CheckOutcome
from corpus_assets.graph.run import AssetReport, StageIncomplete
from corpus_assets.ingest.snapshots import SnapshotFiles
from corpus_assets.session import Session
from corpus_assets.versions.version import Version

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
BUILD_TAG = "corpus/build"
DATA_VERSION = "dagster/data_version"
SOURCE_FILES = "source_files"


class BuildConfig(dg.Config):
    """What the version is called."""

    version: str = Field(
        default="",
        description="Name of the version. Empty: the recipe's name with a digest of what it holds.",
    )


class _Logged(Silent):
    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._log = context.log

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        where = f"{asset} of {snapshot}" if snapshot else asset
        self._log.info(f"{where}: {ran} parts run, {cached} found")

    def told(self, line: str) -> None:
        self._log.info(line)


@dg.op
def build_corpus(
    context: dg.OpExecutionContext, config: BuildConfig, corpus: CorpusResource
) -> None:
    """Build a version of the recipe, as `corpus build` does; what is there is not computed again."""
    if is_done_by_command(context):
        return
    with corpus.session(_Logged(context)) as session:
        made = build(session, config.version or None, InStep(context), release=False)
    context.add_output_metadata({"version": made.name, "lock_digest": made.lock.digest})


@dg.job(executor_def=dg.in_process_executor)
def build_version() -> None:
    """Build and publish a candidate of the recipe: all assets, in the right order. The asset
    `release_gate`, or `catalog release`, lets it go."""
    build_corpus()


_GIVEN: list[Callable[[dg.OpExecutionContext], None]] = []


def is_done_by_command(context: dg.OpExecutionContext) -> bool:
    """Let the command that started this run do its work in it, where there is one."""
    if not _GIVEN:
        return False
    _GIVEN.pop()(context)
    return True


class InStep:
    """Records builds in the step that is under way."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context

    def knows(self, session: Session, version: Version) -> bool:
        return last_data_version(self._context.instance, CORPUS_VERSION, version.name) is not None

    def within(self, session: Session, name: str, work: Work) -> Version | None:
        told = session.progress
        session.progress = Observed(told, self._context)
        try:
            return work(RunRecord(self._context, session))
        except StageIncomplete as error:
            raise failure_of(error) from error
        finally:
            session.progress = told


def in_run_of(
    job: dg.JobDefinition, config: Mapping[str, Any], session: Session, work: Work
) -> Version | None:
    """Do the work of a build in a new run of a job; an error of the work comes out as itself."""
    done: list[Version | None] = []
    failed: list[BaseException] = []

    def given(context: dg.OpExecutionContext) -> None:
        try:
            done.append(InStep(context).within(session, "", work))
        except BaseException as error:
            is_ours = isinstance(error, dg.Failure) and error.__cause__ is not None
            failed.append(error.__cause__ if is_ours and error.__cause__ else error)
            raise

    tags = {BUILD_TAG: process_name(), RECIPE_TAG: session.pipeline.recipe.name}
    tags |= takedown_tags(session.requests) if session.requests else {}
    _GIVEN.append(given)
    with open_instance(session) as instance:
        try:
            job.execute_in_process(
                QUIET | dict(config),
                instance=instance,
                tags=tags,
                resources={"corpus": CorpusResource()},
            )
        except dg.DagsterExecutionInterruptedError:  # no Exception: it would pass by every handler
            raise KeyboardInterrupt from None
        except Exception:
            if not failed:
                raise
            raise failed[0] from None
        finally:
            _GIVEN.clear()
    return done[0]


class RunRecord:
    """Records a build as events of the step that runs it."""

    def __init__(self, context: dg.OpExecutionContext, session: Session) -> None:
        self._context, self._session = context, session
        self._instance = context.instance
        snapshots = list(session.pipeline.recipe.snapshots)
        self._instance.add_dynamic_partitions(SNAPSHOTS.name or "", snapshots)
        names = [SOURCE_FILES, *session.pipeline.graph.assets]
        records = self._instance.get_asset_records([dg.AssetKey(name) for name in names])
        entries = [record.asset_entry for record in records]
        self._known = {e.asset_key.to_user_string() for e in entries if e.last_materialization}
        for snapshot in snapshots:
            files = session.pipeline.snapshot_files(snapshot)
            if self.last(SOURCE_FILES, snapshot) != files.content_hash:
                metadata = source_metadata(files)
                self._materialized(SOURCE_FILES, snapshot, metadata, files.content_hash)

    def last(self, asset: str, snapshot: str | None) -> str | None:
        if asset not in self._known:
            return None
        return last_data_version(self._instance, asset, snapshot)

    def ran(self, report: AssetReport) -> None:
        outcomes = outcomes_of(self._session, report)
        metadata = stage_metadata(report, outcomes) | cluster_metadata(self._session, report)
        self._materialized(report.asset, report.snapshot, metadata, report.content_hash)
        for one in outcomes:
            self._checked(report.asset, report.snapshot, one)
        blocked = blocking(outcomes)
        if blocked:
            where = f"{report.asset} of {report.snapshot}" if report.snapshot else report.asset
            raise ChecksFailed(
                "; ".join(f"{where}: {one.name}: {one.message}" for one in blocked)
                + "; nothing downstream was run and no version published: look into it, or raise "
                "the bound in the recipe, then run the same command again"
            )

    def published(self, version: Version) -> None:
        self._instance.add_dynamic_partitions(VERSIONS.name or "", [version.name])
        self._instance.add_run_tags(self._context.run_id, {VERSION_TAG: version.name})
        metadata, content, outcome = recorded_version(self._session, version)
        self._materialized(CORPUS_VERSION, version.name, metadata, content)
        self._checked(CORPUS_VERSION, version.name, outcome)
        known = set(self._instance.get_dynamic_partitions(VERSIONS.name or ""))
        for old in self._session.replaces:
            if old in known:
                self._context.log_event(_revoked(old, version.name))

    def gated(self, version: Version, told: str) -> None:
        for event in gate_events(self._session.registry, version.name, told):
            self._context.log_event(event)  # type: ignore[arg-type]  # it takes checks too

    def _checked(self, asset: str, partition: str | None, outcome: CheckOutcome) -> None:
        evaluation = check_evaluation(asset, partition, outcome)
        self._context.log_event(evaluation)  # type: ignore[arg-type]  # it takes checks too

    def _materialized(
        self, asset: str, partition: str | None, metadata: Mapping[str, Any], content: str
    ) -> None:
        self._context.log_event(
            dg.AssetMaterialization(
                asset, partition=partition, metadata=metadata, tags={DATA_VERSION: content}
            )
        )


def source_metadata(files: SnapshotFiles) -> dict[str, int | str]:
    """Return what the UI shows of a snapshot's pinned files."""
    size = sum(file.size for file in files.files)
    return {"files": len(files.files), "bytes": size, "location": files.location}


def _revoked(version: str, replaced_by: str) -> dg.AssetObservation:
    """Return what the UI shows on a version that takedowns revoked."""
    said = f"**Revoked.** {replaced_by} took its place: train on that one."
    return dg.AssetObservation(
        CORPUS_VERSION,
        partition=version,
        description=f"revoked, replaced by {replaced_by}",
        metadata={"revoked": dg.MetadataValue.md(said), "replaced_by": replaced_by},
    )


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


def last_data_version(instance: DagsterInstance, asset: str, partition: str | None) -> str | None:
    """Return the data version of an asset's last materialization."""
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(
            dg.AssetKey(asset), asset_partitions=[partition] if partition else None
        ),
        limit=1,
    ).records
    materialization = records[0].asset_materialization if records else None
    return (materialization.tags or {}).get(DATA_VERSION) if materialization else None


def _close_dead_runs(instance: DagsterInstance) -> None:
    """Runs of builds that were killed are marked failed, so the UI does not show them running."""
    running = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    for run in instance.get_runs(dg.RunsFilter(statuses=running)):
        if is_gone(run.tags.get(BUILD_TAG, "")):
            instance.report_run_failed(run, "the build was stopped before this run ended")
