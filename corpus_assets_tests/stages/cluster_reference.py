"""Clusters in plain Python, straight from their definition: slow and easy to check."""

from typing import Any

from corpus_assets.stages.clusters import KINDS, ClusterSettings
from corpus_assets.stages.signatures import SignatureSettings

Row = dict[str, Any]


def place(row: Row) -> tuple[Any, ...]:
    return (row["snapshot_rank"], row["doc_id"], row["part"], row["row"])


def minima(row: Row) -> list[bytes]:
    return [row["signature"][i : i + 4] for i in range(0, len(row["signature"]), 4)]


def agreement(left: Row, right: Row) -> float:
    pairs = list(zip(minima(left), minima(right), strict=True))
    return sum(a == b for a, b in pairs) / len(pairs)


def near_edges(
    rows: list[Row], settings: ClusterSettings, shape: SignatureSettings
) -> list[tuple[int, int, float]]:
    edges = []
    for band in range(shape.bands):
        buckets: dict[bytes, list[int]] = {}
        first = 4 * band * shape.rows_per_band
        for i, row in enumerate(rows):
            if row["n_shingles"] > 0:
                key = row["signature"][first : first + 4 * shape.rows_per_band]
                buckets.setdefault(key, []).append(i)
        for bucket in buckets.values():
            left = sorted(bucket, key=lambda i: place(rows[i]))
            for _ in range(settings.max_rounds):
                if not left:
                    break
                centre, *others = left
                left = []
                for other in others:
                    similarity = agreement(rows[centre], rows[other])
                    if similarity >= settings.min_similarity:
                        edges.append((centre, other, similarity))
                    else:
                        left.append(other)
    return edges


def policy(row: Row, keep: str) -> tuple[Any, ...]:
    if keep == "longest":
        return (-row["n_chars"],)
    if keep == "earliest":
        return (row["fetched_at"] == "", row["fetched_at"])
    return (row["quality"] is None, -(row["quality"] or 0.0))


def naive_clusters(
    rows: list[Row], settings: ClusterSettings, shape: SignatureSettings
) -> list[Row]:
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
        edges += [(i, j, 3, similarity) for i, j, similarity in near_edges(rows, settings, shape)]
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
                    **{key: rows[i][key] for key in ("doc_id", "snapshot", "part", "row")},
                    "cluster_id": rows[min(members, key=lambda m: place(rows[m]))]["doc_id"],
                    "kind": KINDS[ties[i][0]],
                    "kept": i == kept,
                    "kept_doc_id": rows[kept]["doc_id"],
                    "similarity": -ties[i][1],
                    "cluster_size": len(members),
                }
            )
    return sorted(found, key=lambda row: (row["snapshot"], row["part"], row["row"]))
