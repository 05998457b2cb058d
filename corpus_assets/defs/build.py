"""A whole build through Dagster's API, in one process tree.

Assets run in waves: a wave needs all snapshots of the one before it, since calibrations and
cross-snapshot deduplication look at several. What is complete in the store and already known to
Dagster with the same data version is passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster import DagsterInstance

from catalog.errors import CatalogError, OrdersChanged
from catalog.private import make_folder
from catalog.processes import is_gone, process_name
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.lock import check_inputs
from corpus_assets.core.store import LocalStore, read_output
from corpus_assets.defs.assets import ASSETS
from corpus_assets.defs.partitions import SNAPSHOTS, VERSIONS
from corpus_assets.defs.resources import CorpusResource, running_tags, share_session
from corpus_assets.graph.run import AssetReport, content_hash, pin_snapshot, run_node
from corpus_assets.graph.session import Session, building_turn, refresh_orders
from corpus_assets.ingest.parts import remember
from corpus_assets.recipe.shipped import shipped_file
from corpus_assets.versions.publish import is_published, lineage_rows
from corpus_assets.versions.version import Version, default_version_name, make_lock, make_version

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
BUILD_TAG = "corpus/build"


@dataclass(frozen=True)
class Wave:
    """Assets that run together: once for each snapshot, or once in all."""

    assets: tuple[str, ...]
    by_snapshot: bool


WAVES = (
    Wave(("source_files", "documents"), by_snapshot=True),
    Wave(("eval_index", "classifiers", "perplexity_models", "score_ranks"), by_snapshot=False),
    Wave(("signals", "signatures", "contamination"), by_snapshot=True),
    Wave(("quality_cutoffs", "common_items", "tokenizer"), by_snapshot=False),
    Wave(("selection",), by_snapshot=True),
    Wave(("clusters", "clean_text"), by_snapshot=True),
    Wave(("shards", "lineage_keys"), by_snapshot=True),
)


PINNED_WAVES = (
    Wave(
        ("source_files", "documents", "signals", "signatures", "contamination", "selection"),
        by_snapshot=True,
    ),
    Wave(("clusters", "clean_text", "shards", "lineage_keys"), by_snapshot=True),
)
"""Of a version that is built again: its lock pins the calibrations, so only deduplication looks
at several snapshots, and fewer runs do."""


def build(session: Session, version: str | None = None) -> Version:
    """Materialize everything a version needs, then the version."""
    made = build_unless(session, version, None)
    if made is None:
        raise CorpusError("the build gave no version; run it again")
    return made


def build_unless(session: Session, version: str | None, same_as: str | None) -> Version | None:
    """Build a version; None, and nothing published, where all it holds is what `same_as` holds.

    Shards alone do not tell: a document that no shard has is still in the lineage, with its text.
    """
    name = version or default_version_name(session.pipeline)
    with (
        building_turn(session),
        open_instance(session) as instance,
        share_session(session),
    ):
        while True:
            materialize_waves(session, instance, PINNED_WAVES if session.replaces else WAVES)
            made = make_version(session.pipeline, name)
            if same_as is not None and _lineage(session, made) == {
                (row.table_name, row.sha256) for row in session.registry.lineage_files(same_as)
            }:
                return None
            if made.gave_way is not None:
                session.progress.told(f"mixture: {made.gave_way}")
            if is_published(session.pipeline, made) and _knows(instance, name):
                return made
            instance.add_dynamic_partitions(VERSIONS.name or "", [name])
            try:
                _materialize(instance, ["corpus_version"], name)
            except OrdersChanged:
                if session.requests:
                    raise  # a takedown run looks first whose orders they are
                session.progress.told("takedowns came in: building again without what they name")
                refresh_orders(session)
            else:
                return made


def _lineage(session: Session, made: Version) -> set[tuple[str, str]]:
    rows = lineage_rows(session.pipeline, made.manifest)
    return {(row.table_name, row.sha256) for row in rows}


def materialize_waves(session: Session, instance: DagsterInstance, waves: Sequence[Wave]) -> None:
    snapshots = list(session.pipeline.recipe.snapshots)
    instance.add_dynamic_partitions(SNAPSHOTS.name or "", snapshots)
    for name in snapshots if not session.replaces else ():
        pin_snapshot(session.pipeline, session.registry, name)
    if session.lock is not None:
        check_inputs(session.lock, session.pipeline.inputs())
    for wave in waves:
        for snapshot in snapshots if wave.by_snapshot else [None]:
            missing = [a for a in wave.assets if not _is_current(session, instance, a, snapshot)]
            if missing:
                _materialize(instance, missing, snapshot)
    for snapshot in snapshots:  # parts that no order touched need not be compared again
        remember(
            session.pipeline.store,
            session.pipeline.tasks("documents", snapshot),
            session.pipeline.suppressions,
        )


def open_instance(session: Session) -> DagsterInstance:
    """Dagster's own records, in the home; the shipped dagster.yaml is copied there once."""
    folder = session.home.dagster
    make_folder(folder)
    config = folder / "dagster.yaml"
    shipped = shipped_file("dagster.yaml")
    if not config.exists() and shipped is not None:
        config.write_bytes(Path(shipped).read_bytes())
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
            if asset == "source_files" and snapshot is not None
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


def _knows(instance: DagsterInstance, version: str) -> bool:
    return _last_data_version(instance, "corpus_version", version) is not None


def _materialize(instance: DagsterInstance, assets: list[str], partition: str | None) -> None:
    """Run assets in this process; an error the user can act on comes out as itself."""
    try:
        dg.materialize(
            ASSETS,
            selection=assets,
            partition_key=partition,
            instance=instance,
            resources={"corpus": CorpusResource()},
            run_config=QUIET,
            tags={BUILD_TAG: process_name()} | running_tags(),
        )
    except dg.DagsterExecutionInterruptedError:  # no Exception: it would pass by every handler
        raise KeyboardInterrupt from None
    except Exception as error:
        known = _domain_error(error)
        if known is None:
            raise
        raise known from None


def _domain_error(error: BaseException) -> Exception | None:
    """The error of ours behind one of Dagster's; chains can have loops."""
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


def resolve_lock(session: Session, folder: Path) -> str:
    """Run what the calibrations need, and write the lock and its files to a folder."""
    pipeline = session.pipeline
    with (
        building_turn(session),
        open_instance(session) as instance,
        share_session(session),
    ):
        materialize_waves(session, instance, WAVES[:-1])
        for snapshot in pipeline.recipe.snapshots:
            report = AssetReport("shards", snapshot)
            run_node(
                pipeline,
                session.engine,
                session.registry,
                session.progress,
                report,
                "shard_counts",
                snapshot,
            )
    lock = make_lock(pipeline)
    out = LocalStore(folder)
    for name, output in pipeline.calibrations().items():
        out.write(
            f"calibrations/{lock.calibrations[name].sha256}", read_output(pipeline.store, output)
        )
    out.write("lock.json", lock.to_bytes())
    return lock.digest
