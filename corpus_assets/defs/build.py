"""A build whose runs Dagster records, in one process tree.

Assets run in waves: a wave needs all snapshots of the one before it, since calibrations and
cross-snapshot deduplication look at several. What is complete in the store and already known to
Dagster with the same data version is passed over.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
from dagster import DagsterInstance

from catalog.db.leases import is_gone, process_name
from catalog.errors import CatalogError
from catalog.formats.store import make_folder, private
from corpus_assets.build import tell_before
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.defs.assets import ASSETS, CORPUS_VERSION, SOURCE_FILES
from corpus_assets.defs.partitions import SNAPSHOTS, VERSIONS
from corpus_assets.defs.resources import (
    VERSION_TAG,
    CorpusResource,
    running_tags,
    share_session,
    stopped_with,
)
from corpus_assets.graph.run import content_hash
from corpus_assets.recipe.load import shipped_file
from corpus_assets.session import Session
from corpus_assets.versions.version import Version

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
BUILD_TAG = "corpus/build"


class DagsterRuns:
    """Runs the assets of a build through Dagster's API, so that its UI shows them."""

    def __init__(self) -> None:
        self._instance: DagsterInstance | None = None

    @property
    def instance(self) -> DagsterInstance:
        if self._instance is None:
            raise RuntimeError("assets run inside of `opened` only")
        return self._instance

    @contextlib.contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        with open_instance(session) as self._instance, share_session(session):
            yield
        self._instance = None

    def run_assets(self, session: Session) -> None:
        pipeline, instance = session.pipeline, self.instance
        snapshots = list(pipeline.recipe.snapshots)
        instance.add_dynamic_partitions(SNAPSHOTS.name or "", snapshots)
        assets = pipeline.graph.assets.values()
        # A version that is built again has all calibrations pinned: fewer, larger waves.
        pinned = [a.name for a in assets if a.is_calibration] if session.replaces else []
        for number, wave in enumerate(pipeline.graph.waves(skipped=pinned)):
            names = [asset.name for asset in wave]
            names = names if number else [SOURCE_FILES, *names]
            tell_before(session, names)
            for snapshot in snapshots if wave[0].is_by_snapshot else [None]:
                missing = [n for n in names if not _is_current(session, instance, n, snapshot)]
                if missing:
                    _materialize(instance, missing, snapshot)

    def knows(self, version: str) -> bool:
        return _last_data_version(self.instance, CORPUS_VERSION, version) is not None

    def publish(self, session: Session, version: Version) -> None:
        self.instance.add_dynamic_partitions(VERSIONS.name or "", [version.name])
        _materialize(self.instance, [CORPUS_VERSION], version.name, {VERSION_TAG: version.name})
        known = set(self.instance.get_dynamic_partitions(VERSIONS.name or ""))
        for old in session.replaces:
            if old in known:
                self.instance.report_runless_asset_event(_revoked(old, version.name))


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
    """Dagster's own records, in the home; the shipped dagster.yaml is copied there once."""
    folder = session.home.dagster
    make_folder(folder)
    config = folder / "dagster.yaml"
    shipped = shipped_file("dagster.yaml")
    if not config.exists() and shipped is not None:
        config.write_bytes(Path(shipped).read_bytes())
    os.environ["DAGSTER_HOME"] = str(folder)  # which dagster.yaml asks for
    # Of two who make its tables at once, both would say that they did.
    with open(folder / "first.lock", "w", opener=private) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        instance = DagsterInstance.from_config(str(folder))
    _close_dead_runs(instance)
    return instance


def _is_current(
    session: Session, instance: DagsterInstance, asset: str, snapshot: str | None
) -> bool:
    """Complete in the store, and the last thing Dagster saw of it is the same content."""
    try:
        expected = (
            session.pipeline.snapshot_files(snapshot).content_hash
            if asset == SOURCE_FILES and snapshot is not None
            else content_hash(session.pipeline, asset, snapshot)
        )
    except MissingInput:
        return False
    return _last_data_version(instance, asset, snapshot) == expected


def _last_data_version(instance: DagsterInstance, asset: str, partition: str | None) -> str | None:
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(
            dg.AssetKey(asset), asset_partitions=[partition] if partition else None
        ),
        limit=1,
    ).records
    materialization = records[0].asset_materialization if records else None
    return (materialization.tags or {}).get("dagster/data_version") if materialization else None


def _materialize(
    instance: DagsterInstance,
    assets: list[str],
    partition: str | None,
    tags: Mapping[str, str] | None = None,
) -> None:
    """Run assets in this process; an error the user can act on comes out as itself."""
    try:
        dg.materialize(
            ASSETS,
            selection=assets,
            partition_key=partition,
            instance=instance,
            resources={"corpus": CorpusResource()},
            run_config=QUIET,
            tags={BUILD_TAG: process_name()} | running_tags() | dict(tags or {}),
        )
    except dg.DagsterExecutionInterruptedError:  # no Exception: it would pass by every handler
        raise KeyboardInterrupt from None
    except Exception as error:
        known = stopped_with() or _domain_error(error)
        if known is None:
            raise
        raise known from None


def _domain_error(error: BaseException) -> Exception | None:
    """Return the error of ours behind one of Dagster's; chains can have loops."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, CorpusError | CatalogError):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return None


def _close_dead_runs(instance: DagsterInstance) -> None:
    """Runs of builds that were killed are marked failed, so the UI does not show them running."""
    running = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    for run in instance.get_runs(dg.RunsFilter(statuses=running)):
        if is_gone(run.tags.get(BUILD_TAG, "")):
            instance.report_run_failed(run, "the build was stopped before this run ended")
