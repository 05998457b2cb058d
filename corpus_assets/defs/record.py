"""What a build leaves in Dagster's records: for each asset and snapshot that it is being made, then its
materialization with the versions of code and inputs, and its checks.

Dagster's own steps write the same of one partition; a step of a build makes an asset for all
snapshots, each with a version and numbers of its own (ADR 55).

    versions    `dagster/data_version` is the asset's content hash. The version of an input is its
                content hash, of an input by snapshot a hash over those that the asset reads, as
                Dagster has it for its own steps, so both can be compared.
    pointers    the event of each input that was the newest: a later one with another version makes
                the asset stale.
    failures    an asset that a failed run planned and did not materialize is shown as failed; so it
                is planned when its turn comes, and what is downstream is not.
"""

import contextlib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import dagster as dg
from dagster import DagsterInstance
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent, DagsterEventType

from corpus_assets.build import CORPUS_VERSION, SOURCE_FILES
from corpus_assets.core.stage import Edge
from corpus_assets.defs.materialize import (
    ChecksFailed,
    blocking,
    check_evaluation,
    checks_of_refused,
    cluster_metadata,
    outcomes_of,
    stage_metadata,
)
from corpus_assets.defs.partitions import SNAPSHOTS, VERSIONS
from corpus_assets.defs.resources import VERSION_TAG
from corpus_assets.defs.version_assets import (
    RELEASE_GATE,
    VERSION_CODE,
    VERSION_READS,
    recorded_gates,
    recorded_version,
)
from corpus_assets.graph import AssetReport, CheckOutcome
from corpus_assets.ingest import LISTING_VERSION, SnapshotFiles
from corpus_assets.session import Session
from corpus_assets.versions import Version

Tags = dict[str, str]


class RunRecord:
    """Records a build as events of the steps that run it."""

    def __init__(self, context: dg.OpExecutionContext, session: Session) -> None:
        self.context = context  # of the step that is under way
        self._session, self._graph = session, session.pipeline.graph
        self._instance = context.instance
        self._instance.add_dynamic_partitions(
            SNAPSHOTS.name or "", list(session.pipeline.recipe.snapshots)
        )
        self._partitions = set(self._instance.get_dynamic_partitions(SNAPSHOTS.name or ""))
        self._contents: dict[str, dict[str | None, str]] = {}  # of this build, by partition
        self._others: dict[str, Mapping[str, str]] = {}  # of snapshots that it does not have
        self._pointers: dict[str, int] = {}
        names = [SOURCE_FILES, *self._graph.assets]
        self._look_up(names)
        self._known = set(self._pointers)

    # What a build asks and tells.

    def pinned(self, files: SnapshotFiles) -> None:
        if self.last(SOURCE_FILES, files.snapshot) != files.content_hash:
            content = files.content_hash
            self._materialized(SOURCE_FILES, files.snapshot, source_metadata(files), content)

    def last(self, asset: str, snapshot: str | None) -> str | None:
        if asset not in self._known:
            return None
        tags = last_tags(self._instance, asset, snapshot)
        made_from = self._made_from(asset, snapshot)
        if any(tags.get(key) != value for key, value in made_from.items()):
            return None
        content = tags.get(DATA_VERSION_TAG)
        if content is not None:  # what the build goes on with, unless it makes another
            self._contents.setdefault(asset, {})[snapshot] = content
        return content

    @contextlib.contextmanager
    def running(self, asset: str, partition: str | None) -> Iterator[None]:
        if asset == CORPUS_VERSION and partition is not None:
            self._instance.add_dynamic_partitions(VERSIONS.name or "", [partition])
        is_sure = asset != SOURCE_FILES  # most lists turn out to be those that are recorded
        if is_sure:
            self._planned(asset, partition)
        try:
            yield
        except Exception:
            if not is_sure:
                self._planned(asset, partition)
            for outcome in checks_of_refused(self._session, asset):
                self._checked(asset, partition, outcome)
            raise

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
                + "; nothing downstream was run and no version published: check it, or raise the "
                "bound in the recipe, then run the same command again"
            )

    def published(self, version: Version) -> None:
        self._instance.add_dynamic_partitions(VERSIONS.name or "", [version.name])
        self._instance.add_run_tags(self.context.run_id, {VERSION_TAG: version.name})
        metadata, content, outcomes = recorded_version(self._session, version)
        self._materialized(CORPUS_VERSION, version.name, metadata, content)
        for outcome in outcomes:
            self._checked(CORPUS_VERSION, version.name, outcome)
        known = set(self._instance.get_dynamic_partitions(VERSIONS.name or ""))
        for old in self._session.replaces:
            if old in known:
                self.context.log_event(_revoked(old, version.name))

    def gated(self, version: Version, message: str) -> None:
        metadata, content, outcome = recorded_gates(self._session.registry, version.name, message)
        self._materialized(RELEASE_GATE, version.name, metadata, content)
        self._checked(RELEASE_GATE, version.name, outcome)

    # Events.

    def _planned(self, asset: str, partition: str | None) -> None:
        planned = AssetMaterializationPlannedData(dg.AssetKey(asset), partition=partition)
        step = self.context.get_step_execution_context().step.key
        event = DagsterEvent.build_asset_materialization_planned_event(
            self.context.job_name, step, planned
        )
        self._instance.report_dagster_event(event, self.context.run_id)

    def _checked(self, asset: str, partition: str | None, outcome: CheckOutcome) -> None:
        evaluation = check_evaluation(asset, partition, outcome)
        self.context.log_event(evaluation)  # type: ignore[arg-type]  # it takes checks too

    def _materialized(
        self, asset: str, partition: str | None, metadata: Mapping[str, Any], content: str
    ) -> None:
        tags = self._made_from(asset, partition) | self._pointed(asset)
        tags |= {DATA_VERSION_TAG: content, DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}
        self.context.log_event(
            dg.AssetMaterialization(asset, partition=partition, metadata=metadata, tags=tags)
        )
        self._contents.setdefault(asset, {})[partition] = content
        self._pointers.pop(asset, None)

    # Where an asset comes from.

    def _made_from(self, asset: str, partition: str | None) -> Tags:
        """Return the versions of an asset's code and inputs, as tags."""
        code, reads = self._declared(asset)
        return {CODE_VERSION_TAG: code} | {
            get_input_data_version_tag(dg.AssetKey(edge.asset)): self._version_of(edge, partition)
            for edge in reads
        }

    def _declared(self, asset: str) -> tuple[str, list[Edge]]:
        if asset == SOURCE_FILES:
            return str(LISTING_VERSION), []
        if asset == CORPUS_VERSION:
            return VERSION_CODE, [Edge(VERSION_READS, True)]
        if asset == RELEASE_GATE:
            return VERSION_CODE, [Edge(CORPUS_VERSION, False)]
        return str(self._graph.assets[asset].last.version), self._graph.edges(asset)

    def _version_of(self, edge: Edge, partition: str | None) -> str:
        made = self._contents.get(edge.asset, {})
        if None in made:
            return made[None]
        read = {name: content for name, content in made.items() if name is not None}
        if not edge.is_across and partition is not None:
            read = {name: content for name, content in read.items() if name == partition}
        elif edge.asset in self._known:
            read = {**self._recorded(edge.asset), **read}
        return sha256("".join(read[name] for name in sorted(read)).encode()).hexdigest()

    def _recorded(self, asset: str) -> Mapping[str, str]:
        """Return the recorded versions of all snapshots that there are: other recipes have some."""
        if asset not in self._others:
            found = self._instance.event_log_storage.get_latest_tags_by_partition(
                dg.AssetKey(asset), DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG]
            )
            self._others[asset] = {
                name: tags[DATA_VERSION_TAG]
                for name, tags in found.items()
                if name in self._partitions
            }
        return self._others[asset]

    def _pointed(self, asset: str) -> Tags:
        _, reads = self._declared(asset)
        names = [edge.asset for edge in reads]
        self._look_up([name for name in names if name not in self._pointers])
        return {
            get_input_event_pointer_tag(dg.AssetKey(name)): str(self._pointers.get(name, "NULL"))
            for name in names
        }

    def _look_up(self, names: list[str]) -> None:
        """Remember the newest materialization of assets that have one."""
        records = self._instance.get_asset_records([dg.AssetKey(n) for n in names]) if names else ()
        for entry in (record.asset_entry for record in records):
            if entry.last_materialization_storage_id is not None:
                name = entry.asset_key.to_user_string()
                self._pointers[name] = entry.last_materialization_storage_id


def last_tags(instance: DagsterInstance, asset: str, partition: str | None) -> Mapping[str, str]:
    """Return the tags of an asset's last materialization: its version and those of its inputs."""
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(
            dg.AssetKey(asset), asset_partitions=[partition] if partition else None
        ),
        limit=1,
    ).records
    materialization = records[0].asset_materialization if records else None
    return (materialization.tags or {}) if materialization else {}


def source_metadata(files: SnapshotFiles) -> dict[str, int | str]:
    """Return what the UI shows of a snapshot's pinned files."""
    size = sum(file.size for file in files.files)
    return {"files": len(files.files), "bytes": size, "location": files.location}


def _revoked(version: str, replaced_by: str) -> dg.AssetObservation:
    """Return what the UI shows on a version that takedowns revoked."""
    note = f"**Revoked**, replaced by {replaced_by}: train on that one."
    return dg.AssetObservation(
        CORPUS_VERSION,
        partition=version,
        description=f"revoked, replaced by {replaced_by}",
        metadata={"revoked": dg.MetadataValue.md(note), "replaced_by": replaced_by},
    )
