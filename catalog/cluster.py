"""A duplicate cluster, whole: its members, how alike they are, who is kept and why."""

from typing import Any

import yaml

from catalog.duck import Row
from catalog.history import cluster, fate
from catalog.lineage import Lineage
from catalog.lookups import records_of

POLICIES = {
    "longest": "n_chars",
    "earliest": "fetched_at",
    "latest": "fetched_at",
    "best_quality": "quality_score",
}
"""What each value of `clusters.keep` compares, in the snapshot that comes first."""
DEFAULT_POLICY = "longest"


def cluster_story(lineage: Lineage, doc_id: bytes, limit: int) -> dict[str, Any]:
    """The cluster of a document as plain values; without members where it has no copy."""
    found = cluster(lineage, doc_id, limit)
    answer: dict[str, Any] = {"doc_id": doc_id.hex(), "version": lineage.version.name}
    if found is None:
        return answer | {"size": 1, "members": [], "why": "no other document is a copy of it"}
    policy, ranks = _policy(lineage)
    members = [_described(lineage, row, policy) for row in found["members"]]
    return answer | {
        "cluster_id": found["cluster_id"],
        "size": found["size"],
        "kept_doc_id": found["kept_doc_id"],
        "keep": policy,
        "why": _why(members, policy, ranks),
        "members": members,
        "truncated": found["size"] > len(members),
    }


def _policy(lineage: Lineage) -> tuple[str, dict[str, int]]:
    """`clusters.keep` of the version's recipe, and the rank of each snapshot in it."""
    recipe = yaml.safe_load(lineage.registry.recipe(lineage.version.recipe_digest).yaml) or {}
    names = [name for source in recipe.get("sources", ()) for name in source.get("snapshots", ())]
    keep = (recipe.get("clusters") or {}).get("keep", DEFAULT_POLICY)
    return str(keep), {name: rank for rank, name in enumerate(names)}


def _described(lineage: Lineage, member: Row, policy: str) -> Row:
    """A member with its address, what the policy compares, and what became of it."""
    doc_id = bytes.fromhex(member["doc_id"])
    place = (member["snapshot"], [member["part"]])
    records = [row for row in records_of(lineage, doc_id) if row["part"] == member["part"]]
    signals = lineage.documents_in("signals", [doc_id], *place)
    decided = lineage.documents_in("decisions", [doc_id], *place)
    record: Row = records[0] if records else {}
    known = record | (signals[0] if signals else {})
    # Of captures that stand twice in a part, the member's own is the one with its fate.
    own = [row for row in decided if bool(row["kept"]) == bool(member["kept"])] or decided
    return member | {
        "url": record.get("url") or record.get("url_key"),
        "fetched_at": record.get("fetched_at"),
        "n_chars": known.get("n_chars"),
        "compared": known.get(POLICIES.get(policy, "")),
        "fate": fate(own[0] if own else None),
    }


def _why(members: list[Row], policy: str, ranks: dict[str, int]) -> str:
    """Why the kept member is the kept one, in a sentence."""
    kept = next((row for row in members if row["kept"]), None)
    if kept is None:
        return "its kept member is none of this version's documents"
    rank = ranks.get(kept["snapshot"], 0)
    later = [row for row in members if ranks.get(row["snapshot"], 0) > rank]
    same = [row for row in members if row["snapshot"] == kept["snapshot"] and row is not kept]
    reasons = []
    if later:
        reasons.append(f"its snapshot {kept['snapshot']} comes before theirs in the recipe")
    if same and all(row["compared"] == kept["compared"] for row in same):
        reasons.append(f"by `{policy}` those of its snapshot are equal, and its id is the smallest")
    elif same:
        reasons.append(f"it is the {policy.replace('_', ' ')} of its snapshot's")
    return "; ".join(reasons) or "it is the only member"
