"""Tiers by copies: documents that a crawl found again and again, apart from those found once.

FineWeb2 (Penedo et al. 2025, arXiv:2506.20920) repeats a document by how many copies its
cluster had, where that goes with quality. Here the copies choose the shard's tier, `high.5` for
a kept document of tier `high` whose cluster has 5 members or more, and what such a tier is worth
is a weight of the mixture: changing it recomputes nothing.
"""

from collections.abc import Sequence

import pyarrow as pa


def tiers_by_copies(tiers: pa.ChunkedArray, members: pa.Table, sizes: Sequence[int]) -> pa.Array:
    """The tiers of a part's documents, those of clusters with one of `sizes` or more renamed.

    `members` are the part's rows of CLUSTER_MEMBERS; `sizes` ascend.
    """
    named: list[str | None] = tiers.to_pylist()
    columns = (members[name].to_pylist() for name in ("row", "kept", "cluster_size"))
    for row, kept, found in zip(*columns, strict=True):
        reached = [size for size in sizes if size <= found]
        tier = named[row]
        if kept and reached and tier is not None:
            named[row] = f"{tier}.{reached[-1]}"
    return pa.array(named, pa.string())
