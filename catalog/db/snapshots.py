"""Sources, snapshots and their pinned files, inside a transaction of the caller."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, exists, insert, select, update

from catalog.db.models import Snapshot, Source, SourceFile, Version, VersionLineage
from catalog.db.rows import FileRow, SnapshotRow, SourceRow
from catalog.errors import CatalogConflict, SnapshotChanged, UnknownName
from catalog.formats.names import check_name


def put_source(connection: Connection, source: SourceRow) -> None:
    """Record a source; the last description of a name stands."""
    check_name("source", source.name)
    check_name("domain", source.domain)
    values = asdict(source)
    done = connection.execute(update(Source).where(Source.name == source.name).values(**values))
    if done.rowcount == 0:
        connection.execute(insert(Source).values(**values))


def put(
    connection: Connection,
    snapshot: SnapshotRow,
    pinned: Sequence[FileRow],
    replace: bool,
    now: str,
) -> None:
    """Pin a snapshot's files. A pinned snapshot is frozen unless `replace` says otherwise."""
    check_name("snapshot", snapshot.name)
    if connection.scalar(select(Source.name).where(Source.name == snapshot.source)) is None:
        raise UnknownName(
            f"snapshot {snapshot.name} names source {snapshot.source!r}, which is not recorded: "
            "call put_source first"
        )
    known = connection.execute(select(Snapshot).where(Snapshot.name == snapshot.name)).one_or_none()
    if known is None:
        values = asdict(snapshot) | {"created_at": snapshot.created_at or now}
        connection.execute(insert(Snapshot).values(**values))
    else:
        before = files(connection, snapshot.name)
        same = known.source == snapshot.source and _contents(before) == _contents(pinned)
        if not same and not replace:
            raise SnapshotChanged(
                f"snapshot {snapshot.name} is pinned with {len(before)} files of source "
                f"{known.source}, and what comes now differs: a snapshot is frozen, give the new "
                "delivery another name"
            )
        connection.execute(delete(SourceFile).where(SourceFile.snapshot == snapshot.name))
        connection.execute(
            update(Snapshot)
            .where(Snapshot.name == snapshot.name)
            .values(source=snapshot.source, rank=snapshot.rank)
        )
    if pinned:
        rows = [asdict(file) | {"snapshot": snapshot.name} for file in pinned]
        connection.execute(insert(SourceFile), rows)


def live_versions(connection: Connection, snapshot: str) -> list[str]:
    """The live versions that hold documents of a snapshot, oldest first."""
    found = connection.scalars(
        select(Version.name)
        .where(
            Version.status == "live",
            exists().where(
                VersionLineage.version == Version.name, VersionLineage.snapshot == snapshot
            ),
        )
        .order_by(Version.created_at, Version.name)
    )
    return list(found)


def forget(connection: Connection, snapshot: str) -> None:
    """Unpin a snapshot; no harm where it is not pinned."""
    holding = live_versions(connection, snapshot)
    if holding:
        raise CatalogConflict(
            f"snapshot {snapshot} stays: the live version {holding[0]} holds documents of it"
        )
    connection.execute(delete(SourceFile).where(SourceFile.snapshot == snapshot))
    connection.execute(delete(Snapshot).where(Snapshot.name == snapshot))


def _contents(pinned: Sequence[FileRow]) -> list[tuple[int, str, int, str]]:
    """What a delivery is: where its files lie, and its rank, may change."""
    return sorted((file.part, file.name, file.bytes, file.digest) for file in pinned)


def sources(connection: Connection) -> list[SourceRow]:
    """All sources by name."""
    found = connection.execute(select(Source).order_by(Source.name))
    return [SourceRow(r.name, r.kind, r.domain, r.licence, r.uri) for r in found]


def listed(connection: Connection, source: str | None) -> list[SnapshotRow]:
    """Snapshots in rank order."""
    wanted = select(Snapshot).order_by(Snapshot.rank, Snapshot.name)
    if source is not None:
        wanted = wanted.where(Snapshot.source == source)
    found = connection.execute(wanted)
    return [SnapshotRow(r.name, r.source, r.rank, r.created_at) for r in found]


def files(connection: Connection, snapshot: str) -> list[FileRow]:
    """The snapshot's pinned files by part."""
    found = connection.execute(
        select(SourceFile).where(SourceFile.snapshot == snapshot).order_by(SourceFile.part)
    )
    return [FileRow(r.part, r.name, r.uri, r.bytes, r.digest) for r in found]
