"""Build a corpus version, or resolve a lock: library functions that need no orchestrator.

A build is a list of steps, one for each asset, which a `Runner` does in order: in this process
(`InProcess`), or each as a step of a run of Dagster's (`defs.runs`). What is complete in the store is
found, not computed, so any of them goes on where another stopped.
"""

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from catalog.db import MetricRow
from catalog.errors import OrdersChanged
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.lock import check_inputs, check_models
from corpus_assets.core.store import LocalStore, read_output
from corpus_assets.dedup import CLUSTERS
from corpus_assets.graph import (
    AssetReport,
    Pipeline,
    content_hash,
    metric_rows,
    pin_snapshot,
    run_asset,
    run_stage,
)
from corpus_assets.ingest import DOCUMENTS, SnapshotFiles, remember_parts
from corpus_assets.session import Session, build_lease, pipeline_as_of, refresh_orders
from corpus_assets.stages import STAGES
from corpus_assets.versions import (
    Version,
    check_panels,
    check_unchanged,
    default_version_name,
    is_published,
    lineage_rows,
    make_lock,
    make_version,
    models_from_outside,
    publish_version,
    release_if_passed,
    warning_before_tokens,
)
from textkernels.compiled import cache_folder

SOURCE_FILES, CORPUS_VERSION = "source_files", "corpus_version"
STEPS = (SOURCE_FILES, *STAGES.assets, CORPUS_VERSION)
"""The steps of a build, in order: the assets that a version is made of, and the version."""
BUILD_WITHOUT = "build without --extends"


class Record(Protocol):
    """Where it is written down what a build does."""

    def pinned(self, files: SnapshotFiles) -> None:
        """Record the pinned files of a snapshot."""

    def last(self, asset: str, snapshot: str | None) -> str | None:
        """Return the content hash of an asset that was recorded last, unless what it was made from
        or by has changed since."""

    def running(self, asset: str, partition: str | None) -> AbstractContextManager[None]:
        """Record that an asset is being made, and why it failed."""

    def ran(self, report: AssetReport) -> None:
        """Record what running an asset did; ends the build where its checks ask for that."""

    def published(self, version: Version) -> None:
        """Record a version that is published."""

    def gated(self, version: Version, message: str) -> None:
        """Record whether a version was released, and why."""


@dataclass(frozen=True)
class Step:
    """A piece of work that is recorded by itself: an asset for all snapshots, the version, or what
    comes after versions and belongs to no session."""

    name: str
    run: Callable[[Record], None]
    session: Session | None = None


class Runner(Protocol):
    """How the work of a build is recorded."""

    def knows(self, session: Session, version: Version) -> bool:
        """Whether there is nothing to record of a version that is published."""

    def run(self, steps: Sequence[Step], version: str = "") -> None:
        """Do the steps in order, with a record of each; `version` is the name that was asked for."""

    def built(self, session: Session, version: Version) -> None:
        """Hear of a version that was built."""


class InProcess:
    """A build that records nothing."""

    def knows(self, session: Session, version: Version) -> bool:
        return False

    def run(self, steps: Sequence[Step], version: str = "") -> None:
        for step in steps:
            step.run(self)

    def built(self, session: Session, version: Version) -> None:
        return

    def pinned(self, files: SnapshotFiles) -> None:
        return

    def last(self, asset: str, snapshot: str | None) -> str | None:
        return None

    def running(self, asset: str, partition: str | None) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def ran(self, report: AssetReport) -> None:
        return

    def published(self, version: Version) -> None:
        return

    def gated(self, version: Version, message: str) -> None:
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
    line = warning_before_tokens(session.pipeline) if asset == CLUSTERS.name else None
    if line is not None:
        session.progress.log(line)


def build(
    session: Session,
    version: str | None = None,
    runner: Runner | None = None,
    release: bool = True,
) -> Version:
    """Run everything that a version needs, then publish the version; with `release`, release it
    where all its gates passed."""
    runner = runner or InProcess()
    building = Build(session, version, release=release)
    with build_lease(session):
        building.pin()
        made = building.found()
        if made is not None and runner.knows(session, made):
            for line in made.gave_way:
                session.progress.log(f"mixture: {line}")
            if release:
                _release(session, made, InProcess())
            return made
        runner.run(building.steps(), building.name)
    if building.made is None:
        raise CorpusError("the build produced no version; run it again")
    runner.built(session, building.made)
    return building.made


class Build:
    """A version in the making, as steps. Whoever does them holds the lease of a build."""

    def __init__(
        self,
        session: Session,
        version: str | None = None,
        same_as: str | None = None,
        release: bool = True,
    ) -> None:
        """A version that holds what `same_as` holds is not published. Shards alone do not tell: a
        document that no shard has is still in the lineage, with its text."""
        self.session = session
        self._name = version
        self.made: Version | None = None
        self._same_as, self._release = same_as, release
        self._is_pinned = False

    @property
    def name(self) -> str:
        """The name of the version; one by date is that of a pin, and known once all are pinned."""
        if self._name is None:
            self._name = _default_name(self.session)
        return self._name

    def pin(self, record: Record | None = None) -> None:
        """Pin what goes in, and tell what the recipe leaves open."""
        session = self.session
        pin_sources(session, record)
        if session.extends is not None:
            then = pipeline_as_of(session, session.extends.name)
            for line in check_unchanged(then, session.extends):
                session.progress.log(f"{line} to free space: it is computed again")
            session.progress.log(session.extends.line(session.pipeline.recipe))
        kernels = kernels_line(cache_folder("corpus_assets"))
        notes = (*session.pipeline.recipe.caveats(), *session.reused.lines(), kernels)
        for line in filter(None, notes):
            session.progress.log(line)
        self._is_pinned = True

    def found(self) -> Version | None:
        """Return the version if it is complete and published: there is nothing to do for it."""
        pipeline, registry = self.session.pipeline, self.session.registry
        if self.name not in {row.name for row in registry.versions()}:
            return None
        try:
            for asset in pipeline.graph.assets:
                for snapshot in _snapshots(pipeline, asset):
                    content_hash(pipeline, asset, snapshot)
            made = make_version(pipeline, self.name)
        except MissingInput:
            return None
        return made if is_published(pipeline, registry, made) else None

    def steps(self) -> list[Step]:
        """Return the steps, in the order of `STEPS`; each takes for granted those before it."""
        assets = self.session.pipeline.graph.assets
        return [
            Step(SOURCE_FILES, self._list_sources, self.session),
            *(Step(name, partial(run_one, self.session, name), self.session) for name in assets),
            Step(CORPUS_VERSION, self._make, self.session),
        ]

    def _list_sources(self, record: Record) -> None:
        if not self._is_pinned:
            self.pin(record)
        for snapshot in self.session.pipeline.recipe.snapshots:
            record.pinned(self.session.pipeline.snapshot_files(snapshot))

    def _make(self, record: Record) -> None:
        if self._same_as is None:
            with record.running(CORPUS_VERSION, self.name):
                self._publish(record)
        else:  # it may turn out that there is none to make
            self._publish(record)

    def _publish(self, record: Record) -> None:
        """Publish the version; where takedowns came in meanwhile, build it again without what they
        name, as part of this step."""
        session = self.session
        while True:
            _remember(session)
            made = make_version(session.pipeline, self.name)
            if self._same_as is not None and _lineage(session, made) == {
                (row.table_name, row.sha256)
                for row in session.registry.lineage_files(self._same_as)
            }:
                return
            for line in made.gave_way:
                session.progress.log(f"mixture: {line}")
            try:
                if not is_published(session.pipeline, session.registry, made):
                    publish_version(
                        session.pipeline,
                        session.registry,
                        made,
                        session.replaces,
                        session.requests,
                    )
                break
            except OrdersChanged:
                if session.requests:
                    raise  # a takedown run looks first whose orders they are
            session.progress.log("new takedowns were filed: rebuilding without their documents")
            refresh_orders(session)
            for asset in session.pipeline.graph.assets:
                run_one(session, asset, record)
        self.made = made
        record.published(made)
        if self._release:
            _release(session, made, record)


def side_by_side(builds: Sequence[Build]) -> list[Step]:
    """Return the steps of several builds: each asset of all of them before the next."""
    rows = zip(*(building.steps() for building in builds), strict=True)
    return [step for row in rows for step in row]


def _default_name(session: Session) -> str:
    """Name a version by its recipe and digest, or one that extends another by the date on which the
    newest of its snapshots was pinned: the same, however often the build is run again. Where another
    version has that name, by both."""
    pipeline, extended = session.pipeline, session.extends
    added = set(extended.added(pipeline.recipe)) if extended is not None else set()
    if not added:
        return default_version_name(pipeline)
    registry, recipe = session.registry, pipeline.recipe
    newest = max(row.created_at for row in registry.snapshots() if row.name in added)
    dated = f"{recipe.name[:80]}-{newest[:10]}"
    others = {row.name for row in registry.versions() if row.recipe_digest != recipe.digest}
    return f"{dated}-{recipe.digest[:8]}" if dated in others else dated


def _release(session: Session, version: Version, record: Record) -> None:
    """Release a version whose gates have passed, and log the outcome."""
    message = release_if_passed(session.registry, version.name, session.replaces)
    record.gated(version, message)
    session.progress.log(message)


def _snapshots(pipeline: Pipeline, asset: str) -> Sequence[str | None]:
    """Return what an asset runs for: each snapshot, or once."""
    return pipeline.recipe.snapshots if pipeline.graph.assets[asset].is_by_snapshot else (None,)


def resolve_lock(session: Session, folder: Path) -> str:
    """Resolve the calibrations that are not reused, and write the lock and its files to a
    folder."""
    pipeline = session.pipeline
    needed = pipeline.graph.upstream(_unpinned(pipeline))
    with build_lease(session):
        pin_sources(session)
        for stage, snapshot in pipeline.graph.steps(needed, pipeline.recipe.snapshots):
            run_stage(
                pipeline,
                session.engine,
                session.registry,
                session.progress,
                AssetReport(pipeline.graph.asset_of(stage.name).name, snapshot),
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


def pin_sources(session: Session, record: Record | None = None) -> None:
    """List and hash the files of every snapshot; those of a version that is built again are
    pinned already. Under a lock they must be those that it names, and so must models."""
    record = record or InProcess()
    session.pipeline.check_models()
    check_panels(session.pipeline)
    for name in session.pipeline.recipe.snapshots if not session.replaces else ():
        with record.running(SOURCE_FILES, name):
            pin_snapshot(session.pipeline, session.registry, name)
    if session.lock is not None:
        check_inputs(session.lock, session.pipeline.inputs())
        check_models(session.lock, models_from_outside(session.pipeline))
    if session.extends is not None:
        whose = f"version {session.extends.name}"
        check_inputs(session.extends.lock, session.pipeline.inputs(), whose, BUILD_WITHOUT)
        check_models(
            session.extends.lock, models_from_outside(session.pipeline), whose, BUILD_WITHOUT
        )


def run_assets(session: Session) -> None:
    """Run what is missing of every asset that a version is made of."""
    for asset in session.pipeline.graph.assets:
        run_one(session, asset, InProcess())
    _remember(session)


def run_one(session: Session, asset: str, record: Record) -> None:
    """Run what is missing of an asset, for all snapshots."""
    pipeline = session.pipeline
    tell_before(session, asset)
    metrics: list[MetricRow] = []
    try:
        for snapshot in _snapshots(pipeline, asset):
            if _is_recorded(pipeline, asset, snapshot, record):
                continue
            with record.running(asset, snapshot):
                report = run_asset(
                    pipeline, session.engine, session.registry, session.progress, asset, snapshot
                )
                metrics += metric_rows(report)
                record.ran(report)
    finally:
        if metrics:
            session.registry.add_metrics(metrics)


def _is_recorded(pipeline: Pipeline, asset: str, snapshot: str | None, record: Record) -> bool:
    """Whether an asset is complete, and recorded as what it is: by `record`, and in the registry."""
    last = record.last(asset, snapshot)
    if last is None:
        return False
    stage = pipeline.graph.assets[asset].last
    if stage.accept is not None and pipeline.pin_of(stage.name, snapshot) is None:
        return False  # what it is accepted by is no part of what it holds
    try:
        if last != content_hash(pipeline, asset, snapshot):
            return False
        return pipeline.is_recorded(stage.name, snapshot)
    except MissingInput:
        return False


def _remember(session: Session) -> None:
    """Note the parts that no order touched: they are not compared again."""
    pipeline = session.pipeline
    for snapshot in pipeline.recipe.snapshots:
        remember_parts(pipeline, pipeline.tasks(DOCUMENTS.name, snapshot))


def _lineage(session: Session, made: Version) -> set[tuple[str, str]]:
    rows = lineage_rows(session.pipeline, made.manifest)
    return {(row.table_name, row.sha256) for row in rows}
