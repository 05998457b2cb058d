import numpy as np
import numpy.typing as npt
import pytest

from corpus_assets.dedup.kernels.components import (
    ALONE,
    RANGES,
    by_range,
    id_keys,
    join_equal,
    number_batches,
    take_kept,
)
from corpus_assets.dedup.kernels.union_find import roots

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def naive_roots(keys: list[int], members: list[int], size: int) -> list[int]:
    label = list(range(size))
    first: dict[int, int] = {}
    for key, member in zip(keys, members, strict=True):
        old, new = label[member], label[first.setdefault(key, member)]
        label = [min(old, new) if value in (old, new) else value for value in label]
    return label


def joined(keys: npt.NDArray[np.uint64], members: list[int], size: int) -> list[int]:
    parent = np.arange(size, dtype=np.uint32)
    join_equal(keys, np.array(members, np.uint32), parent)
    return [int(root) for root in roots(parent)]


@pytest.mark.parametrize("spread", [1, 2, 40, 2**60])
def test_members_with_equal_keys_are_joined_whatever_their_order(spread: int) -> None:
    random = np.random.default_rng(spread % 97)
    for size in (0, 1, 2, 60):
        keys = random.integers(0, spread, size, dtype=np.uint64) * GOLDEN
        members = random.permutation(size).tolist()
        assert joined(keys, members, size) == naive_roots(keys.tolist(), members, size)


def test_keys_that_share_a_chunk_and_a_slot_are_kept_apart() -> None:
    """All bits equal but the upper 8, which choose neither a chunk nor a slot."""
    keys = (np.arange(200, dtype=np.uint64) << np.uint64(56)) | np.uint64(12345)
    assert joined(keys, list(range(200)), 200) == list(range(200))
    assert joined(keys // np.uint64(1), [i // 2 for i in range(200)], 100) == list(range(100))


def test_a_bucket_of_a_million_is_one_component() -> None:
    size = 1_000_000
    parent = np.arange(size, dtype=np.uint32)
    join_equal(np.full(size, 7, np.uint64), np.arange(size, dtype=np.uint32)[::-1], parent)
    assert not roots(parent).any()


def test_ranges_hold_their_keys_in_the_order_in_which_they_came() -> None:
    random = np.random.default_rng(3)
    for size in (0, 1, 5000):
        keys = random.integers(0, 2**64, size, dtype=np.uint64)
        found_keys, rows, starts = by_range(keys, np.arange(size, dtype=np.uint32))
        assert np.array_equal(rows, np.argsort(keys >> np.uint64(56), kind="stable"))
        assert np.array_equal(found_keys, keys[rows])
        assert starts.tolist() == np.searchsorted(
            np.sort(keys >> np.uint64(56)), np.arange(RANGES + 1, dtype=np.uint64)
        ).tolist()  # fmt: skip


def test_only_rows_that_count_are_taken() -> None:
    kept = np.array([1, 1, 0, 1, 0], bool)
    keys, members = np.zeros(3, np.uint64), np.zeros(3, np.uint32)
    slices = np.array([9, 8, 7], np.uint64), np.array([2, 0, 1], np.uint32)
    filled = take_kept(*slices, 2, kept, keys, members, 0)
    assert (filled, keys[0], members[0]) == (1, 7, 3)
    assert take_kept(slices[0][:2], slices[1][:2], 1, kept, keys, members, 1) == 3
    assert members.tolist() == [3, 3, 1]


def test_batches_hold_whole_components_and_larger_ones_have_their_own() -> None:
    random = np.random.default_rng(4)
    for seed in range(200):
        size = int(random.integers(0, 60))
        labels = random.integers(0, max(1, size // 2), size)
        parent = np.zeros(size, np.uint32)
        for i, label in enumerate(labels):
            parent[i] = np.flatnonzero(labels == label)[0]
        most = int(random.integers(1, 8))
        batches = parent.copy()
        counts = number_batches(batches, most)
        for batch, count in enumerate(counts.tolist()):
            rows = np.flatnonzero(batches == batch)
            inside = set(labels[rows].tolist())
            assert rows.size == count, seed
            assert count <= most or len(inside) == 1
            assert rows.tolist() == np.flatnonzero(np.isin(labels, list(inside))).tolist()
        alone = np.flatnonzero(batches == ALONE)
        assert all(np.count_nonzero(labels == labels[i]) == 1 for i in alone)
        assert alone.size + counts.sum() == size


def test_keys_of_ids_depend_on_both_halves() -> None:
    halves = np.array([[1, 2], [1, 3], [2, 2], [1, 2], [2, 1]], np.uint64)
    keys = id_keys(halves).tolist()
    assert keys[0] == keys[3]
    assert len(set(keys)) == 4
