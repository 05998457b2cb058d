"""Clusters: documents that are one document, and which of them stands for the others.

1. Rows with one doc_id are one capture; rows with one url_key, or with one text_id, match.
2. Near duplicates share a band of their signature (a bucket) and are confirmed by a centre:
   the bucket's first member (by snapshot rank, then id) is compared with all others, those it
   does not confirm get a next centre, up to MAX_ROUNDS centres. A million in one bucket cost
   a million a round. Later snapshots come after earlier ones, so they never move a centre.
   What confirms is the similarity of two sketches, which has half the error of the signature's
   112 minima: pages of one frame at 0.75 would otherwise slip past 0.8 one time in ten, and
   with a dozen centres to try nearly always.
3. Connected components of all matches are clusters; the recipe's policy chooses the kept member.

Everything is a pure function of the rows, whatever their order: a bucket of its members, a
cluster of its component. So any set of rows that no match leaves can be worked on alone, which is
what `cluster_window` does. Memory: the rows, and about 150 bytes a row beside them.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.schemas import CLUSTER_MEMBERS, DOC_ID
from corpus_assets.dedup.compared_rows import SketchedRows
from corpus_assets.dedup.kernels.buckets import group, settle, star_pairs
from corpus_assets.dedup.kernels.union_find import roots, union_equal
from corpus_assets.dedup.settings import ClusterSettings

MAX_ROUNDS = 3  # centres tried in one bucket

VERSION = 3

MEMBERS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("snapshot_rank", pa.int32()),
        ("part", pa.int32()),
        ("row", pa.int32()),
        ("url_key", pa.string()),
        ("text_id", pa.binary(16)),
        ("fetched_at", pa.string()),
        ("n_chars", pa.int64()),
        ("quality", pa.float32()),  # null where unknown
        ("n_shingles", pa.int32()),
    ]
)
"""What `find_clusters` reads; (snapshot_rank, part, row) names a row and is given once."""

KNOWN = "known"
"""A column of numbers, equal for rows whose clusters are known to be one."""

KINDS = ("capture", "url", "exact", "near")
"""Kinds of matches, the closest first."""

REASONS = {
    "capture": "repeated_capture",
    "url": "repeated_url",
    "exact": "repeated_text",
    "near": "near_duplicate_text",
}
"""Why a member that is not kept is dropped, by its kind."""

_CAPTURE, _URL, _EXACT, _NEAR = range(4)


def find_clusters(
    members: pa.Table, near: SketchedRows, settings: ClusterSettings, snapshots: Sequence[str]
) -> pa.Table:
    """Return schema CLUSTER_MEMBERS, by (snapshot_rank, part, row): members of clusters of two or
    more. A column `known` of `members`, where there is one, has equal numbers for rows that were
    found to be one document before; it is returned too.

    `near` is row-aligned with `members`; `snapshots` are names by rank. Kept is, of the members
    with the smallest snapshot_rank, the best by policy, then the smallest (doc_id, part, row).
    A missing or empty url_key matches nothing.
    """
    missing = [name for name in MEMBERS.names if name not in members.column_names]
    if missing:
        raise MissingInput(
            f"cluster input lacks {', '.join(missing)}: build it as clusters.MEMBERS"
        )
    rank, part, row = (members.column(name).to_numpy() for name in ("snapshot_rank", "part", "row"))
    names = [row, part, *_id_halves(members.column("doc_id")), rank]
    order = np.lexsort(names).astype(np.int32)

    parent = np.arange(order.size, dtype=np.int32)
    kinds = np.full(order.size, _NEAR, np.uint8)
    best = np.zeros(order.size, np.float32)
    matches = [(True, "doc_id", _CAPTURE), (settings.url, "url_key", _URL)]
    matches.append((settings.exact, "text_id", _EXACT))
    for wanted, name, kind in matches:
        if wanted:
            codes = _equality_codes(members.column(name))[order]
            union_equal(parent, codes, int(codes.max(initial=-1)) + 1, kinds, kind)
    if KNOWN in members.column_names:
        codes = _equality_codes(members.column(KNOWN))[order]
        union_equal(parent, codes, int(codes.max(initial=-1)) + 1, kinds, _NEAR)
    if settings.min_similarity is not None:
        able = np.flatnonzero(members.column("n_shingles").to_numpy()[order] > 0)
        _join_near(near, order, able.astype(np.int32), settings.min_similarity, parent, best)

    root = roots(parent)
    sizes = np.bincount(root, minlength=root.size).astype(np.int32)
    chosen = np.flatnonzero(sizes[root] > 1)
    chosen = chosen[np.lexsort([key[order[chosen]] for key in (row, part, rank)])]
    rows, root = order[chosen], root[chosen]
    policy = _policy_keys(members, settings.keep)
    by_choice = np.lexsort([*(key[rows] for key in [*names[:-1], *policy, rank]), root])
    leads = np.ones(rows.size, bool)
    leads[1:] = root[by_choice][1:] != root[by_choice][:-1]
    kept_row = np.zeros(order.size, np.int32)
    kept_row[root[by_choice[leads]]] = rows[by_choice[leads]]

    kind_of = kinds[chosen]
    doc_ids = members.column("doc_id").combine_chunks()
    found = pa.table(
        [
            doc_ids.take(pa.array(rows)),
            pa.array(snapshots, pa.string()).take(pa.array(rank[rows])),
            pa.array(part[rows]),
            pa.array(row[rows]),
            doc_ids.take(pa.array(order[root])),
            pa.array(KINDS, pa.string()).take(pa.array(kind_of)),
            pa.array(kept_row[root] == rows),
            doc_ids.take(pa.array(kept_row[root])),
            pa.array(np.where(kind_of == _NEAR, best[chosen], np.float32(1.0))),
            pa.array(sizes[root]),
        ],
        schema=CLUSTER_MEMBERS,
    ).combine_chunks()
    if KNOWN in members.column_names:
        known = members.column(KNOWN).combine_chunks().take(pa.array(rows))
        found = found.append_column(KNOWN, known)
    return found


def _join_near(
    near: SketchedRows,
    order: npt.NDArray[np.int32],
    able: npt.NDArray[np.int32],
    min_similarity: float,
    parent: npt.NDArray[np.int32],
    best: npt.NDArray[np.float32],
) -> None:
    """Band by band, so that only one band's buckets are in memory at a time.

    Copies of one document meet the same centre in most of their bands, so each member's last
    comparison is remembered and not made again.
    """
    last = np.full(order.size, -1, np.int32)
    known = np.zeros(order.size, np.float64)
    for band in range(near.bands):
        keys, members = group(near.band(band)[order[able]], able)
        for _ in range(MAX_ROUNDS):
            keys, centres, members = star_pairs(keys, members)
            if not members.size:
                break
            new = np.flatnonzero(last[members] != centres)
            known[members[new]] = near.similarities(order[centres[new]], order[members[new]])
            last[members] = centres
            keys, members = settle(
                keys, centres, members, known[members], min_similarity, parent, best
            )


def _policy_keys(members: pa.Table, keep: str) -> list[npt.NDArray[np.generic]]:
    """Ascending sort keys, the last one first as `np.lexsort` has it."""
    if keep == "longest":
        return [-members.column("n_chars").to_numpy()]
    if keep in ("earliest", "latest"):
        fetched = members.column("fetched_at").fill_null("")
        ranks = _string_ranks(fetched)
        return [ranks if keep == "earliest" else -ranks, pc.equal(fetched, "").to_numpy()]
    quality = members.column("quality").cast(pa.float64()).fill_null(np.nan).to_numpy()
    unknown = np.isnan(quality)
    return [-np.where(unknown, 0.0, quality), unknown]


def _id_halves(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Lower and upper half of 16-byte ids, as numbers whose order is the byte order."""
    ids = column.combine_chunks()
    if len(ids) == 0:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    halves = np.frombuffer(ids.buffers()[1], ">u8", 2 * len(ids), 16 * ids.offset)
    return halves[1::2].astype(np.uint64), halves[0::2].astype(np.uint64)


def _equality_codes(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """One number a distinct value, -1 for null and the empty string; exact, not hashed."""
    if pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
        column = pc.if_else(pc.equal(column, ""), None, column)
    indices = column.combine_chunks().dictionary_encode().indices
    return np.asarray(indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)


def _string_ranks(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the place of each string among the distinct ones in byte order."""
    coded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    places: npt.NDArray[np.int64] = np.empty(len(coded.dictionary), np.int64)
    places[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(places.size)
    indices: npt.NDArray[np.int32] = coded.indices.to_numpy(zero_copy_only=False)
    return places[indices]
