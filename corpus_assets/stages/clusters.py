"""Clusters: documents that are one document, and which of them stands for the others.

1. Rows with one doc_id are one capture; rows with one url_key, or with one text_id, are tied.
2. Near duplicates share a band of their signature (a bucket) and are confirmed by a centre:
   the bucket's first member (by snapshot rank, then id) is compared with all others, those it
   does not confirm get a next centre, up to `max_rounds` centres. A million in one bucket cost
   a million a round. Later snapshots come after earlier ones, so they never move a centre.
3. Components of all ties are clusters; the recipe's policy chooses the kept member.

Everything is a pure function of the rows, whatever their order: a bucket of its members, a
cluster of its component. Memory: the signatures, and about 150 bytes a row beside them.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from corpus_assets.documents import CLUSTER_MEMBERS, DOC_ID
from corpus_assets.errors import MissingInput, RecipeError
from corpus_assets.kernels.buckets import band_keys, group, tie_buckets
from corpus_assets.kernels.unionfind import roots, union_equal
from corpus_assets.stages.signatures import SignatureSettings
from corpus_assets.step import Settings

VERSION = 2

MEMBERS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("snapshot", pa.string()),
        ("snapshot_rank", pa.int32()),
        ("part", pa.int32()),
        ("row", pa.int32()),
        ("url_key", pa.string()),
        ("text_id", pa.binary(16)),
        ("fetched_at", pa.string()),
        ("n_chars", pa.int64()),
        ("quality", pa.float32()),  # null where unknown
        ("n_shingles", pa.int32()),
        ("signature", pa.binary()),
    ]
)
"""What `find_clusters` reads; (snapshot, part, row) names a row and is given once."""

KINDS = ("capture", "url", "exact", "near")
"""Ties, the closest first."""

REASONS = {
    "capture": "repeated_capture",
    "url": "repeated_url",
    "exact": "repeated_text",
    "near": "near_duplicate_text",
}
"""Why a member that is not kept is dropped, by its kind."""

_CAPTURE, _URL, _EXACT, _NEAR = range(4)


class Rolling(Settings):
    """The snapshot and the `rolling` ones before it."""

    rolling: int = Field(ge=1)


class ClusterSettings(Settings):
    """Which ties count, how far they reach, and who is kept."""

    url: bool = True
    exact: bool = True
    near: bool = True
    min_similarity: float = Field(default=0.7, gt=0, le=1)
    max_rounds: int = Field(default=3, ge=1)
    scope: Literal["per_snapshot", "all"] | Rolling = "per_snapshot"
    keep: Literal["longest", "earliest", "best_quality"] = "longest"


def band_hashes(signatures: pa.Table, settings: SignatureSettings) -> npt.NDArray[np.uint64]:
    """uint64[rows, bands]: the bucket of each row in each band, for exchanges by hash range."""
    rows = np.arange(signatures.num_rows, dtype=np.int64)
    matrix = _signature_matrix(signatures.column("signature"), rows, settings)
    bands = [band_keys(matrix, rows, i, settings.rows_per_band) for i in range(settings.bands)]
    return np.stack(bands, axis=1)


def find_clusters(
    members: pa.Table, settings: ClusterSettings, signature_settings: SignatureSettings
) -> pa.Table:
    """Schema CLUSTER_MEMBERS, by (snapshot, part, row): members of clusters of two or more.

    Kept is, of the members with the smallest snapshot_rank, the best by policy, then the
    smallest (doc_id, part, row). A missing or empty url_key ties nothing.
    """
    missing = [name for name in MEMBERS.names if name not in members.column_names]
    if missing:
        raise MissingInput(
            f"cluster input lacks {', '.join(missing)}: build it as clusters.MEMBERS"
        )
    id_high, id_low = _id_halves(members.column("doc_id"))
    snapshot = _string_ranks(members.column("snapshot"))
    rank, part, row = (_ints(members.column(name)) for name in ("snapshot_rank", "part", "row"))
    order = np.lexsort((snapshot, row, part, id_low, id_high, rank))

    parent = np.arange(order.size, dtype=np.int64)
    kinds = np.full(order.size, _NEAR, np.uint8)
    best = np.zeros(order.size, np.int32)
    urls = members.column("url_key")
    ties = [(True, members.column("doc_id"), _CAPTURE), (settings.url, urls, _URL)]
    ties.append((settings.exact, members.column("text_id"), _EXACT))
    for wanted, column, kind in ties:
        if wanted:
            codes = _equality_codes(column)[order]
            union_equal(parent, codes, int(codes.max(initial=-1)) + 1, kinds, kind)
    if settings.near:
        _tie_near(members, order, settings, signature_settings, parent, best)

    root = roots(parent)
    sizes = np.bincount(root, minlength=root.size)
    chosen = np.flatnonzero(sizes[root] > 1)
    chosen = chosen[np.lexsort([key[order[chosen]] for key in (row, part, snapshot)])]
    rows = order[chosen]
    root = root[chosen]

    policy = [key[rows] for key in _policy_keys(members, settings.keep)]
    by_rank = np.lexsort(
        [
            snapshot[rows],
            row[rows],
            part[rows],
            id_low[rows],
            id_high[rows],
            *policy,
            rank[rows],
            root,
        ]
    )
    leads = np.ones(rows.size, bool)
    leads[1:] = root[by_rank][1:] != root[by_rank][:-1]
    kept_row = np.zeros(order.size, np.int64)
    kept_row[root[by_rank[leads]]] = rows[by_rank[leads]]

    tie = kinds[chosen]
    similarity = np.where(tie == _NEAR, best[chosen] / signature_settings.permutations, 1.0)
    doc_ids = members.column("doc_id").combine_chunks()
    return pa.table(
        [
            doc_ids.take(pa.array(rows)),
            members.column("snapshot").take(pa.array(rows)),
            pa.array(part[rows].astype(np.int32)),
            pa.array(row[rows].astype(np.int32)),
            doc_ids.take(pa.array(order[root])),
            pa.array(KINDS, pa.string()).take(pa.array(tie)),
            pa.array(kept_row[root] == rows),
            doc_ids.take(pa.array(kept_row[root])),
            pa.array(similarity.astype(np.float32)),
            pa.array(sizes[root].astype(np.int32)),
        ],
        schema=CLUSTER_MEMBERS,
    ).combine_chunks()


def _tie_near(
    members: pa.Table,
    order: npt.NDArray[np.int64],
    settings: ClusterSettings,
    signature_settings: SignatureSettings,
    parent: npt.NDArray[np.int64],
    best: npt.NDArray[np.int32],
) -> None:
    """Band by band, so that only one band's hashes are in memory at a time."""
    matrix = _signature_matrix(members.column("signature"), order, signature_settings)
    able = np.flatnonzero(_ints(members.column("n_shingles"))[order] > 0)
    shares = np.arange(signature_settings.permutations + 1) / signature_settings.permutations
    min_agreement = int(np.flatnonzero(shares >= settings.min_similarity)[0])
    for band in range(signature_settings.bands):
        keys = band_keys(matrix, able, band, signature_settings.rows_per_band)
        keys, grouped = group(keys, able)
        tie_buckets(keys, grouped, matrix, min_agreement, settings.max_rounds, parent, best)


def _signature_matrix(
    column: pa.ChunkedArray, order: npt.NDArray[np.int64], settings: SignatureSettings
) -> npt.NDArray[np.uint32]:
    """Signatures as uint32[rows, permutations] in the given order: one copy, lengths checked."""
    width = 4 * settings.permutations
    matrix = np.empty((len(column), settings.permutations), np.uint32)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    start = 0
    for chunk in column.chunks:
        if len(chunk) == 0:
            continue
        lengths = pc.binary_length(chunk)
        if chunk.null_count or pc.min_max(lengths).as_py() != {"min": width, "max": width}:
            raise RecipeError(
                f"signatures are not all of {width} bytes ({settings.bands} bands of "
                f"{settings.rows_per_band}): compute them with the settings given here"
            )
        _, offsets, data = chunk.buffers()
        first = int(np.frombuffer(offsets, np.int32)[chunk.offset])
        values = np.frombuffer(data, "<u4", len(chunk) * settings.permutations, first)
        matrix[places[start : start + len(chunk)]] = values.reshape(len(chunk), -1)
        start += len(chunk)
    return matrix


def _policy_keys(members: pa.Table, keep: str) -> list[npt.NDArray[np.generic]]:
    """Ascending sort keys, the last one first as `np.lexsort` has it."""
    if keep == "longest":
        return [-_ints(members.column("n_chars"))]
    if keep == "earliest":
        fetched = members.column("fetched_at").fill_null("")
        return [_string_ranks(fetched), pc.equal(fetched, "").to_numpy()]
    quality = members.column("quality").cast(pa.float64()).fill_null(np.nan).to_numpy()
    unknown = np.isnan(quality)
    return [-np.where(unknown, 0.0, quality), unknown]


def _ints(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _id_halves(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Both halves of 16-byte ids, in an order that is the byte order."""
    ids = column.combine_chunks()
    if len(ids) == 0:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    halves = np.frombuffer(ids.buffers()[1], ">u8", 2 * len(ids), 16 * ids.offset)
    return halves[0::2].astype(np.uint64), halves[1::2].astype(np.uint64)


def _equality_codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """One number a distinct value, -1 for null and the empty string; exact, not hashed."""
    if pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
        column = pc.if_else(pc.equal(column, ""), None, column)
    indices = column.combine_chunks().dictionary_encode().indices
    return np.asarray(indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _string_ranks(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The place of each string among the distinct ones in byte order."""
    coded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    places: npt.NDArray[np.int64] = np.empty(len(coded.dictionary), np.int64)
    places[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(places.size)
    indices: npt.NDArray[np.int32] = coded.indices.to_numpy(zero_copy_only=False)
    return places[indices]
