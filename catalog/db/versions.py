"""Versions in the registry: publishing and reading, inside a transaction of the caller."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, insert, select, update

from catalog.db.models import (
    Lock,
    Recipe,
    Version,
    VersionKey,
    VersionLineage,
    VersionShard,
)
from catalog.db.rows import KeyRow, LineageRow, ShardRow, VersionRow
from catalog.errors import AmbiguousName, CatalogConflict, UnknownName, VersionExists
from catalog.formats.names import check_name
from catalog.formats.store import relative_path

VERSION_COLUMNS = tuple(VersionRow.__dataclass_fields__)
SHARD_COLUMNS = tuple(ShardRow.__dataclass_fields__)
LINEAGE_COLUMNS = tuple(LineageRow.__dataclass_fields__)
KEY_COLUMNS = tuple(KeyRow.__dataclass_fields__)


def publish(
    connection: Connection,
    version: VersionRow,
    shards: Sequence[ShardRow],
    lineage: Sequence[LineageRow],
    now: str,
    keys: Sequence[KeyRow] = (),
) -> bool:
    """Write a version whole. False when the same one, by its manifest, is there already."""
    check_name("version", version.name)
    known = connection.scalar(select(Version.manifest_sha256).where(Version.name == version.name))
    if known == version.manifest_sha256:
        return False
    if known is not None:
        raise VersionExists(
            f"version {version.name} is published with manifest {known[:12]}, this one has "
            f"{version.manifest_sha256[:12]}: a version never changes, choose another --version"
        )
    for digest, table, what in (
        (version.lock_digest, Lock, "lock"),
        (version.recipe_digest, Recipe, "recipe"),
    ):
        if connection.scalar(select(table.digest).where(table.digest == digest)) is None:
            raise UnknownName(
                f"version {version.name} names {what} {digest[:12]}, which is not recorded: "
                f"call put_{what} before publishing"
            )
    relative_path(version.manifest_path)
    for shard in shards:
        for path in (shard.bin_path, shard.idx_path, shard.spans_path, shard.header_path):
            relative_path(path)
    for path in (*(row.path for row in lineage), *(row.path for row in keys)):
        relative_path(path)
    if len(set(lineage)) != len(lineage):
        raise CatalogConflict(
            f"version {version.name} lists a lineage file twice for the same place; nothing was "
            "changed: list each (table, snapshot, part, shard, path) once"
        )
    values = asdict(version)
    values["created_at"] = version.created_at or now
    connection.execute(insert(Version), [values])
    if shards:
        connection.execute(
            insert(VersionShard), [asdict(row) | {"version": version.name} for row in shards]
        )
    if lineage:
        connection.execute(
            insert(VersionLineage), [asdict(row) | {"version": version.name} for row in lineage]
        )
    if keys:
        connection.execute(
            insert(VersionKey), [asdict(row) | {"version": version.name} for row in keys]
        )
    return True


def listed(connection: Connection) -> list[VersionRow]:
    """All versions, in the order they were published."""
    found = connection.execute(select(Version).order_by(Version.id))
    return [VersionRow(**{name: getattr(row, name) for name in VERSION_COLUMNS}) for row in found]


def one(connection: Connection, name: str) -> VersionRow:
    """The version of that name."""
    row = connection.execute(select(Version).where(Version.name == name)).one_or_none()
    if row is None:
        names = list(connection.scalars(select(Version.name).order_by(Version.id.desc()).limit(5)))
        known = f"the newest are {', '.join(names)}" if names else "none is published yet"
        raise UnknownName(f"there is no version {name!r}: {known} (`catalog versions` lists all)")
    return VersionRow(**{column: getattr(row, column) for column in VERSION_COLUMNS})


def newest(connection: Connection) -> VersionRow:
    """The version published last that is not revoked."""
    row = connection.execute(
        select(Version).where(Version.status == "live").order_by(Version.id.desc()).limit(1)
    ).one_or_none()
    if row is None:
        raise UnknownName("no live version is published yet: build one, or name one by --version")
    return VersionRow(**{column: getattr(row, column) for column in VERSION_COLUMNS})


def set_status(connection: Connection, name: str, status: str) -> None:
    """Mark a version live or revoked."""
    one(connection, name)
    connection.execute(update(Version).where(Version.name == name).values(status=status))


def supersede(connection: Connection, old: str, new: str) -> None:
    """Mark `old` revoked and say which version took its place."""
    if old == new:
        raise CatalogConflict(f"version {old} cannot take its own place: name the older version")
    one(connection, old)
    one(connection, new)
    connection.execute(
        update(Version).where(Version.name == old).values(status="revoked", superseded_by=new)
    )


def shards(connection: Connection, name: str) -> list[ShardRow]:
    """The version's shards by group and name."""
    one(connection, name)
    found = connection.execute(
        select(VersionShard)
        .where(VersionShard.version == name)
        .order_by(VersionShard.group_id, VersionShard.shard)
    )
    return [ShardRow(**{column: getattr(row, column) for column in SHARD_COLUMNS}) for row in found]


def shard(connection: Connection, version: str, name: str) -> ShardRow:
    """One shard by GROUP/shard_00000, or by its bare name where only one group has it."""
    found = shards(connection, version)
    matches = [row for row in found if name in (row.full_name, row.shard)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        some = ", ".join(row.full_name for row in found[:3]) or "none"
        raise UnknownName(
            f"version {version} has no shard {name!r}: it has {some}"
            f"{' ...' if len(found) > 3 else ''} (`catalog resolve {version}` lists all)"
        )
    choices = ", ".join(row.full_name for row in matches[:4])
    raise AmbiguousName(f"{len(matches)} shards are named {name!r}, say which: {choices}")


def lineage(connection: Connection, name: str, table: str | None) -> list[LineageRow]:
    """The version's lineage files, of one table or of all."""
    one(connection, name)
    wanted = (
        select(VersionLineage).where(VersionLineage.version == name).order_by(VersionLineage.id)
    )
    if table is not None:
        wanted = wanted.where(VersionLineage.table_name == table)
    found = connection.execute(wanted)
    return [
        LineageRow(**{column: getattr(row, column) for column in LINEAGE_COLUMNS}) for row in found
    ]


def keys(connection: Connection, name: str) -> list[KeyRow]:
    """The version's key files; none where it was published without."""
    one(connection, name)
    found = connection.execute(
        select(VersionKey).where(VersionKey.version == name).order_by(VersionKey.id)
    )
    return [KeyRow(**{column: getattr(row, column) for column in KEY_COLUMNS}) for row in found]
