"""Versions: what one is made of, by digest, and what changed between two."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import yaml

from catalog.answers import Shown
from catalog.db import (
    FUNNEL,
    GateRow,
    LineageRow,
    Registry,
    ShardRow,
    VersionRow,
    load_counts,
    load_manifest,
)
from catalog.formats.canonical import ChangedKey, changed_keys
from catalog.formats.lineage_tables import DROPPING_STAGES
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, deletion, require_present


@dataclass(frozen=True)
class Input:
    """A snapshot that a version was made of, with its pinned files; None where it is not known any
    more."""

    snapshot: Annotated[str, Shown("input snapshot")]
    source: str | None
    files: int | None
    bytes: int | None


@dataclass(frozen=True)
class ShardGroup:
    """Shards of one snapshot, domain, tier and labels."""

    id: Annotated[str, Shown("group")]
    shards: int
    samples: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Resolved(VersionRow):
    """A version, with all that it is made of."""

    recipe: str
    seed: int
    seq_len: int
    tokenizer: Annotated[
        Mapping[str, Any], Shown(form=lambda one: f"{one['path']} {one['sha256']}")
    ]
    phases: Sequence[Mapping[str, Any]]
    inputs: list[Input]
    groups: list[ShardGroup]
    shards: Annotated[
        list[ShardRow],
        Shown(columns=("full_name", "samples", "tokens", "documents", "bin_sha256")),
    ]
    gates: Annotated[list[GateRow], Shown(columns=("name", "outcome", "message"))]

    shows: ClassVar = ("named", "released", "recipe_named", "lock_digest", "manifest", "tokenizer",
                       "seed", "seq_len", "documents", "tokens", "samples", "gates", "inputs",
                       "groups", "shards")  # fmt: skip

    @property
    def named(self) -> Annotated[str, Shown("version")]:
        return f"{self.name} ({self.state}, {self.created_at})"

    @property
    def released(self) -> str | None:
        if self.released_at is None:
            return None
        return f"{self.released_at} by {self.released_by}: {self.release_reason}"

    @property
    def recipe_named(self) -> Annotated[str, Shown("recipe")]:
        return f"{self.recipe} {self.recipe_digest}"

    @property
    def manifest(self) -> str:
        return f"{self.manifest_path} {self.manifest_sha256}"


def resolve_version(registry: Registry, store: FileStore, name: str) -> Resolved:
    """Return recipe, lock, manifest, tokenizer, inputs, groups and shards of a version."""
    version = registry.version(name)
    require_present(registry, store, version)
    recipe = registry.recipe(version.recipe_digest)
    manifest = load_manifest(store, version)
    written = json.loads(manifest.dump())
    shards = registry.version_shards(version.name)
    groups: dict[str, list[ShardRow]] = {}
    for row in shards:
        groups.setdefault(row.group_id, []).append(row)
    return Resolved(
        **asdict(version),
        recipe=recipe.name,
        seed=manifest.seed,
        seq_len=manifest.seq_len,
        tokenizer=written["tokenizer"],
        phases=written["phases"],
        inputs=_inputs(registry, version.name),
        groups=[
            ShardGroup(name, len(rows), sum(r.samples for r in rows), sum(r.tokens for r in rows))
            for name, rows in groups.items()
        ],
        shards=shards,
        gates=registry.gates(version.name),
    )


def version_funnel(lineage: Lineage) -> list[dict[str, Any]]:
    """Return how many records entered each stage and left it, and the reasons of those it dropped
    as (number, reason), most frequent first. They were counted when the version was published; of
    one that was published without, three columns of every decision are read."""
    counted = load_counts(lineage.store, lineage.version, FUNNEL)
    left, dropped = (counted["records"], counted["dropped"]) if counted else _dropped(lineage)
    steps = []
    for stage in DROPPING_STAGES:
        lost = dropped.get(stage, {})
        reasons = sorted(((n, reason) for reason, n in lost.items()), key=lambda r: (-r[0], r[1]))
        entered, left = left, left - sum(n for n, _ in reasons)
        steps.append({"stage": stage, "entered": entered, "left": left, "reasons": reasons})
    return steps


def _dropped(lineage: Lineage) -> tuple[int, dict[str, dict[str, int]]]:
    """Count all records, and those that were dropped by stage and reason."""
    rows = lineage.query(
        f"SELECT kept, stage, reason, count(*) AS n FROM {lineage.scan('decisions')} GROUP BY ALL"
    )
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        if not row["kept"]:
            found.setdefault(row["stage"], {})[row["reason"]] = row["n"]
    return sum(row["n"] for row in rows), found


def _inputs(registry: Registry, name: str) -> list[Input]:
    used = {row.snapshot for row in registry.lineage_files(name)}
    used |= {row.snapshot for row in registry.version_shards(name)}
    inputs = []
    for snapshot in registry.snapshots():
        if snapshot.name in used:
            used.discard(snapshot.name)
            files = registry.source_files(snapshot.name)
            size = sum(file.bytes for file in files)
            inputs.append(Input(snapshot.name, snapshot.source, len(files), size))
    return inputs + [Input(snapshot, None, None, None) for snapshot in sorted(used)]


# Differences between versions.


EXAMPLES = 20


@dataclass(frozen=True)
class ShardChanges:
    """Shards by name: `shared` of them have the same tokens."""

    shared: int
    changed: list[str]
    added: list[str]
    removed: list[str]


@dataclass(frozen=True)
class Moved:
    """Documents that came and went, by what the other version decided about them."""

    removed: int
    removed_reasons: Mapping[str, int]
    removed_examples: list[str]
    added: int
    added_reasons: Mapping[str, int]
    added_examples: list[str]


@dataclass(frozen=True)
class DocumentChanges:
    """Documents before and after; those that came and went are None where they were not compared."""

    before: int
    after: int
    removed: int | None = None
    removed_reasons: Mapping[str, int] | None = None
    removed_examples: list[str] | None = None
    added: int | None = None
    added_reasons: Mapping[str, int] | None = None
    added_examples: list[str] | None = None


@dataclass(frozen=True)
class TokenChange:
    """Tokens of a group of shards."""

    group: str
    before: Annotated[int, Shown("tokens before")]
    after: int
    change: Annotated[int, Shown(form=lambda change: f"{change:+d}")]


@dataclass(frozen=True)
class VersionDifference:
    """What changed between two versions. `deleted` has a sentence for each whose files are gone:
    then only what the registry has is compared."""

    before: str
    after: str
    deleted: list[str]
    recipe: list[ChangedKey]
    lock: list[ChangedKey]
    shards: ShardChanges
    documents: DocumentChanges
    tokens: list[TokenChange]

    def with_documents(self, moved: Moved | None) -> "VersionDifference":
        """Return it with the documents that came and went."""
        known = {} if moved is None else vars(moved)
        return replace(self, documents=replace(self.documents, **known))


def diff_versions(
    registry: Registry, store: FileStore, before: str, after: str
) -> VersionDifference:
    """Compare two versions; the cost follows the lineage files that differ."""
    answer = diff_settings(registry, store, before, after)
    if answer.deleted:
        return answer
    with Lineage(registry, store, before) as old, Lineage(registry, store, after) as new:
        return answer.with_documents(diff_documents(old, new))


def diff_settings(
    registry: Registry, store: FileStore, before: str, after: str
) -> VersionDifference:
    """Compare what the registry knows of two versions, also of deleted ones: settings, shards and
    counts, not single documents."""
    old, new = registry.version(before), registry.version(after)
    old_shards = registry.version_shards(before)
    new_shards = registry.version_shards(after)
    deleted = [line for row in (old, new) if (line := deletion(registry, store, row)) is not None]
    return VersionDifference(
        before=before,
        after=after,
        deleted=deleted,
        recipe=changed_keys(
            yaml.safe_load(registry.recipe(old.recipe_digest).yaml),
            yaml.safe_load(registry.recipe(new.recipe_digest).yaml),
        ),
        lock=changed_keys(
            json.loads(registry.lock(old.lock_digest).json),
            json.loads(registry.lock(new.lock_digest).json),
        ),
        shards=_shards(old_shards, new_shards),
        documents=DocumentChanges(old.documents, new.documents),
        tokens=_tokens(old_shards, new_shards),
    )


def _shards(before: list[ShardRow], after: list[ShardRow]) -> ShardChanges:
    old = {row.full_name: row.bin_sha256 for row in before}
    new = {row.full_name: row.bin_sha256 for row in after}
    both = old.keys() & new.keys()
    return ShardChanges(
        shared=sum(old[name] == new[name] for name in both),
        changed=sorted(name for name in both if old[name] != new[name]),
        added=sorted(new.keys() - old.keys()),
        removed=sorted(old.keys() - new.keys()),
    )


def _tokens(before: list[ShardRow], after: list[ShardRow]) -> list[TokenChange]:
    groups: dict[str, list[int]] = {}
    for place, rows in enumerate((before, after)):
        for row in rows:
            groups.setdefault(row.group_id, [0, 0])[place] += row.tokens
    return [TokenChange(group, old, new, new - old) for group, (old, new) in sorted(groups.items())]


def diff_documents(before: Lineage, after: Lineage) -> Moved:
    """Return documents that came and went, by queries of the first one's connection.

    Only decision files that the versions do not share are read. That is enough: a document has
    one kept record at most, so one that is kept in a shared file is kept in both versions.
    """
    old = _unshared(before.files["decisions"], after.files["decisions"])
    new = _unshared(after.files["decisions"], before.files["decisions"])
    scans = before.scan("decisions", files=old), before.scan("decisions", files=new)
    removed, removed_reasons = _gone(before, scans[0], scans[1])
    added, added_reasons = _gone(before, scans[1], scans[0])
    return Moved(
        removed=sum(removed_reasons.values()),
        removed_reasons=removed_reasons,
        removed_examples=removed,
        added=sum(added_reasons.values()),
        added_reasons=added_reasons,
        added_examples=added,
    )


def _unshared(files: list[LineageRow], others: list[LineageRow]) -> list[LineageRow]:
    known = {row.sha256 for row in others}
    return [row for row in files if row.sha256 not in known]


def _gone(lineage: Lineage, here: str, there: str) -> tuple[list[str], dict[str, int]]:
    """Return documents kept `here` and not `there`: some of them, and counts by their reasons
    there."""
    gone = f"(SELECT doc_id FROM {here} WHERE kept) AS k ANTI JOIN " + (
        f"(SELECT doc_id FROM {there} WHERE kept) AS o USING (doc_id)"
    )
    dropped = (
        "(SELECT doc_id, min(stage || ': ' || reason) AS why "
        f"FROM {there} WHERE NOT kept GROUP BY doc_id)"
    )
    reasons = lineage.query(
        "SELECT coalesce(why, 'not ingested') AS why, count(*) AS n "
        f"FROM (SELECT doc_id FROM {gone}) LEFT JOIN {dropped} USING (doc_id) "
        "GROUP BY ALL ORDER BY n DESC, why"
    )
    some = lineage.query(f"SELECT doc_id FROM {gone} ORDER BY doc_id LIMIT {EXAMPLES}")
    return (
        [row["doc_id"].hex() for row in some],
        {row["why"]: int(row["n"]) for row in reasons},
    )
