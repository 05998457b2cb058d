"""Samples of groups found in shards, against a walk through the shards.

The formula from positions to samples is compared with plain integers in `shards/test_order.py`.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.kernels.draws import find_in_shards


def find_naive(groups: list[list[int]], group: int, sample: int) -> tuple[int, int]:
    shard = sum(len(sizes) for sizes in groups[:group])
    for size in groups[group]:
        if sample < size:
            return shard, sample
        sample -= size
        shard += 1
    raise AssertionError("no such sample")


@settings(max_examples=120, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=5))
def test_every_sample_of_every_group_is_found_past_empty_shards(groups: list[list[int]]) -> None:
    totals = np.array([sum(sizes) for sizes in groups])
    starts = np.cumsum(totals) - totals
    ends = np.cumsum([size for sizes in groups for size in sizes])
    asked = [(g, s) for g, total in enumerate(totals) for s in range(total)]
    columns = np.array(asked, dtype=np.int64).reshape(-1, 2)
    found = find_in_shards(columns[:, 0].copy(), columns[:, 1].copy(), starts, ends)
    assert [tuple(pair) for pair in found.T.tolist()] == [find_naive(groups, *a) for a in asked]
