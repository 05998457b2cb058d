"""The registry: everything the catalog knows that is not a row a document.

One method is one transaction (see `database.py`). All of them may be called from any thread or
process at any time; a write either happens whole or not at all, and repeating it is harmless.
Methods for versions, takedowns, the order book, copies, judgements and leases are in files of
their own.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from catalog.db import schema
from catalog.db.copies import CopyMethods
from catalog.db.database import BATCH, Database, batches, by_kind, timestamp
from catalog.db.judgements import JudgementMethods
from catalog.db.leases import LeaseMethods
from catalog.db.models import (
    Artifact,
    ArtifactInput,
    ArtifactOutput,
    FailedPart,
    Snapshot,
    Source,
    SourceFile,
    TrainedModel,
    Version,
    VersionLineage,
    pick,
    read_rows,
    values_of,
)
from catalog.db.order_book import OrderBookMethods
from catalog.db.rows import (
    MEASURED,
    ArtifactRow,
    FailedPartRow,
    FileRow,
    InputRow,
    LeaseRow,
    ModelRow,
    OutputRow,
    SnapshotRow,
    SourceRow,
)
from catalog.db.takedowns import TakedownMethods
from catalog.db.versions import VersionMethods
from catalog.errors import CatalogConflict, ContentDrift, SnapshotChanged, UnknownName
from catalog.formats.names import check_name
from catalog.formats.places import located, portable
from catalog.formats.store import relative_path


class Registry(
    VersionMethods,
    TakedownMethods,
    OrderBookMethods,
    CopyMethods,
    JudgementMethods,
    LeaseMethods,
):
    """The catalog's database. Opening it touches nothing; `upgrade` creates its tables.

    `home` is the folder that places inside it are recorded relative to.
    """

    def __init__(
        self, url: str | URL, busy_timeout_s: float = 30.0, home: Path | None = None
    ) -> None:
        self.database = Database(url, busy_timeout_s)
        self.home = home

    def upgrade(self) -> tuple[str | None, str]:
        """Create or upgrade the tables; return the schema's revisions before and after."""
        return schema.upgrade(self.database)

    def check_schema(self) -> None:
        """Raise `SchemaMismatch` with what to do when the tables are behind or ahead of us."""
        schema.check(self.database)

    def integrity(self) -> list[str]:
        """Return what the database finds wrong with itself; reads all of it."""
        with self.database.read() as connection:
            return schema.integrity(connection)

    def under(self, *held: LeaseRow) -> Self:
        """Return the same registry for the holder of leases: once one is lost it writes nothing
        more, and raises `LeaseLost`."""
        fenced = copy.copy(self)
        fenced.database = self.database.under(held)
        return fenced

    # Sources and snapshots.

    def put_source(self, source: SourceRow) -> None:
        """Record a source; the last description of a name stands."""
        check_name("source", source.name)
        check_name("domain", source.domain)
        values = values_of(source)
        with self.database.write() as connection:
            known = update(Source).where(Source.c.name == source.name)
            if connection.execute(known.values(**values)).rowcount == 0:
                connection.execute(insert(Source).values(**values))

    def sources(self) -> list[SourceRow]:
        """Return all sources by name."""
        with self.database.read() as connection:
            return read_rows(connection, SourceRow, pick(Source, SourceRow).order_by(Source.c.name))

    def put_snapshot(
        self, snapshot: SnapshotRow, files: Sequence[FileRow], replace: bool = False
    ) -> None:
        """Pin a snapshot's files. A pinned snapshot is frozen unless `replace` says otherwise."""
        check_name("snapshot", snapshot.name)
        with self.database.write() as connection:
            named = select(Source.c.name).where(Source.c.name == snapshot.source)
            if connection.scalar(named) is None:
                raise UnknownName(
                    f"snapshot {snapshot.name} names source {snapshot.source!r}, which is not "
                    "recorded: call put_source first"
                )
            ours = Snapshot.c.name == snapshot.name
            known = connection.execute(select(Snapshot).where(ours)).one_or_none()
            if known is None:
                values = values_of(snapshot) | {"created_at": snapshot.created_at or timestamp()}
                connection.execute(insert(Snapshot).values(**values))
            else:
                before = _pinned(connection, snapshot.name)
                same = known.source == snapshot.source and _contents(before) == _contents(files)
                if not same and not replace:
                    raise _changed(snapshot, known.source, len(before))
                connection.execute(delete(SourceFile).where(SourceFile.c.snapshot == snapshot.name))
                moved = {"source": snapshot.source, "rank": snapshot.rank}
                connection.execute(update(Snapshot).where(ours).values(**moved))
            if files:
                rows = [
                    values_of(file)
                    | {"snapshot": snapshot.name, "uri": portable(file.uri, self.home)}
                    for file in files
                ]
                connection.execute(insert(SourceFile), rows)

    def check_snapshot(self, snapshot: SnapshotRow, same_files: bool) -> None:
        """Refuse what `put_snapshot` would, given whether the files are those that are pinned."""
        with self.database.read() as connection:
            ours = Snapshot.c.name == snapshot.name
            source = connection.scalar(select(Snapshot.c.source).where(ours))
            if source is not None and not (same_files and source == snapshot.source):
                raise _changed(snapshot, source, len(_pinned(connection, snapshot.name)))

    def snapshots(self, source: str | None = None) -> list[SnapshotRow]:
        """Return snapshots in rank order."""
        wanted = pick(Snapshot, SnapshotRow).order_by(Snapshot.c.rank, Snapshot.c.name)
        if source is not None:
            wanted = wanted.where(Snapshot.c.source == source)
        with self.database.read() as connection:
            return read_rows(connection, SnapshotRow, wanted)

    def source_files(self, snapshot: str) -> list[FileRow]:
        """Return the snapshot's pinned files by part, with where they lie now."""
        with self.database.read() as connection:
            rows = _pinned(connection, snapshot)
        return [replace(row, uri=located(row.uri, self.home)) for row in rows]

    def versions_with(self, snapshot: str) -> list[str]:
        """Return the live versions that hold documents of a snapshot, oldest first."""
        with self.database.read() as connection:
            return _live_versions(connection, snapshot)

    def forget_snapshot(self, snapshot: str) -> None:
        """Unpin a snapshot; refused while a live version holds documents of it."""
        with self.database.write() as connection:
            holding = _live_versions(connection, snapshot)
            if holding:
                raise CatalogConflict(
                    f"snapshot {snapshot} stays: the live version {holding[0]} has documents of it"
                )
            connection.execute(delete(SourceFile).where(SourceFile.c.snapshot == snapshot))
            connection.execute(delete(Snapshot).where(Snapshot.c.name == snapshot))

    # Artifacts and models.

    def record_artifacts(self, rows: Sequence[ArtifactRow]) -> int:
        """Record results of tasks; return how many were new. `ContentDrift` names both contents
        when one fingerprint has two.

        What was recorded before stays, but for what computing took (`MEASURED`), which the first
        row that knows it fills in. Equal parts (two empty ones, say) share a fingerprint: the first one recorded
        gives the row its snapshot and part.
        """
        fresh: dict[tuple[str, str], ArtifactRow] = {}
        for row in rows:
            for output in row.outputs:
                relative_path(output.path)
            key = (row.stage, row.fingerprint)
            known = fresh.setdefault(key, row)
            _refuse_drift(row, known.content_hash)
            if known.cpu_seconds is None and row.cpu_seconds is not None:
                fresh[key] = replace(known, **_measured(row))
        timed = []
        with self.database.write() as connection:
            for found in _existing(connection, list(fresh)):
                row = fresh.pop((found.stage, found.fingerprint))
                _refuse_drift(row, found.content_hash)
                if found.cpu_seconds is None and row.cpu_seconds is not None:
                    timed.append({"artifact": found.id} | _measured(row))
            if timed:
                late = update(Artifact).where(Artifact.c.id == bindparam("artifact"))
                connection.execute(late.values({n: bindparam(n) for n in MEASURED}), timed)
            if fresh:
                _insert_artifacts(connection, list(fresh.values()))
        return len(fresh)

    def quarantine(self, rows: Sequence[FailedPartRow]) -> None:
        """Record parts that failed for good; the last failure of a task stands."""
        now = timestamp()
        with self.database.write() as connection:
            for row in rows:
                key = (FailedPart.c.stage == row.stage, FailedPart.c.fingerprint == row.fingerprint)
                connection.execute(delete(FailedPart).where(*key))
                connection.execute(
                    insert(FailedPart).values(values_of(replace(row, failed_at=now)))
                )

    def failed_parts(
        self, stage: str | None = None, snapshot: str | None = None
    ) -> list[FailedPartRow]:
        """Return the quarantined parts, by stage, snapshot and part."""
        order = (FailedPart.c.stage, FailedPart.c.snapshot, FailedPart.c.part)
        wanted = pick(FailedPart, FailedPartRow).where(*_failed(stage, snapshot)).order_by(*order)
        with self.database.read() as connection:
            return read_rows(connection, FailedPartRow, wanted)

    def forget_failed_parts(self, stage: str | None = None, snapshot: str | None = None) -> int:
        """Forget that parts failed, so that the next run tries them again; return how many."""
        with self.database.write() as connection:
            done = connection.execute(delete(FailedPart).where(*_failed(stage, snapshot)))
        return done.rowcount

    def artifacts(self, stage: str | None = None, snapshot: str | None = None) -> list[ArtifactRow]:
        """Return artifacts by stage, snapshot and part, with their outputs and inputs."""
        return list(self.stream_artifacts(stage, snapshot))

    def stream_artifacts(
        self, stage: str | None = None, snapshot: str | None = None
    ) -> Iterator[ArtifactRow]:
        """Yield artifacts by stage, snapshot and part, a few hundred in memory at a time."""
        wanted = pick(Artifact, ArtifactRow).add_columns(Artifact.c.id)
        if stage is not None:
            wanted = wanted.where(Artifact.c.stage == stage)
        if snapshot is not None:
            wanted = wanted.where(Artifact.c.snapshot == snapshot)
        order = (Artifact.c.stage, Artifact.c.snapshot, Artifact.c.part, Artifact.c.fingerprint)
        with self.database.read() as connection:
            rows = connection.execute(wanted.order_by(*order).execution_options(yield_per=BATCH))
            for some in rows.partitions():
                numbers = [number for *_, number in some]
                outputs = _by_artifact(connection, ArtifactOutput, OutputRow, numbers)
                inputs = _by_artifact(connection, ArtifactInput, InputRow, numbers)
                for *values, n in some:
                    made, used = tuple(outputs.get(n, ())), tuple(inputs.get(n, ()))
                    yield replace(ArtifactRow(*values), outputs=made, inputs=used)

    def stored_stages(self) -> dict[str, tuple[int, int]]:
        """Return how many artifacts each stage has, and their bytes."""
        count, size = func.count(), func.sum(Artifact.c.bytes)
        counted = select(Artifact.c.stage, count, size).group_by(Artifact.c.stage)
        with self.database.read() as connection:
            rows = connection.execute(counted.order_by(Artifact.c.stage)).all()
        return {stage: (number, int(total)) for stage, number, total in rows}

    def computed_between(self, since: str, until: str) -> tuple[int, float, int]:
        """Return how many artifacts were recorded after one time and not after another, the CPU
        seconds that they took, and their bytes."""
        sums = func.count(), func.sum(Artifact.c.cpu_seconds), func.sum(Artifact.c.bytes)
        asked = select(*sums).where(Artifact.c.created_at > since, Artifact.c.created_at <= until)
        with self.database.read() as connection:
            number, cpu_seconds, written = connection.execute(asked).one()
        return number, float(cpu_seconds or 0.0), int(written or 0)

    def artifact_contents(self, stage: str, snapshot: str | None) -> Iterator[tuple[str, str]]:
        """Yield fingerprint and content hash of each artifact of a stage for one snapshot, or of a
        stage over all of them."""
        wanted = select(Artifact.c.fingerprint, Artifact.c.content_hash)
        wanted = wanted.where(Artifact.c.stage == stage, Artifact.c.snapshot == snapshot)
        wanted = wanted.execution_options(yield_per=10_000)
        with self.database.read() as connection:
            yield from connection.execute(wanted).tuples()

    def forget_artifacts(self, keys: Sequence[tuple[str, str]]) -> None:
        """Remove the rows of artifacts (stage, fingerprint) whose files were deleted."""
        with self.database.write() as connection:
            for batch in batches([row.id for row in _existing(connection, keys)]):
                for table in (ArtifactInput, ArtifactOutput):
                    connection.execute(delete(table).where(table.c.artifact_id.in_(batch)))
                connection.execute(delete(Artifact).where(Artifact.c.id.in_(batch)))

    def put_model(self, model: ModelRow) -> None:
        """Record a model once by kind and digest; the last path and metrics stand."""
        relative_path(model.path)
        values = values_of(model)
        with self.database.write() as connection:
            latest = {name: values[name] for name in ("path", "fingerprint", "metrics")}
            known = update(TrainedModel).where(
                TrainedModel.c.kind == model.kind, TrainedModel.c.sha256 == model.sha256
            )
            if connection.execute(known.values(**latest)).rowcount == 0:
                values["created_at"] = model.created_at or timestamp()
                connection.execute(insert(TrainedModel).values(**values))

    def models(self, kind: str | None = None) -> list[ModelRow]:
        """Return models in the order they were recorded."""
        wanted = pick(TrainedModel, ModelRow).order_by(TrainedModel.c.id)
        if kind is not None:
            wanted = wanted.where(TrainedModel.c.kind == kind)
        with self.database.read() as connection:
            return read_rows(connection, ModelRow, wanted)


def _pinned(connection: Connection, snapshot: str) -> list[FileRow]:
    wanted = pick(SourceFile, FileRow).where(SourceFile.c.snapshot == snapshot)
    return read_rows(connection, FileRow, wanted.order_by(SourceFile.c.part))


def _changed(snapshot: SnapshotRow, source: str, files: int) -> SnapshotChanged:
    counted = f"{files} file{'' if files == 1 else 's'}"
    pinned = f"snapshot {snapshot.name} is pinned with {counted} of source {source}"
    if snapshot.source != source:
        return SnapshotChanged(
            f"{pinned}, and the recipe names it under source {snapshot.source}: list it under "
            f"{source}, or give the delivery another name"
        )
    return SnapshotChanged(
        f"{pinned}, and its files have changed: a snapshot is frozen, give the new delivery "
        "another name"
    )


def _contents(pinned: Sequence[FileRow]) -> list[tuple[int, str, int, str]]:
    """Return what a delivery is: where its files lie, and its rank, may change."""
    return sorted((file.part, file.name, file.bytes, file.digest) for file in pinned)


def _live_versions(connection: Connection, snapshot: str) -> list[str]:
    holds = exists().where(
        VersionLineage.c.version == Version.c.name, VersionLineage.c.snapshot == snapshot
    )
    wanted = select(Version.c.name).where(Version.c.status == "live", holds)
    return list(connection.scalars(wanted.order_by(Version.c.created_at, Version.c.name)))


def _failed(stage: str | None, snapshot: str | None) -> list[ColumnElement[bool]]:
    given = ((FailedPart.c.stage, stage), (FailedPart.c.snapshot, snapshot))
    return [column == value for column, value in given if value is not None]


def _existing(connection: Connection, keys: Sequence[tuple[str, str]]) -> Iterator[Any]:
    """Yield rows of those that are recorded; one stage at a time, so that SQLite uses the index."""
    for stage, fingerprints in by_kind(keys):
        for some in batches(fingerprints):
            yield from connection.execute(
                select(Artifact).where(Artifact.c.stage == stage, Artifact.c.fingerprint.in_(some))
            ).all()


def _insert_artifacts(connection: Connection, rows: list[ArtifactRow]) -> None:
    now = timestamp()
    values = [values_of(row) | {"created_at": row.created_at or now} for row in rows]
    numbers = connection.scalars(
        insert(Artifact).returning(Artifact.c.id, sort_by_parameter_order=True), values
    ).all()
    pairs = list(zip(numbers, rows, strict=True))
    outputs = [values_of(out) | {"artifact_id": n} for n, row in pairs for out in row.outputs]
    inputs = [values_of(item) | {"artifact_id": n} for n, row in pairs for item in row.inputs]
    for table, items in ((ArtifactOutput, outputs), (ArtifactInput, inputs)):
        if items:
            connection.execute(insert(table), items)


def _by_artifact(
    connection: Connection, table: Any, row: type[Any], wanted: Sequence[int]
) -> dict[int, list[Any]]:
    """Return outputs or inputs of some artifacts by the artifact's number, each list by
    name."""
    found: dict[int, list[Any]] = {}
    columns = pick(table, row).add_columns(table.c.artifact_id)
    for *values, number in connection.execute(
        columns.where(table.c.artifact_id.in_(wanted)).order_by(table.c.artifact_id, table.c.name)
    ):
        found.setdefault(number, []).append(row(*values))
    return found


def _measured(row: ArtifactRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in MEASURED}


def _refuse_drift(row: ArtifactRow, known: str) -> None:
    if row.content_hash != known:
        raise ContentDrift(
            f"stage {row.stage} gave two results for one fingerprint {row.fingerprint}: content "
            f"{known} was recorded, {row.content_hash} now; the stage's code changed "
            "without its version, or is not deterministic: raise the stage's VERSION or fix it"
        )
