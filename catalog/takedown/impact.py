"""What removing documents touches: versions, shards, samples, tokens, and what becomes of clusters.

It is read from DuckDB's table `gone (doc_id)`, which `Matcher` fills. About clusters it says what
the recorded members allow to say: removing a document can also cut a cluster in two, which only the
rebuild sees (`may_split`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from catalog.answers import Shown
from catalog.db import VersionRow
from catalog.lineage import LiveLineage

CLUSTERS_SHOWN = 100
SHARDS_SHOWN = 1000

# Who stands for a cluster: the earliest snapshot first, then the recipe's policy, then the id.
# The columns and the sort keys of each policy, as stage `clusters` has them.
POLICIES = {
    "longest": ("signals", "n_chars", "policy DESC NULLS LAST"),
    "best_quality": ("signals", "quality_score", "policy DESC NULLS LAST"),
    "earliest": ("documents", "fetched_at", "coalesce(policy, '') = '', policy"),
    "latest": ("documents", "fetched_at", "coalesce(policy, '') = '', policy DESC"),
}


EFFECTS = {
    "member_promoted": "another member will be promoted",
    "nothing_left": "no member left",
    "no_change_in_shards": "no change in shards",
}


@dataclass(frozen=True)
class VersionImpact:
    """What removing documents touches in a live version."""

    version: str
    documents: int
    shards: int
    samples: int
    tokens: int
    documents_in_shards: int
    shard_names: list[str]

    shows: ClassVar = ("version", "documents", "documents_in_shards", "shards", "samples", "tokens")


@dataclass(frozen=True)
class ClusterEffect:
    """What becomes of a cluster in some versions."""

    kept_doc_id: Annotated[str, Shown("cluster kept by")]
    size: Annotated[int, Shown("members")]
    removed: int
    outcome: str
    promoted_doc_id: Annotated[str | None, Shown("promoted")]
    may_split: bool
    versions: list[str]

    shows: ClassVar = ("kept_doc_id", "size", "removed", "effect", "promoted_doc_id")

    @property
    def effect(self) -> str:
        return EFFECTS[self.outcome] + ", unless the cluster splits" * self.may_split


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What removing documents touches: the sum over all live versions, and each version's part."""

    shards: int
    samples: int
    tokens: int
    documents_in_shards: Annotated[int, Shown("in shards")]
    versions: list[VersionImpact]
    clusters: int
    cluster_outcomes: Mapping[str, int]
    cluster_effects: list[ClusterEffect]
    cluster_effects_truncated: bool


def impact(live: LiveLineage) -> Impact:
    """Return the sum over all live versions (what they share counts once), and each version's
    part."""
    documents = {
        row["version"]: row["documents"]
        for row in live.query(
            "SELECT f.version, count(DISTINCT d.doc_id) AS documents "
            f"FROM (SELECT doc_id, filename FROM {live.scan('records')} WHERE reason IS NULL) "
            "AS d SEMI JOIN gone USING (doc_id) "
            "JOIN live_files AS f ON f.filename = d.filename AND f.table_name = 'records' "
            "GROUP BY f.version"
        )
    }
    live.execute(
        "CREATE OR REPLACE TEMP TABLE gone_spans AS SELECT filename, sample, doc_id, length "
        f"FROM {live.scan('spans')} SEMI JOIN gone USING (doc_id)"
    )
    counted = (
        "count(DISTINCT s.filename) AS shards, count(DISTINCT (s.filename, s.sample)) AS samples, "
        "coalesce(sum(s.length), 0)::BIGINT AS tokens, "
        "count(DISTINCT s.doc_id) AS documents_in_shards"
    )
    in_shards = {
        row.pop("version"): row
        for row in live.query(
            f"SELECT f.version, {counted} FROM gone_spans AS s JOIN live_files AS f "
            "ON f.filename = s.filename AND f.table_name = 'spans' GROUP BY f.version"
        )
    }
    total = live.query(f"SELECT {counted} FROM gone_spans AS s")[0]
    nothing = {"shards": 0, "samples": 0, "tokens": 0, "documents_in_shards": 0}
    versions = [
        VersionImpact(
            version.name,
            documents[version.name],
            **in_shards.get(version.name, nothing),
            shard_names=_shard_names(live, version.name),
        )
        for version in live.versions
        if version.name in documents
    ]
    effects, outcomes, count = _clusters(live)
    return Impact(
        **total,
        versions=versions,
        clusters=count,
        cluster_outcomes=outcomes,
        cluster_effects=effects,
        cluster_effects_truncated=count > len(effects),
    )


def touched_places(live: LiveLineage) -> tuple[list[str], list[str]]:
    """Return the live versions and the snapshots that hold any document of `gone`."""
    found = live.query(
        "SELECT DISTINCT f.version, f.snapshot FROM "
        f"(SELECT DISTINCT filename FROM {live.scan('records')} SEMI JOIN gone USING (doc_id)) "
        "AS d JOIN live_files AS f ON f.filename = d.filename AND f.table_name = 'records'"
    )
    names = ({row[name] for row in found if row[name]} for name in ("version", "snapshot"))
    versions, snapshots = map(sorted, names)
    return versions, snapshots


def _shard_names(live: LiveLineage, version: str) -> list[str]:
    found = live.query(
        "SELECT DISTINCT f.shard FROM gone_spans AS s JOIN live_files AS f "
        "ON f.filename = s.filename AND f.table_name = 'spans' AND f.version = ? "
        "ORDER BY f.shard LIMIT ?",
        [version, SHARDS_SHOWN],
    )
    return [row["shard"] for row in found]


def _clusters(live: LiveLineage) -> tuple[list[ClusterEffect], dict[str, int], int]:
    """Return the first clusters with what will happen to each, counts of outcomes and of all."""
    live.execute(
        "CREATE OR REPLACE TEMP TABLE effects (version VARCHAR, kept_doc_id BLOB, size BIGINT, "
        "removed BIGINT, outcome VARCHAR, promoted_doc_id BLOB, may_split BOOLEAN)"
    )
    for version in live.versions:
        _effects(live, version)
    outcomes = {
        row["outcome"]: row["clusters"]
        for row in live.query(
            "SELECT outcome, count(DISTINCT kept_doc_id) AS clusters FROM effects GROUP BY outcome"
        )
    }
    count = live.query("SELECT count(DISTINCT kept_doc_id) AS n FROM effects")[0]["n"]
    shown = live.query(
        "SELECT kept_doc_id, size, removed, outcome, promoted_doc_id, may_split, "
        "list(version ORDER BY version) AS versions FROM effects "
        "GROUP BY ALL ORDER BY outcome, kept_doc_id, promoted_doc_id LIMIT ?",
        [CLUSTERS_SHOWN],
    )
    effects = []
    for row in shown:
        promoted = row["promoted_doc_id"]
        named = {
            "kept_doc_id": row["kept_doc_id"].hex(),
            "promoted_doc_id": None if promoted is None else promoted.hex(),
        }
        effects.append(ClusterEffect(**row | named))
    return effects, {name: outcomes.get(name, 0) for name in EFFECTS}, count


def _effects(live: LiveLineage, version: VersionRow) -> None:
    """A cluster is all documents that one kept document stands for, over all snapshots."""
    live.execute(
        "CREATE OR REPLACE TEMP TABLE touched AS WITH m AS (SELECT doc_id, kept_doc_id, snapshot, "
        f"kind FROM {live.scan('cluster_members', version.name)}), "
        "hit AS (SELECT kept_doc_id FROM m SEMI JOIN gone USING (doc_id) UNION "
        "SELECT kept_doc_id FROM m JOIN gone ON m.kept_doc_id = gone.doc_id) "
        "SELECT doc_id, kept_doc_id, min(snapshot) AS snapshot, bool_or(kind = 'near') AS near, "
        "doc_id IN (SELECT doc_id FROM gone) AS goes "
        "FROM (SELECT * FROM m UNION ALL SELECT DISTINCT kept_doc_id, kept_doc_id, NULL, 'first' "
        "FROM m) SEMI JOIN hit USING (kept_doc_id) GROUP BY doc_id, kept_doc_id"
    )
    policy, order = _policy(live, version)
    live.execute(
        f"INSERT INTO effects WITH keys AS ({policy}), "
        "heirs AS (SELECT t.kept_doc_id, t.doc_id FROM touched AS t "
        "LEFT JOIN snapshot_ranks USING (snapshot) LEFT JOIN keys USING (doc_id) "
        "WHERE NOT t.goes QUALIFY row_number() OVER "
        f"(PARTITION BY t.kept_doc_id ORDER BY rank NULLS LAST, {order}t.doc_id) = 1), "
        "sums AS (SELECT kept_doc_id, count(*) AS size, count(*) FILTER (goes) AS removed, "
        "bool_or(goes AND doc_id = kept_doc_id) AS kept_goes, bool_or(near) AS near "
        "FROM touched GROUP BY kept_doc_id) "
        "SELECT ?, s.kept_doc_id, s.size, s.removed, CASE "
        "WHEN NOT s.kept_goes THEN 'no_change_in_shards' "
        "WHEN h.doc_id IS NULL THEN 'nothing_left' ELSE 'member_promoted' END, "
        "CASE WHEN s.kept_goes THEN h.doc_id END, s.near AND s.size - s.removed > 1 "
        "FROM sums AS s LEFT JOIN heirs AS h USING (kept_doc_id)",
        [version.name],
    )


def _policy(live: LiveLineage, version: VersionRow) -> tuple[str, str]:
    """Return a query for each document's value under the recipe's policy, and how to sort by it."""
    none = "SELECT CAST(NULL AS BLOB) AS doc_id, NULL AS policy WHERE false", ""
    try:
        keep = json.loads(live.registry.lock(version.lock_digest).json)["recipe"]["clusters"][
            "keep"
        ]
    except (KeyError, TypeError, ValueError):
        return none
    if keep not in POLICIES:
        return none
    table, column, order = POLICIES[keep]
    if column not in live.columns(table, version.name):
        return none
    scan = live.scan(table, version.name)
    value = "max" if table == "signals" else "min"
    query = (
        f"SELECT doc_id, {value}({column}) AS policy FROM {scan} "
        "SEMI JOIN touched USING (doc_id) GROUP BY doc_id"
    )
    return query, f"{order}, "
