"""The registry's methods for recipes, locks and versions, their gates and metrics."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Table, Text, bindparam, delete, insert, select, update

from catalog.db.database import Database, timestamp
from catalog.db.judgements import hand_on
from catalog.db.models import (
    Gate,
    Lock,
    Metric,
    Recipe,
    Version,
    VersionKey,
    VersionLineage,
    VersionShard,
    pick,
    read_rows,
    values_of,
)
from catalog.db.order_book import record, revoked_in
from catalog.db.rows import (
    GATES,
    LATEST,
    ActionRow,
    GateRow,
    KeyRow,
    LineageRow,
    LockRow,
    MetricRow,
    RecipeRow,
    ShardRow,
    VersionRow,
)
from catalog.db.takedowns import expect_orders, record_actions
from catalog.errors import (
    AmbiguousName,
    CatalogConflict,
    ContentDrift,
    NotReleased,
    UnknownName,
    VersionExists,
)
from catalog.figures import counted
from catalog.formats.names import check_name
from catalog.formats.store import relative_path

REVOKED = "revoked"


class VersionMethods:
    """What `Registry` knows of versions; each method is one transaction."""

    database: Database

    # Recipes and locks.

    def put_recipe(self, recipe: RecipeRow) -> None:
        """Record a recipe's text under its digest."""
        with self.database.write() as connection:
            _put_text(connection, Recipe, recipe, "recipe", recipe.yaml)

    def put_lock(self, lock: LockRow) -> None:
        """Record a lock's JSON under its digest."""
        with self.database.write() as connection:
            _put_text(connection, Lock, lock, "lock", lock.json)

    def recipe(self, digest: str) -> RecipeRow:
        """Return the recipe of that digest."""
        with self.database.read() as connection:
            wanted = pick(Recipe, RecipeRow).where(Recipe.c.digest == digest)
            found = read_rows(connection, RecipeRow, wanted)
        if not found:
            raise UnknownName(f"no recipe with digest {digest} is recorded")
        return found[0]

    def lock(self, digest: str) -> LockRow:
        """Return the lock of that digest."""
        with self.database.read() as connection:
            wanted = pick(Lock, LockRow).where(Lock.c.digest == digest)
            found = read_rows(connection, LockRow, wanted)
        if not found:
            raise UnknownName(f"no lock with digest {digest} is recorded")
        return found[0]

    # Versions.

    def publish_version(
        self,
        version: VersionRow,
        shards: Sequence[ShardRow],
        lineage: Sequence[LineageRow],
        revokes: Sequence[str] = (),
        actions: Sequence[ActionRow] = (),
        keys: Sequence[KeyRow] = (),
        orders_state: str | None = None,
        gates: Sequence[GateRow] | None = None,
        removed: Collection[tuple[str, str, int, int]] = (),
    ) -> bool:
        """Publish a version whole; False when that very one, by its manifest, is published already.

        With `gates`, how its release conditions came out, it is a candidate until
        `release_version`; without, nothing judges it and it is released at once.

        In the same transaction the versions in `revokes` are marked revoked and superseded by
        it, `actions` of takedowns are recorded, and judgements handed on, less those about records
        (id, snapshot, part, offset) in `removed`: a crash leaves all of it or nothing. With
        `orders_state` (see `orders`) it is refused when the standing orders have changed since.
        """
        with self.database.write() as connection:
            if orders_state is not None:
                expect_orders(connection, orders_state)
            is_new = not _is_published(connection, version)
            if is_new:
                _refuse_wrong_rows(connection, version, shards, lineage, keys)
                values = values_of(version) | {"created_at": version.created_at or timestamp()}
                if gates is None:
                    values |= _release("publisher", "published without gates")
                connection.execute(insert(Version), [values])
                _put_gates(connection, gates or ())
                for table, rows in (
                    (VersionShard, shards),
                    (VersionLineage, lineage),
                    (VersionKey, keys),
                ):
                    listed = [values_of(row) | {"version": version.name} for row in rows]
                    if listed:
                        connection.execute(insert(table), listed)
            revoked = {}
            for old in revokes:
                if _supersede(connection, old, version.name):
                    revoked[old] = version.name
                hand_on(connection, old, version.name, removed)
            fresh = record_actions(connection, actions)
            record(connection, REVOKED, actions=fresh, revoked=revoked)
            return is_new

    def versions(self) -> list[VersionRow]:
        """Return all versions, oldest first."""
        with self.database.read() as connection:
            wanted = pick(Version, VersionRow).order_by(Version.c.id)
            return read_rows(connection, VersionRow, wanted)

    def version(self, name: str | None = None) -> VersionRow:
        """Return the version of that name, and of `latest` the newest released one. Without a
        name the newest candidate is good enough where no version is released."""
        with self.database.read() as connection:
            if name is not None and name != LATEST:
                return _version(connection, name)
            live = pick(Version, VersionRow).where(Version.c.status == "live")
            newest = live.order_by(Version.c.id.desc()).limit(1)
            for found in read_rows(
                connection, VersionRow, newest.where(Version.c.released_at.is_not(None))
            ):
                return found
            for candidate in read_rows(connection, VersionRow, newest):
                if name is None:
                    return candidate
                raise UnknownName(
                    f"no live version is released yet: {candidate.name} is a candidate; name it, "
                    f"or let `catalog release {candidate.name}` show what is missing"
                )
        raise UnknownName("no live version is published yet: build one, or pass --version")

    def release_version(self, name: str, by: str, reason: str, override: bool = False) -> bool:
        """Make a candidate a released version; False where it is one already.

        Refused while a gate has not passed, unless `override`; the reason stands in the catalog.
        """
        with self.database.write() as connection:
            row = _version(connection, name)
            if row.status != "live":
                instead = f"; replaced by {row.superseded_by}" if row.superseded_by else ""
                raise NotReleased(f"version {name} is revoked{instead}")
            if row.released_at is not None:
                return False
            closed = [gate for gate in _gates(connection, name) if not gate.passed]
            if closed and not override:
                why = "; ".join(f"{gate.name}: {gate.detail.get('message', '')}" for gate in closed)
                raise NotReleased(
                    f"version {name} stays a candidate: {why}; fix that, or release it anyway "
                    "with --override REASON"
                )
            values = _release(by, reason)
            connection.execute(update(Version).where(Version.c.name == name).values(**values))
            return True

    def version_shards(self, name: str) -> list[ShardRow]:
        """Return the version's shards by group and name."""
        with self.database.read() as connection:
            return _shards(connection, name)

    def version_shard(self, version: str, shard: str) -> ShardRow:
        """Return one shard, by GROUP/shard_00000 or by a bare name that only one group has."""
        with self.database.read() as connection:
            found = _shards(connection, version)
        matches = [row for row in found if shard in (row.full_name, row.shard)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            some = ", ".join(row.full_name for row in found[:3]) or "none"
            raise UnknownName(
                f"version {version} has no shard {shard!r}: it has {some}"
                f"{' ...' if len(found) > 3 else ''} (`catalog resolve {version}` lists all)"
            )
        choices = ", ".join(row.full_name for row in matches[:4])
        raise AmbiguousName(
            f"{counted(len(matches), 'shard')} are named {shard!r}, choose one of: {choices}"
        )

    def lineage_files(self, version: str, table: str | None = None) -> list[LineageRow]:
        """Return the version's lineage files, of one table or of all."""
        wanted = pick(VersionLineage, LineageRow).where(VersionLineage.c.version == version)
        if table is not None:
            wanted = wanted.where(VersionLineage.c.table_name == table)
        with self.database.read() as connection:
            _version(connection, version)
            return read_rows(connection, LineageRow, wanted.order_by(VersionLineage.c.id))

    def key_files(self, version: str) -> list[KeyRow]:
        """Return the version's key files; none where it was published without."""
        wanted = pick(VersionKey, KeyRow).where(VersionKey.c.version == version)
        with self.database.read() as connection:
            _version(connection, version)
            return read_rows(connection, KeyRow, wanted.order_by(VersionKey.c.id))

    # Gates and metrics.

    def put_gate(self, gate: GateRow) -> None:
        """Record how a release condition came out; the last outcome stands. A version that its
        gates released is a candidate again where one of them fails now; one that a person released
        stays released."""
        with self.database.write() as connection:
            row = _version(connection, gate.version)
            _put_gates(connection, [gate])
            if gate.detail.get("outcome") == "failed" and row.released_by == GATES:
                withdrawn = dict.fromkeys(("released_at", "released_by", "release_reason"))
                ours = Version.c.name == gate.version
                connection.execute(update(Version).where(ours).values(**withdrawn))

    def gates(self, version: str) -> list[GateRow]:
        """Return release conditions of a version."""
        with self.database.read() as connection:
            return _gates(connection, version)

    def add_metrics(self, rows: Sequence[MetricRow]) -> None:
        """Write metrics; the last value of a (name, snapshot, version) stands."""
        final = {(row.name, row.snapshot, row.version): row for row in rows}
        if not final:
            return
        before = delete(Metric).where(
            Metric.c.name == bindparam("of"),
            Metric.c.snapshot.is_not_distinct_from(bindparam("at", type_=Text)),
            Metric.c.version.is_not_distinct_from(bindparam("by", type_=Text)),
        )
        values = [values_of(row) | {"created_at": timestamp()} for row in final.values()]
        with self.database.write() as connection:
            connection.execute(before, [{"of": of, "at": at, "by": by} for of, at, by in final])
            connection.execute(insert(Metric), values)

    def metrics(
        self, name: str | None = None, snapshot: str | None = None, version: str | None = None
    ) -> list[MetricRow]:
        """Return metrics by name, snapshot and version; what is left out is not asked for."""
        order = (Metric.c.name, Metric.c.snapshot, Metric.c.version)
        wanted = pick(Metric, MetricRow).order_by(*order)
        for column, value in zip(order, (name, snapshot, version), strict=True):
            if value is not None:
                wanted = wanted.where(column == value)
        with self.database.read() as connection:
            return read_rows(connection, MetricRow, wanted)


def _release(by: str, reason: str) -> dict[str, str]:
    return {"released_at": timestamp(), "released_by": by, "release_reason": reason}


def _put_gates(connection: Connection, gates: Sequence[GateRow]) -> None:
    for gate in gates:
        known = (Gate.c.version == gate.version, Gate.c.name == gate.name)
        connection.execute(delete(Gate).where(*known))
        values = values_of(gate) | {"created_at": gate.created_at or timestamp()}
        connection.execute(insert(Gate).values(**values))


def _gates(connection: Connection, version: str) -> list[GateRow]:
    wanted = pick(Gate, GateRow).where(Gate.c.version == version)
    return read_rows(connection, GateRow, wanted.order_by(Gate.c.name))


def _put_text(
    connection: Connection, table: Table, row: RecipeRow | LockRow, what: str, text: str
) -> None:
    """Write a recipe or lock that is new; refuse another text under a known digest."""
    column = table.c.yaml if what == "recipe" else table.c.json
    known = connection.scalar(select(column).where(table.c.digest == row.digest))
    if known is None:
        values = values_of(row) | {"created_at": row.created_at or timestamp()}
        connection.execute(insert(table).values(**values))
    elif known != text:
        raise ContentDrift(
            f"{what} {row.digest[:12]} is recorded with other text: two texts cannot share a "
            f"digest, the {what}'s digest was computed wrongly"
        )


def _is_published(connection: Connection, version: VersionRow) -> bool:
    """Whether that very version is there; `VersionExists` when another one has its name."""
    check_name("version", version.name)
    if version.name == LATEST:
        raise VersionExists(f"{LATEST} names the newest released version: choose another --version")
    wanted = select(Version.c.manifest_sha256).where(Version.c.name == version.name)
    known = connection.scalar(wanted)
    if known is not None and known != version.manifest_sha256:
        raise VersionExists(
            f"version {version.name} is published with manifest {known[:12]}, this one has "
            f"{version.manifest_sha256[:12]}: a version never changes, choose another --version"
        )
    if known is None and (instead := revoked_in(connection, version.name)) is not None:
        raise VersionExists(
            f"version {version.name} was revoked by a takedown and replaced by {instead}: "
            "choose another --version"
        )
    return known is not None


def _refuse_wrong_rows(
    connection: Connection,
    version: VersionRow,
    shards: Sequence[ShardRow],
    lineage: Sequence[LineageRow],
    keys: Sequence[KeyRow],
) -> None:
    """Refuse a version that names what is not recorded, leads out of the store or repeats itself."""
    for digest, table, what in (
        (version.lock_digest, Lock, "lock"),
        (version.recipe_digest, Recipe, "recipe"),
    ):
        if connection.scalar(select(table.c.digest).where(table.c.digest == digest)) is None:
            raise UnknownName(
                f"version {version.name} names {what} {digest[:12]}, which is not recorded: "
                f"call put_{what} before publishing"
            )
    relative_path(version.manifest_path)
    for path in (
        *(path for shard in shards for path, _ in shard.files),
        *(row.path for row in lineage),
        *(row.path for row in keys),
    ):
        relative_path(path)
    if len(set(lineage)) != len(lineage):
        raise CatalogConflict(
            f"version {version.name} lists a lineage file twice for the same place; nothing was "
            "changed: list each (table, snapshot, part, shard, path) once"
        )


def _version(connection: Connection, name: str) -> VersionRow:
    """Return the version of that name."""
    for found in read_rows(
        connection, VersionRow, pick(Version, VersionRow).where(Version.c.name == name)
    ):
        return found
    newest = select(Version.c.name).order_by(Version.c.id.desc()).limit(5)
    names = list(connection.scalars(newest))
    known = f"the newest are {', '.join(names)}" if names else "none is published yet"
    raise UnknownName(f"there is no version {name!r}: {known} (`catalog versions` lists all)")


def _supersede(connection: Connection, old: str, new: str) -> bool:
    """Revoke a version for the one in its place; False where it is so already."""
    if old == new:
        raise CatalogConflict(f"version {old} cannot replace itself: name the older version")
    row = _version(connection, old)
    _version(connection, new)
    revoked = {"status": "revoked", "superseded_by": new}
    connection.execute(update(Version).where(Version.c.name == old).values(**revoked))
    return (row.status, row.superseded_by) != ("revoked", new)


def _shards(connection: Connection, version: str) -> list[ShardRow]:
    _version(connection, version)
    wanted = pick(VersionShard, ShardRow).where(VersionShard.c.version == version)
    order = (VersionShard.c.group_id, VersionShard.c.shard)
    return read_rows(connection, ShardRow, wanted.order_by(*order))
