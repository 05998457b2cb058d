import numpy as np

from corpus_assets.dedup.kernels.union_find import roots, union, union_equal


def naive_roots(size: int, edges: list[tuple[int, int]]) -> list[int]:
    label = list(range(size))
    for left, right in edges:
        small, large = sorted((label[left], label[right]))
        label = [small if value == large else value for value in label]
    return label


def test_roots_are_the_smallest_members_whatever_the_order_of_edges() -> None:
    random = np.random.default_rng(4)
    for _ in range(60):
        size = int(random.integers(1, 40))
        edges = [tuple(random.integers(0, size, 2).tolist()) for _ in range(size // 2)]
        expected = naive_roots(size, edges)
        for _ in range(3):
            random.shuffle(edges)
            parent = np.arange(size, dtype=np.int64)
            for left, right in edges:
                union(parent, left, right)
            assert roots(parent).tolist() == expected


def test_a_long_chain_is_one_component() -> None:
    parent = np.arange(300_000, dtype=np.int64)
    for i in range(parent.size - 1, 0, -1):
        union(parent, i, i - 1)
    assert not roots(parent).any()


def test_equal_codes_are_joined_and_negative_ones_are_not() -> None:
    codes = np.array([2, -1, 0, 2, -1, 1, 2], np.int64)
    parent, kinds = np.arange(7, dtype=np.int64), np.full(7, 3, np.uint8)
    union_equal(parent, codes, 3, kinds, 1)
    assert roots(parent).tolist() == [0, 1, 2, 0, 4, 5, 0]
    assert kinds.tolist() == [1, 3, 3, 1, 3, 3, 1]
    union_equal(parent, codes, 3, kinds, 2)
    assert kinds.tolist() == [1, 3, 3, 1, 3, 3, 1]
