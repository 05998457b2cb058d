"""Clusters in plain Python, straight from their definition: slow and easy to check."""

from typing import Any

import numpy as np

from corpus_assets.dedup import clusters
from corpus_assets.dedup.clusters import KINDS
from corpus_assets.dedup.settings import ClusterSettings

Row = dict[str, Any]


def place(row: Row) -> tuple[Any, ...]:
    return (row["snapshot_rank"], row["doc_id"], row["part"], row["row"])


def agreement(left: Row, right: Row) -> float:
    """From the definition: equal bins among those that are not empty in both, less chance."""
    pairs = list(zip(left["sketch"], right["sketch"], strict=True))
    used = [(a, b) for a, b in pairs if a or b]
    share = sum(a == b for a, b in used) / max(len(used), 1)
    return max((255 * share - 1) / 254, 0.0)


def near_edges(rows: list[Row], settings: ClusterSettings) -> list[tuple[int, int, float]]:
    edges = []
    for band in range(len(rows[0]["bands"]) if rows else 0):
        buckets: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            if row["n_shingles"] > 0:
                buckets.setdefault(row["bands"][band], []).append(i)
        for bucket in buckets.values():
            left = sorted(bucket, key=lambda i: place(rows[i]))
            for _ in range(clusters.MAX_ROUNDS):
                if not left:
                    break
                centre, *others = left
                left = []
                for other in others:
                    similarity = agreement(rows[centre], rows[other])
                    if similarity >= (settings.min_similarity or 0):
                        edges.append((centre, other, similarity))
                    else:
                        left.append(other)
    return edges


def policy(row: Row, keep: str) -> tuple[Any, ...]:
    if keep == "longest":
        return (-row["n_chars"],)
    if keep == "earliest":
        return (row["fetched_at"] == "", row["fetched_at"])
    if keep == "latest":
        return (row["fetched_at"] == "", [-ord(letter) for letter in row["fetched_at"]])
    return (row["quality"] is None, -(row["quality"] or 0.0))


def naive_clusters(rows: list[Row], settings: ClusterSettings) -> list[Row]:
    """Edges as (left, right, kind, similarity), components by relabelling."""
    edges: list[tuple[int, int, int, float]] = []
    names = {0: "doc_id"} | ({1: "url_key"} if settings.url else {})
    names |= {2: "text_id"} if settings.exact else {}
    for kind, name in names.items():
        for i, left in enumerate(rows):
            for j in range(i):
                if left[name] and left[name] == rows[j][name]:
                    edges.append((i, j, kind, 1.0))
    if settings.near:
        edges += [(i, j, 3, similarity) for i, j, similarity in near_edges(rows, settings)]
    label = list(range(len(rows)))
    ties: dict[int, tuple[int, float]] = {}
    for i, j, tie, similarity in edges:
        old, new = label[i], label[j]
        label = [new if value == old else value for value in label]
        for end in (i, j):
            ties[end] = min(ties.get(end, (9, 0.0)), (tie, -similarity))
    found = []
    for component in sorted(set(label)):
        members = [i for i in range(len(rows)) if label[i] == component]
        if len(members) < 2:
            continue
        kept = min(
            members,
            key=lambda i: (
                rows[i]["snapshot_rank"],
                *policy(rows[i], settings.keep),
                rows[i]["doc_id"],
                rows[i]["part"],
                rows[i]["row"],
            ),
        )
        for i in members:
            found.append(
                {
                    **{key: rows[i][key] for key in ("doc_id", "part", "row")},
                    "snapshot": f"S{rows[i]['snapshot_rank']}",
                    "cluster_id": rows[min(members, key=lambda m: place(rows[m]))]["doc_id"],
                    "kind": KINDS[ties[i][0]],
                    "kept": i == kept,
                    "kept_doc_id": rows[kept]["doc_id"],
                    "similarity": float(np.float32(-ties[i][1])),
                    "cluster_size": len(members),
                }
            )
    return sorted(found, key=lambda row: (row["snapshot"], row["part"], row["row"]))
