import time

import numpy as np
import numpy.typing as npt
import pytest

from corpus_assets.kernels.buckets import agreement, band_keys, group, tie_buckets
from corpus_assets.kernels.unionfind import roots


def test_grouping_is_a_stable_sort_that_brings_equal_keys_together() -> None:
    random = np.random.default_rng(5)
    for size in (0, 1, 2, 1000, 5000):
        for spread in (1, 3, 2**20, 2**63):
            keys = random.integers(0, spread, size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            members = np.arange(size, dtype=np.int64)
            sorted_keys, order = group(keys, members)
            assert np.array_equal(order, np.argsort(keys, kind="stable"))
            assert np.array_equal(sorted_keys, keys[order])


def test_keys_that_agree_in_their_upper_half_only_are_kept_apart() -> None:
    random = np.random.default_rng(6)
    keys = np.uint64(7 << 32) + random.integers(0, 50, 4000, dtype=np.uint64)
    sorted_keys, order = group(keys, np.arange(4000, dtype=np.int64))
    assert np.array_equal(order, np.argsort(keys, kind="stable"))
    assert np.array_equal(sorted_keys, np.sort(keys))


def test_band_keys_are_equal_exactly_for_equal_bands() -> None:
    random = np.random.default_rng(7)
    signatures = random.integers(0, 2, (500, 12), dtype=np.uint32)
    rows = np.arange(500, dtype=np.int64)
    for band in range(3):
        keys = band_keys(signatures, rows, band, 4)
        bands = [tuple(row) for row in signatures[:, 4 * band : 4 * band + 4].tolist()]
        assert len(set(keys.tolist())) == len(set(bands)) == len(set(zip(keys, bands, strict=True)))
    assert band_keys(np.zeros((1, 12), np.uint32), rows[:1], 0, 4) != band_keys(
        np.zeros((1, 12), np.uint32), rows[:1], 1, 4
    )


def run(
    signatures: npt.NDArray[np.uint32], min_agreement: int, rounds: int
) -> tuple[list[int], list[int]]:
    size = signatures.shape[0]
    keys, members = np.zeros(size, np.uint64), np.arange(size, dtype=np.int64)
    parent, best = members.copy(), np.zeros(size, np.int32)
    tie_buckets(keys, members.copy(), signatures, min_agreement, rounds, parent, best)
    return roots(parent).tolist(), best.tolist()


def test_members_that_a_centre_does_not_confirm_get_a_next_centre() -> None:
    rows = [[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 1, 9], [2, 2, 2, 9], [3, 3, 3, 3], [3, 3, 3, 3]]
    signatures = np.array(rows, np.uint32)
    assert run(signatures, 3, 1) == ([0, 1, 0, 3, 4, 5], [3, 0, 3, 0, 0, 0])
    assert run(signatures, 3, 2)[0] == [0, 1, 0, 1, 4, 5]
    assert run(signatures, 3, 3) == ([0, 1, 0, 1, 4, 4], [3, 3, 3, 3, 4, 4])


def test_agreement_counts_equal_places() -> None:
    signatures = np.array([[1, 2, 3], [1, 5, 3]], np.uint32)
    assert agreement(signatures, 0, 1) == 2


@pytest.mark.timeout(120)
def test_a_bucket_of_a_million_takes_linear_time_even_when_nothing_is_confirmed() -> None:
    size = 1_000_000
    signatures = np.arange(size * 16, dtype=np.uint32).reshape(size, 16)
    run(signatures[:10], 16, 3)
    began = time.perf_counter()
    found, _ = run(signatures, 16, 3)
    assert time.perf_counter() - began < 20
    assert found == list(range(size))
