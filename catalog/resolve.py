"""A version's identity: from its name to everything that it was made of, by digest."""

from dataclasses import asdict
from typing import Any

from catalog.deleted import require_present
from catalog.files import Store
from catalog.manifest import load_manifest
from catalog.registry import Registry


def resolve(registry: Registry, store: Store, name: str) -> dict[str, Any]:
    """Recipe, lock, manifest, tokenizer, inputs, groups and shards of a version."""
    version = registry.version(name)
    require_present(registry, store, version)
    recipe = registry.recipe(version.recipe_digest)
    manifest = load_manifest(store, version)
    shards = registry.version_shards(name)
    groups: dict[str, dict[str, Any]] = {}
    for row in shards:
        group = groups.setdefault(
            row.group_id, {"id": row.group_id, "shards": 0, "samples": 0, "tokens": 0}
        )
        group["shards"] += 1
        group["samples"] += row.samples
        group["tokens"] += row.tokens
    return asdict(version) | {
        "recipe": recipe.name,
        "seed": manifest.raw.get("seed"),
        "seq_len": manifest.seq_len,
        "tokenizer": manifest.raw["tokenizer"],
        "phases": manifest.raw.get("phases", []),
        "inputs": _inputs(registry, name),
        "groups": list(groups.values()),
        "shards": [asdict(row) | {"name": row.full_name} for row in shards],
        "gates": [asdict(gate) for gate in registry.gates(name)],
    }


def _inputs(registry: Registry, name: str) -> list[dict[str, Any]]:
    """The snapshots that a version was made of, with their pinned files."""
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
