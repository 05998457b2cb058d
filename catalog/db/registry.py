"""The registry: everything the catalog knows that is not a row a document.

One method is one transaction (see `database.py`). All of them may be called from any thread or
process at any time; a write either happens whole or not at all, and repeating it is harmless.
"""

import copy
from collections.abc import Sequence
from dataclasses import asdict
from typing import Self

from sqlalchemy import URL, insert, select, update

from catalog.db import (
    artifacts,
    leases,
    measures,
    schema,
    snapshots,
    suppressions,
    takedown_claims,
    versions,
)
from catalog.db.database import Database, timestamp
from catalog.db.models import Lock, Recipe, TrainedModel
from catalog.db.rows import (
    VERSION_STATES,
    ActionRow,
    ArtifactRow,
    FileRow,
    GateRow,
    KeyRow,
    LeaseRow,
    LineageRow,
    LockRow,
    MetricRow,
    ModelRow,
    RecipeRow,
    ShardRow,
    SnapshotRow,
    SourceRow,
    VersionRow,
)
from catalog.db.takedown_registry import TakedownRegistry
from catalog.errors import CatalogError, ContentDrift, UnknownName
from catalog.formats.store import relative_path


class Registry(TakedownRegistry):
    """The catalog's database. Opening it touches nothing; `upgrade` creates its tables."""

    def __init__(self, url: str | URL, busy_timeout_s: float = 30.0) -> None:
        self.database = Database(url, busy_timeout_s)

    def upgrade(self) -> tuple[str | None, str]:
        """Create or upgrade the tables; gives the schema's revisions before and after."""
        return schema.upgrade(self.database)

    def check_schema(self) -> None:
        """Raise `SchemaMismatch` with what to do when the tables are behind or ahead of us."""
        schema.check(self.database)

    def integrity(self) -> list[str]:
        """What the database finds wrong with itself; reads all of it."""
        with self.database.read() as connection:
            return schema.integrity(connection)

    # Sources and snapshots

    def put_source(self, source: SourceRow) -> None:
        """Record a source; the last description of a name stands."""
        with self.database.write() as connection:
            snapshots.put_source(connection, source)

    def put_snapshot(
        self, snapshot: SnapshotRow, files: Sequence[FileRow], replace: bool = False
    ) -> None:
        """Pin a snapshot's files. A pinned snapshot is frozen unless `replace` says otherwise."""
        with self.database.write() as connection:
            snapshots.put(connection, snapshot, files, replace, timestamp())

    def versions_with(self, snapshot: str) -> list[str]:
        """The live versions that hold documents of a snapshot."""
        with self.database.read() as connection:
            return snapshots.live_versions(connection, snapshot)

    def forget_snapshot(self, snapshot: str) -> None:
        """Unpin a snapshot; refused while a live version holds documents of it."""
        with self.database.write() as connection:
            snapshots.forget(connection, snapshot)

    def sources(self) -> list[SourceRow]:
        """All sources by name."""
        with self.database.read() as connection:
            return snapshots.sources(connection)

    def snapshots(self, source: str | None = None) -> list[SnapshotRow]:
        """Snapshots in rank order."""
        with self.database.read() as connection:
            return snapshots.listed(connection, source)

    def source_files(self, snapshot: str) -> list[FileRow]:
        """The snapshot's pinned files by part."""
        with self.database.read() as connection:
            return snapshots.files(connection, snapshot)

    # Artifacts and models

    def record_artifacts(self, rows: Sequence[ArtifactRow]) -> int:
        """Record results of tasks; gives how many were new. `ContentDrift` names both contents
        when one fingerprint has two."""
        with self.database.write() as connection:
            return artifacts.record(connection, rows, timestamp())

    def artifacts(self, stage: str | None = None, snapshot: str | None = None) -> list[ArtifactRow]:
        """Artifacts by stage, snapshot and part."""
        with self.database.read() as connection:
            return artifacts.listed(connection, stage, snapshot)

    def artifact_contents(self, stage: str) -> dict[str, str]:
        """Content hashes of a stage's artifacts by fingerprint."""
        with self.database.read() as connection:
            return artifacts.contents(connection, stage)

    def forget_artifacts(self, keys: Sequence[tuple[str, str]]) -> None:
        """Remove the rows of artifacts (stage, fingerprint) whose files were deleted."""
        with self.database.write() as connection:
            artifacts.forget(connection, keys)

    def put_model(self, model: ModelRow) -> None:
        """Record a model once by kind and digest; the last path and metrics stand."""
        relative_path(model.path)
        with self.database.write() as connection:
            where = (TrainedModel.kind == model.kind, TrainedModel.sha256 == model.sha256)
            values = {
                "path": model.path,
                "fingerprint": model.fingerprint,
                "metrics": dict(model.metrics),
            }
            done = connection.execute(update(TrainedModel).where(*where).values(**values))
            if done.rowcount == 0:
                connection.execute(
                    insert(TrainedModel).values(
                        kind=model.kind,
                        sha256=model.sha256,
                        created_at=model.created_at or timestamp(),
                        **values,
                    )
                )

    def models(self, kind: str | None = None) -> list[ModelRow]:
        """Models in the order they were recorded."""
        wanted = select(TrainedModel).order_by(TrainedModel.id)
        if kind is not None:
            wanted = wanted.where(TrainedModel.kind == kind)
        with self.database.read() as connection:
            return [
                ModelRow(r.kind, r.sha256, r.path, r.fingerprint, r.metrics, r.created_at)
                for r in connection.execute(wanted)
            ]

    # Recipes, locks, versions

    def put_recipe(self, recipe: RecipeRow) -> None:
        """Record a recipe's text under its digest."""
        with self.database.write() as connection:
            known = connection.scalar(select(Recipe.yaml).where(Recipe.digest == recipe.digest))
            if known is None:
                values = asdict(recipe) | {"created_at": recipe.created_at or timestamp()}
                connection.execute(insert(Recipe).values(**values))
            elif known != recipe.yaml:
                raise ContentDrift(_two_texts("recipe", recipe.digest))

    def put_lock(self, lock: LockRow) -> None:
        """Record a lock's JSON under its digest."""
        with self.database.write() as connection:
            known = connection.scalar(select(Lock.json).where(Lock.digest == lock.digest))
            if known is None:
                values = asdict(lock) | {"created_at": lock.created_at or timestamp()}
                connection.execute(insert(Lock).values(**values))
            elif known != lock.json:
                raise ContentDrift(_two_texts("lock", lock.digest))

    def recipe(self, digest: str) -> RecipeRow:
        """The recipe of that digest."""
        with self.database.read() as connection:
            row = connection.execute(select(Recipe).where(Recipe.digest == digest)).one_or_none()
        if row is None:
            raise UnknownName(f"no recipe with digest {digest} is recorded")
        return RecipeRow(row.digest, row.name, row.yaml, row.created_at)

    def lock(self, digest: str) -> LockRow:
        """The lock of that digest."""
        with self.database.read() as connection:
            row = connection.execute(select(Lock).where(Lock.digest == digest)).one_or_none()
        if row is None:
            raise UnknownName(f"no lock with digest {digest} is recorded")
        return LockRow(row.digest, row.json, row.created_at)

    def publish_version(
        self,
        version: VersionRow,
        shards: Sequence[ShardRow],
        lineage: Sequence[LineageRow],
        revokes: Sequence[str] = (),
        actions: Sequence[ActionRow] = (),
        keys: Sequence[KeyRow] = (),
        orders_state: str | None = None,
    ) -> bool:
        """Publish a version whole; False when that very one is published already.

        In the same transaction the versions in `revokes` are marked revoked and superseded by
        it, and `actions` of takedowns are recorded: a crash leaves all of it or nothing. With
        `orders_state` (see `orders`) it is refused when the standing orders have changed since.
        """
        with self.database.write() as connection:
            if orders_state is not None:
                suppressions.expect(connection, orders_state)
            done = versions.publish(connection, version, shards, lineage, timestamp(), keys)
            for old in revokes:
                versions.supersede(connection, old, version.name)
            takedown_claims.record_actions(connection, actions, timestamp())
            return done

    def supersede_version(self, old: str, new: str) -> None:
        """Mark `old` revoked and say that `new`, which is published, took its place."""
        with self.database.write() as connection:
            versions.supersede(connection, old, new)

    def set_version_status(self, name: str, status: str) -> None:
        """Mark a version `live` or `revoked`."""
        if status not in VERSION_STATES:
            raise CatalogError(f"a version is one of {', '.join(VERSION_STATES)}, not {status!r}")
        with self.database.write() as connection:
            versions.set_status(connection, name, status)

    def versions(self) -> list[VersionRow]:
        """All versions, oldest first."""
        with self.database.read() as connection:
            return versions.listed(connection)

    def version(self, name: str | None = None) -> VersionRow:
        """The version of that name, or the newest live one."""
        with self.database.read() as connection:
            return versions.newest(connection) if name is None else versions.one(connection, name)

    def version_shards(self, name: str) -> list[ShardRow]:
        """The version's shards by group and name."""
        with self.database.read() as connection:
            return versions.shards(connection, name)

    def version_shard(self, version: str, shard: str) -> ShardRow:
        """One shard, by GROUP/shard_00000 or by a bare name that only one group has."""
        with self.database.read() as connection:
            return versions.shard(connection, version, shard)

    def lineage_files(self, version: str, table: str | None = None) -> list[LineageRow]:
        """The version's lineage files, of one table or of all."""
        with self.database.read() as connection:
            return versions.lineage(connection, version, table)

    def key_files(self, version: str) -> list[KeyRow]:
        """The version's key files; none where it was published without."""
        with self.database.read() as connection:
            return versions.keys(connection, version)

    # Gates and metrics

    def put_gate(self, gate: GateRow) -> None:
        """Record how a release condition came out; the last outcome stands."""
        with self.database.write() as connection:
            measures.put_gate(connection, gate, timestamp())

    def gates(self, version: str) -> list[GateRow]:
        """Release conditions of a version."""
        with self.database.read() as connection:
            return measures.gates(connection, version)

    def add_metrics(self, rows: Sequence[MetricRow]) -> None:
        """Write metrics; the last value of a (name, snapshot, version) stands."""
        with self.database.write() as connection:
            measures.add(connection, rows, timestamp())

    def metrics(
        self, name: str | None = None, snapshot: str | None = None, version: str | None = None
    ) -> list[MetricRow]:
        """Metrics by name, snapshot and version; what is left out is not asked for."""
        with self.database.read() as connection:
            return measures.listed(connection, name, snapshot, version)

    # Leases

    def acquire_lease(
        self, name: str, owner: str, ttl_s: float, rivals: tuple[str, ...] | None = None
    ) -> LeaseRow:
        """Take the lease on `name`, or extend our own; `LeaseHeld` names another holder.

        `rivals` are the leases that others may take once it ran out: it is lost when one was.
        """
        with self.database.write() as connection:
            return leases.acquire(connection, name, owner, ttl_s, rivals)

    def renew_lease(self, lease: LeaseRow, ttl_s: float) -> LeaseRow:
        """Extend our lease; `LeaseLost` when it is no longer ours."""
        with self.database.write() as connection:
            return leases.renew(connection, lease, ttl_s)

    def under(self, *held: LeaseRow) -> Self:
        """The same registry for the holder of leases: once one is lost it writes nothing more,
        and raises `LeaseLost`."""
        fenced = copy.copy(self)
        fenced.database = self.database.under(held)
        return fenced

    def expect_leases(self) -> None:
        """Raise `LeaseLost` when a lease that we work under is lost: to be asked before files are
        deleted or published. Costs nothing where it was asked less than a second ago."""
        self.database.expect_leases()

    def leases(self, prefix: str) -> list[LeaseRow]:
        """The leases that run now, of all names that begin so."""
        with self.database.read() as connection:
            return leases.held(connection, prefix)

    def release_lease(self, name: str, owner: str) -> bool:
        """Give our lease back; False when it was no longer ours."""
        with self.database.write() as connection:
            return leases.release(connection, name, owner)


def _two_texts(what: str, digest: str) -> str:
    return (
        f"{what} {digest[:12]} is recorded with other text: two texts cannot share a digest, "
        f"the {what}'s digest was computed wrongly"
    )
