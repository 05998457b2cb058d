import numpy as np
import numpy.typing as npt

from corpus_assets.dedup.kernels.buckets import (
    band_keys,
    compare_sketches,
    group,
    settle,
    star_pairs,
)
from corpus_assets.dedup.kernels.union_find import roots


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
    found = band_keys(signatures, 3, 4)
    for band in range(3):
        keys = found[:, band]
        bands = [tuple(row) for row in signatures[:, 4 * band : 4 * band + 4].tolist()]
        assert len(set(keys.tolist())) == len(set(bands)) == len(set(zip(keys, bands, strict=True)))
    same = band_keys(np.zeros((1, 12), np.uint32), 3, 4)[0]
    assert len(set(same.tolist())) == 3


def test_every_member_but_the_first_of_its_bucket_is_paired_with_the_first() -> None:
    keys = np.array([3, 5, 5, 5, 6, 7, 7], np.uint64)
    members = np.array([9, 1, 4, 8, 2, 3, 0], np.int32)
    found = [part.tolist() for part in star_pairs(keys, members)]
    assert found == [[5, 5, 7], [1, 1, 3], [4, 8, 0]]
    assert [part.size for part in star_pairs(keys[:0], members[:0])] == [0, 0, 0]


def test_comparing_sketches_equals_counting_their_bytes_one_by_one() -> None:
    random = np.random.default_rng(8)
    for words in (1, 8, 64):
        sketches = random.integers(0, 256, (60, 8 * words), dtype=np.uint8)
        sketches[random.random(sketches.shape) < 0.3] = 0
        sketches[random.random(sketches.shape) < 0.2] = 128
        sketches[30:] = np.where(random.random((30, 8 * words)) < 0.7, sketches[:30], sketches[30:])
        sketches[0], sketches[1], sketches[2] = 0, 255, 0
        left = random.integers(0, 60, 300).astype(np.int32)
        right = ((left + 30) % 60).astype(np.int32)
        left[:3], right[:3] = [0, 1, 0], [2, 1, 1]
        equal, used = compare_sketches(sketches.view(np.uint64), left, right)
        for i, (a, b) in enumerate(zip(sketches[left], sketches[right], strict=True)):
            assert used[i] == np.count_nonzero(a | b)
            assert equal[i] == np.count_nonzero((a == b) & (a > 0))


def run(
    signatures: npt.NDArray[np.uint32], min_similarity: float, rounds: int
) -> tuple[list[int], list[float]]:
    """One bucket of all rows, settled by the share of equal values."""
    size = signatures.shape[0]
    keys, members = np.zeros(size, np.uint64), np.arange(size, dtype=np.int32)
    parent, best = members.copy(), np.zeros(size, np.float32)
    for _ in range(rounds):
        keys, centres, members = star_pairs(keys, members)
        alike = (signatures[centres] == signatures[members]).mean(axis=1)
        keys, members = settle(keys, centres, members, alike, min_similarity, parent, best)
    return roots(parent).tolist(), best.tolist()


def test_members_that_a_centre_does_not_confirm_get_a_next_centre() -> None:
    rows = [[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 1, 9], [2, 2, 2, 9], [3, 3, 3, 3], [3, 3, 3, 3]]
    signatures = np.array(rows, np.uint32)
    assert run(signatures, 0.75, 1) == ([0, 1, 0, 3, 4, 5], [0.75, 0, 0.75, 0, 0, 0])
    assert run(signatures, 0.75, 2)[0] == [0, 1, 0, 1, 4, 5]
    assert run(signatures, 0.75, 3) == ([0, 1, 0, 1, 4, 4], [0.75, 0.75, 0.75, 0.75, 1, 1])
