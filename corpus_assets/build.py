"""Build a corpus version, or resolve a lock: library functions that need no orchestrator.

A `Runner` says how assets are run: in this process (`InProcess`), or as runs that Dagster records
(`defs.build`). What is complete in the store is found, not computed, so any of them goes on where
another stopped.
"""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

from catalog.errors import OrdersChanged
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.lock import check_inputs, check_models
from corpus_assets.core.store import LocalStore, read_output
from corpus_assets.dedup.stage import CLUSTERS
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import AssetReport, pin_snapshot, run_asset, run_stage, snapshots_of
from corpus_assets.ingest.purge import remember
from corpus_assets.ingest.stage import DOCUMENTS
from corpus_assets.session import Session, build_lease, refresh_orders
from corpus_assets.versions.foreseen import warning_before_tokens
from corpus_assets.versions.publish import is_published, lineage_rows, publish
from corpus_assets.versions.version import (
    Version,
    default_version_name,
    make_lock,
    make_version,
    models_from_outside,
)


class Runner(Protocol):
    """How the assets of a build are run."""

    def opened(self, session: Session) -> contextlib.AbstractContextManager[None]:
        """Hold open what the runs of a build need."""

    def run_assets(self, session: Session) -> None:
        """Run what is missing of every asset that a version is made of."""

    def knows(self, version: str) -> bool:
        """Whether there is nothing to record of a version that is published."""

    def publish(self, session: Session, version: Version) -> None:
        """Publish a version; `OrdersChanged` where takedowns came in."""


class InProcess:
    """Assets one after the other, in this process and its workers."""

    @contextlib.contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        yield

    def run_assets(self, session: Session) -> None:
        for asset in session.pipeline.graph.assets.values():
            tell_before(session, [asset.name])
            snapshots = session.pipeline.recipe.snapshots if asset.is_by_snapshot else (None,)
            for snapshot in snapshots:
                run_asset(
                    session.pipeline,
                    session.engine,
                    session.registry,
                    session.progress,
                    asset.name,
                    snapshot,
                )

    def knows(self, version: str) -> bool:
        return True

    def publish(self, session: Session, version: Version) -> None:
        publish(session.pipeline, session.registry, version, session.replaces, session.requests)


def tell_before(session: Session, assets: Collection[str]) -> None:
    """Tell what is known to go wrong before some assets are run: of the mixture, as soon as
    selection is done."""
    line = warning_before_tokens(session.pipeline) if CLUSTERS.asset in assets else None
    if line is not None:
        session.progress.told(line)


def build(session: Session, version: str | None = None, runner: Runner | None = None) -> Version:
    """Run everything that a version needs, then publish the version."""
    made = build_unless(session, version, None, runner)
    if made is None:
        raise CorpusError("the build gave no version; run it again")
    return made


def build_unless(
    session: Session, version: str | None, same_as: str | None, runner: Runner | None = None
) -> Version | None:
    """Build a version; None, and nothing published, where all it holds is what `same_as` holds.

    Shards alone do not tell: a document that no shard has is still in the lineage, with its text.
    """
    runner = runner or InProcess()
    name = version or default_version_name(session.pipeline)
    with build_lease(session), runner.opened(session):
        while True:
            _run_assets(session, runner)
            made = make_version(session.pipeline, name)
            if same_as is not None and _lineage(session, made) == {
                (row.table_name, row.sha256) for row in session.registry.lineage_files(same_as)
            }:
                return None
            if made.gave_way is not None:
                session.progress.told(f"mixture: {made.gave_way}")
            if is_published(session.pipeline, session.registry, made) and runner.knows(name):
                return made
            try:
                runner.publish(session, made)
            except OrdersChanged:
                if session.requests:
                    raise  # a takedown run looks first whose orders they are
                session.progress.told("takedowns came in: building again without what they name")
                refresh_orders(session)
            else:
                return made


def resolve_lock(session: Session, folder: Path) -> str:
    """Resolve the calibrations that are not taken over, and write the lock and its files to a
    folder."""
    pipeline = session.pipeline
    needed = pipeline.graph.upstream(_unpinned(pipeline))
    with build_lease(session):
        pin_sources(session)
        for stage in pipeline.graph:
            for snapshot in snapshots_of(pipeline, stage, None) if stage.name in needed else ():
                run_stage(
                    pipeline,
                    session.engine,
                    session.registry,
                    session.progress,
                    AssetReport(stage.asset, snapshot),
                    stage,
                    snapshot,
                )
    lock = make_lock(pipeline)
    out = LocalStore(folder)
    for name, output in pipeline.calibrations().items():
        out.write(
            f"calibrations/{lock.calibrations[name].sha256}", read_output(pipeline.store, output)
        )
    is_ours = out.exists("lock.json")
    out.write("lock.json", lock.to_bytes())
    pinned = {pin.sha256 for pin in lock.calibrations.values()}
    for path in out.list("calibrations") if is_ours else ():  # of the lock before it
        if path.rpartition("/")[2] not in pinned:
            out.delete(path)
    return lock.digest


def _unpinned(pipeline: Pipeline) -> list[str]:
    """Return the calibrations' stages of which something is left to resolve."""
    snapshots = set(pipeline.recipe.snapshots)
    return [
        name
        for name in pipeline.graph.calibrations
        if pipeline.pin_of(name) is None
        and (
            not pipeline.graph[name].is_by_snapshot
            or any(pipeline.pin_of(name, snapshot) is None for snapshot in snapshots)
        )
    ]


def pin_sources(session: Session) -> None:
    """List and hash the files of every snapshot; those of a version that is built again are
    pinned already. Under a lock they must be those that it names, and so must models."""
    session.pipeline.check_models()
    for name in session.pipeline.recipe.snapshots if not session.replaces else ():
        pin_snapshot(session.pipeline, session.registry, name)
    if session.lock is not None:
        check_inputs(session.lock, session.pipeline.inputs())
        check_models(session.lock, models_from_outside(session.pipeline))


def _run_assets(session: Session, runner: Runner) -> None:
    pin_sources(session)
    for line in (*session.pipeline.recipe.caveats(), *session.taken_over.lines()):
        session.progress.told(line)
    runner.run_assets(session)
    pipeline = session.pipeline
    for snapshot in pipeline.recipe.snapshots:  # parts that no order touched: not compared again
        remember(pipeline.store, pipeline.tasks(DOCUMENTS.name, snapshot), pipeline.suppressions)


def _lineage(session: Session, made: Version) -> set[tuple[str, str]]:
    rows = lineage_rows(session.pipeline, made.manifest)
    return {(row.table_name, row.sha256) for row in rows}
