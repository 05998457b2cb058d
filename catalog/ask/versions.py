"""Versions: what one is made of, by digest, and what changed between two."""

import json
from dataclasses import asdict
from typing import Any

import yaml

from catalog.db.published import FUNNEL, FUNNEL_FORMAT, load_counts, load_manifest
from catalog.db.registry import Registry
from catalog.db.rows import LineageRow, ShardRow
from catalog.formats.canonical import changed_keys
from catalog.formats.lineage_tables import DROPPING_STAGES
from catalog.formats.store import Store
from catalog.lineage.tables import Lineage, deletion, require_present


def resolve(registry: Registry, store: Store, name: str) -> dict[str, Any]:
    """Return recipe, lock, manifest, tokenizer, inputs, groups and shards of a version."""
    version = registry.version(name)
    require_present(registry, store, version)
    recipe = registry.recipe(version.recipe_digest)
    manifest = load_manifest(store, version)
    written = json.loads(manifest.dump())
    shards = registry.version_shards(version.name)
    groups: dict[str, dict[str, Any]] = {}
    for row in shards:
        group = groups.setdefault(
            row.group_id, {"id": row.group_id, "shards": 0, "samples": 0, "tokens": 0}
        )
        group["shards"] += 1
        group["samples"] += row.samples
        group["tokens"] += row.tokens
    return asdict(version) | {
        "state": version.state,
        "recipe": recipe.name,
        "seed": manifest.seed,
        "seq_len": manifest.seq_len,
        "tokenizer": written["tokenizer"],
        "phases": written["phases"],
        "inputs": _inputs(registry, version.name),
        "groups": list(groups.values()),
        "shards": [asdict(row) | {"name": row.full_name} for row in shards],
        "gates": [
            asdict(gate) | {"outcome": gate.outcome} for gate in registry.gates(version.name)
        ],
    }


def funnel(lineage: Lineage) -> list[dict[str, Any]]:
    """Return how many records entered each stage and left it, and the reasons of those it dropped
    as (number, reason), most frequent first. They were counted when the version was published; of
    one that was published without, three columns of every decision are read."""
    counted = load_counts(lineage.store, lineage.version, FUNNEL, FUNNEL_FORMAT)
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


def _inputs(registry: Registry, name: str) -> list[dict[str, Any]]:
    """Return the snapshots that a version was made of, with their pinned files."""
    used = {row.snapshot for row in registry.lineage_files(name)}
    used |= {row.snapshot for row in registry.version_shards(name)}
    inputs = []
    for snapshot in registry.snapshots():
        if snapshot.name in used:
            used.discard(snapshot.name)
            files = registry.source_files(snapshot.name)
            inputs.append(
                {
                    "snapshot": snapshot.name,
                    "source": snapshot.source,
                    "files": len(files),
                    "bytes": sum(file.bytes for file in files),
                }
            )
    return inputs + [
        {"snapshot": snapshot, "source": None, "files": None, "bytes": None}
        for snapshot in sorted(used)
    ]


# Differences between versions.


EXAMPLES = 20


def diff(registry: Registry, store: Store, before: str, after: str) -> dict[str, Any]:
    """Compare two versions; the cost follows the lineage files that differ."""
    answer = diff_settings(registry, store, before, after)
    if not answer["deleted"]:
        with Lineage(registry, store, before) as old, Lineage(registry, store, after) as new:
            answer["documents"] |= diff_documents(old, new)
    return answer


def diff_settings(registry: Registry, store: Store, before: str, after: str) -> dict[str, Any]:
    """Compare what the registry knows of two versions, also of deleted ones: settings, shards and
    counts, not single documents."""
    old, new = registry.version(before), registry.version(after)
    old_shards = registry.version_shards(before)
    new_shards = registry.version_shards(after)
    deleted = [said for row in (old, new) if (said := deletion(registry, store, row)) is not None]
    return {
        "before": before,
        "after": after,
        "deleted": deleted,
        "recipe": changed_keys(
            yaml.safe_load(registry.recipe(old.recipe_digest).yaml),
            yaml.safe_load(registry.recipe(new.recipe_digest).yaml),
        ),
        "lock": changed_keys(
            json.loads(registry.lock(old.lock_digest).json),
            json.loads(registry.lock(new.lock_digest).json),
        ),
        "shards": _shards(old_shards, new_shards),
        "documents": {"before": old.documents, "after": new.documents},
        "tokens": _tokens(old_shards, new_shards),
    }


def _shards(before: list[ShardRow], after: list[ShardRow]) -> dict[str, Any]:
    old = {row.full_name: row.bin_sha256 for row in before}
    new = {row.full_name: row.bin_sha256 for row in after}
    both = old.keys() & new.keys()
    return {
        "shared": sum(old[name] == new[name] for name in both),
        "changed": sorted(name for name in both if old[name] != new[name]),
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
    }


def _tokens(before: list[ShardRow], after: list[ShardRow]) -> list[dict[str, Any]]:
    groups: dict[str, list[int]] = {}
    for place, rows in enumerate((before, after)):
        for row in rows:
            groups.setdefault(row.group_id, [0, 0])[place] += row.tokens
    return [
        {"group": group, "before": old, "after": new, "change": new - old}
        for group, (old, new) in sorted(groups.items())
    ]


def diff_documents(before: Lineage, after: Lineage) -> dict[str, Any]:
    """Return documents that came and went, by queries of the first one's connection.

    Only decision files that the versions do not share are read. That is enough: a document has
    one kept record at most, so one that is kept in a shared file is kept in both versions.
    """
    old = _unshared(before.files["decisions"], after.files["decisions"])
    new = _unshared(after.files["decisions"], before.files["decisions"])
    scans = before.scan("decisions", files=old), before.scan("decisions", files=new)
    removed, removed_reasons = _gone(before, scans[0], scans[1])
    added, added_reasons = _gone(before, scans[1], scans[0])
    return {
        "removed": sum(removed_reasons.values()),
        "removed_reasons": removed_reasons,
        "removed_examples": removed,
        "added": sum(added_reasons.values()),
        "added_reasons": added_reasons,
        "added_examples": added,
    }


def _unshared(files: list[LineageRow], others: list[LineageRow]) -> list[LineageRow]:
    known = {row.sha256 for row in others}
    return [row for row in files if row.sha256 not in known]


def _gone(lineage: Lineage, here: str, there: str) -> tuple[list[str], dict[str, int]]:
    """Return documents kept `here` and not `there`: some of them, and counts by what is said
    there."""
    gone = f"(SELECT doc_id FROM {here} WHERE kept) AS k ANTI JOIN " + (
        f"(SELECT doc_id FROM {there} WHERE kept) AS o USING (doc_id)"
    )
    said = (
        "(SELECT doc_id, min(stage || ': ' || reason) AS why "
        f"FROM {there} WHERE NOT kept GROUP BY doc_id)"
    )
    reasons = lineage.query(
        "SELECT coalesce(why, 'not ingested') AS why, count(*) AS n "
        f"FROM (SELECT doc_id FROM {gone}) LEFT JOIN {said} USING (doc_id) "
        "GROUP BY ALL ORDER BY n DESC, why"
    )
    some = lineage.query(f"SELECT doc_id FROM {gone} ORDER BY doc_id LIMIT {EXAMPLES}")
    return (
        [row["doc_id"].hex() for row in some],
        {row["why"]: int(row["n"]) for row in reasons},
    )
