"""Build a corpus version, or resolve a lock: library functions that need no orchestrator.

A `Runner` says where the work is recorded: nowhere (`InProcess`), or in a run of Dagster's
(`defs.runs`). What is complete in the store is found, not computed, so any of them goes on where
another stopped.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from catalog.db.rows import MetricRow
from catalog.errors import OrdersChanged
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.lock import check_inputs, check_models
from corpus_assets.core.store import LocalStore, read_output
from corpus_assets.dedup.stage import CLUSTERS
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import (
    AssetReport,
    content_hash,
    metric_rows,
    pin_snapshot,
    run_asset,
    run_stage,
    snapshots_of,
)
from corpus_assets.ingest.purge import remember
from corpus_assets.ingest.stage import DOCUMENTS
from corpus_assets.session import Session, build_lease, refresh_orders
from corpus_assets.text.compiled import cache_folder
from corpus_assets.versions.foreseen import warning_before_tokens
from corpus_assets.versions.gates import release_if_passed
from corpus_assets.versions.publish import is_published, lineage_rows, publish
from corpus_assets.versions.version import (
    Version,
    default_version_name,
    make_lock,
    make_version,
    models_from_outside,
)


class Record(Protocol):
    """Where it is written down what a build does."""

    def last(self, asset: str, snapshot: str | None) -> str | None:
        """Return the content hash of an asset that was recorded last."""

    def ran(self, report: AssetReport) -> None:
        """Record what running an asset did; ends the build where its checks ask for that."""

    def published(self, version: Version) -> None:
        """Record a version that is published."""

    def gated(self, version: Version, told: str) -> None:
        """Record whether a version was released, and why."""


Work = Callable[[Record], Version | None]


class Runner(Protocol):
    """How the work of a build is recorded."""

    def knows(self, session: Session, version: Version) -> bool:
        """Whether there is nothing to record of a version that is published."""

    def within(self, session: Session, name: str, work: Work) -> Version | None:
        """Do the work of building a version, with a record of it."""


class InProcess:
    """A build that records nothing."""

    def knows(self, session: Session, version: Version) -> bool:
        return False

    def within(self, session: Session, name: str, work: Work) -> Version | None:
        return work(self)

    def last(self, asset: str, snapshot: str | None) -> str | None:
        return None

    def ran(self, report: AssetReport) -> None:
        return

    def published(self, version: Version) -> None:
        return

    def gated(self, version: Version, told: str) -> None:
        return


def kernels_line(cache: Path | None) -> str | None:
    """Say that kernels have to be compiled, where the cache holds none."""
    if cache is None:
        return (
            "kernels are compiled in every process, about a minute of CPU time each: no folder for "
            "them can be written; set NUMBA_CACHE_DIR to one"
        )
    if next(cache.rglob("*.nbi"), None) is not None:
        return None
    return "compiling kernels as they are first used: about a minute of CPU time, once"


def tell_before(session: Session, asset: str) -> None:
    """Tell what is known to go wrong before an asset is run: of the mixture, as soon as
    selection is done."""
    line = warning_before_tokens(session.pipeline) if asset == CLUSTERS.asset else None
    if line is not None:
        session.progress.told(line)


def build(
    session: Session,
    version: str | None = None,
    runner: Runner | None = None,
    release: bool = True,
) -> Version:
    """Run everything that a version needs, then publish the version; with `release`, release it
    where all its gates passed."""
    made = build_unless(session, version, None, runner, release)
    if made is None:
        raise CorpusError("the build gave no version; run it again")
    return made


def build_unless(
    session: Session,
    version: str | None,
    same_as: str | None,
    runner: Runner | None = None,
    release: bool = True,
) -> Version | None:
    """Build a version; None, and nothing published, where all it holds is what `same_as` holds.

    Shards alone do not tell: a document that no shard has is still in the lineage, with its text.
    """
    runner = runner or InProcess()
    name = version or default_version_name(session.pipeline)

    def work(record: Record) -> Version | None:
        while True:
            run_assets(session, record)
            made = make_version(session.pipeline, name)
            if same_as is not None and _lineage(session, made) == {
                (row.table_name, row.sha256) for row in session.registry.lineage_files(same_as)
            }:
                return None
            if made.gave_way is not None:
                session.progress.told(f"mixture: {made.gave_way}")
            if not is_published(session.pipeline, session.registry, made):
                try:
                    publish(
                        session.pipeline,
                        session.registry,
                        made,
                        session.replaces,
                        session.requests,
                    )
                except OrdersChanged:
                    if session.requests:
                        raise  # a takedown run looks first whose orders they are
                    session.progress.told(
                        "takedowns came in: building again without what they name"
                    )
                    refresh_orders(session)
                    continue
            record.published(made)
            if release:
                _release(session, made, record)
            return made

    with build_lease(session):
        pin_sources(session)
        kernels = kernels_line(cache_folder())
        told = (*session.pipeline.recipe.caveats(), *session.taken_over.lines(), kernels)
        for line in filter(None, told):
            session.progress.told(line)
        made = _published(session, name) if same_as is None else None
        if made is not None and runner.knows(session, made):
            if made.gave_way is not None:
                session.progress.told(f"mixture: {made.gave_way}")
            if release:
                _release(session, made, InProcess())
            return made
        return runner.within(session, name, work)


def _release(session: Session, version: Version, record: Record) -> None:
    """Release a version whose gates have passed, and tell what became of it."""
    told = release_if_passed(session.registry, version.name, session.replaces)
    record.gated(version, told)
    session.progress.told(told)


def _published(session: Session, name: str) -> Version | None:
    """Return a version that is complete and published: there is nothing to do for it."""
    pipeline = session.pipeline
    if name not in {row.name for row in session.registry.versions()}:
        return None
    try:
        for asset, snapshot in _assets(pipeline):
            content_hash(pipeline, asset, snapshot)
        made = make_version(pipeline, name)
    except MissingInput:
        return None
    return made if is_published(pipeline, session.registry, made) else None


def _assets(pipeline: Pipeline) -> Iterator[tuple[str, str | None]]:
    """Yield the assets in the order in which they run, each for all snapshots or once."""
    for asset in pipeline.graph.assets.values():
        for snapshot in pipeline.recipe.snapshots if asset.is_by_snapshot else (None,):
            yield asset.name, snapshot


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


def run_assets(session: Session, record: Record | None = None) -> None:
    """Run what is missing of every asset that a version is made of."""
    record, pipeline, told = record or InProcess(), session.pipeline, set[str]()
    metrics: list[MetricRow] = []
    for asset, snapshot in _assets(pipeline):
        if asset not in told:
            told.add(asset)
            tell_before(session, asset)
        last = record.last(asset, snapshot)
        with contextlib.suppress(MissingInput):
            if last is not None and last == content_hash(pipeline, asset, snapshot):
                continue
        report = run_asset(
            pipeline, session.engine, session.registry, session.progress, asset, snapshot
        )
        metrics += metric_rows(report)
        record.ran(report)
    if metrics:
        session.registry.add_metrics(metrics)
    for snapshot in pipeline.recipe.snapshots:  # parts that no order touched: not compared again
        remember(pipeline.store, pipeline.tasks(DOCUMENTS.name, snapshot), pipeline.suppressions)


def _lineage(session: Session, made: Version) -> set[tuple[str, str]]:
    rows = lineage_rows(session.pipeline, made.manifest)
    return {(row.table_name, row.sha256) for row in rows}
