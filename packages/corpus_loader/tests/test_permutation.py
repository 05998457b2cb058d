"""Keyed permutations of whole arrays, against a reference in plain integers."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_loader.permutation import CHUNK, derive, permute, unpermute

WORD = 2**64
SIZES = [1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 1023, 1024, 1025, 65537, 10**6, 2**40 + 1, 2**62]

keys = st.integers(0, WORD - 1)


def derived(key: int, number: int) -> int:
    return int(derive(np.array([key], np.uint64), np.array([number], np.int64))[0])


def images(size: int, key: int) -> np.ndarray:
    """Where every index of a permutation goes."""
    return permute(np.arange(size), np.full(size, size), np.full(size, key, np.uint64))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), keys, st.integers(0, 2**40))
def test_the_map_is_a_bijection_and_its_inverse_undoes_it(size: int, key: int, number: int) -> None:
    own = derived(key, number)
    image = images(size, own)
    assert np.array_equal(np.sort(image), np.arange(size))
    back = unpermute(image, np.full(size, size), np.full(size, own, np.uint64))
    assert np.array_equal(back, np.arange(size))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 2**62), keys, st.integers(0, 2**62), st.integers(0, 2**40)),
        min_size=1,
        max_size=40,
    )
)
def test_arrays_of_any_sizes_and_keys_agree_with_the_reference(
    rows: list[tuple[int, int, int, int]],
) -> None:
    sizes = np.array([size for size, *_ in rows], np.int64)
    indices = np.array([index % size for size, _, index, _ in rows], np.int64)
    numbers = np.array([number for *_, number in rows], np.int64)
    own = derive(np.array([key for _, key, *_ in rows], np.uint64), numbers)
    image = permute(indices, sizes, own)
    for row, (size, key, _, number) in enumerate(rows):
        assert int(own[row]) == naive.derive(key, number)
        assert int(image[row]) == naive.permute(int(indices[row]), size, int(own[row]))
    assert np.array_equal(unpermute(image, sizes, own), indices)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", [0, 1, WORD - 1])
def test_the_ends_of_adversarial_sizes_agree_with_the_reference(size: int, key: int) -> None:
    indices = np.array(sorted({0, size // 2, size - 1}), np.int64)
    image = permute(indices, np.full(len(indices), size), np.full(len(indices), key, np.uint64))
    assert image.tolist() == [naive.permute(index, size, key) for index in indices.tolist()]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 1023, 1024, 1025, 65536, 65537])
def test_sizes_around_powers_of_two_are_permuted_whole(size: int) -> None:
    for key in (0, 1, WORD - 1):
        assert np.array_equal(np.sort(images(size, key)), np.arange(size))


def test_more_indices_than_are_worked_on_at_once_give_what_fewer_give() -> None:
    size = 2 * CHUNK + 17
    image = images(size, 99)
    for first in (0, CHUNK - 1, CHUNK, 2 * CHUNK, size - 1):
        assert image[first] == naive.permute(first, size, 99)


def test_inputs_are_left_as_they_are() -> None:
    indices, sizes, own = np.arange(9), np.full(9, 9), np.full(9, 5, np.uint64)
    permute(indices, sizes, own)
    derive(own, indices)
    assert (indices.tolist(), set(sizes.tolist()), set(own.tolist())) == ([*range(9)], {9}, {5})


def test_an_index_lands_everywhere_equally_often_over_keys() -> None:
    size, draws = 50, 50_000
    own = derive(np.full(draws, 99, np.uint64), np.arange(draws))
    landed = permute(np.full(draws, 7), np.full(draws, size), own)
    counts = np.bincount(landed, minlength=size)
    expected = draws / size
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 100  # 49 degrees of freedom: one in 40,000 is above


def test_neighbours_do_not_stay_together() -> None:
    steps = np.abs(np.diff(images(10_000, derived(5, 0))))
    assert 3000 < steps.mean() < 3700  # a third of the range for a random order
    assert np.count_nonzero(steps == 1) < 12  # two are expected
