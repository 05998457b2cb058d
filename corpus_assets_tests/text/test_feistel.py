"""The keyed permutation against a reference in plain integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.text.feistel import (
    ROUNDS,
    derive,
    permute,
    unpermute,
    unpermute_many,
)

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix64_naive(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def derive_naive(key: int, number: int) -> int:
    return mix64_naive(key ^ mix64_naive((number + 1) * GOLDEN % WORD))


def permute_naive(index: int, size: int, key: int) -> int:
    bits = (size - 1).bit_length()
    low_bits = (bits + 1) // 2
    while True:
        high, low = divmod(index, 2**low_bits)
        for number in range(ROUNDS):
            round_key = (key + number * GOLDEN) % WORD
            if number % 2:
                high ^= mix64_naive(round_key ^ low) % 2 ** (bits - low_bits)
            else:
                low ^= mix64_naive(round_key ^ high) % 2**low_bits
        index = high * 2**low_bits + low
        if index < size:
            return index


def images(size: int, key: int, number: int = 0) -> np.ndarray:
    word = np.uint64
    derived = word(int(derive(word(key), word(number))))
    return np.array([permute(word(index), word(size), derived) for index in range(size)], np.int64)


keys = st.integers(0, WORD - 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), keys, st.integers(0, 2**40))
def test_the_map_is_a_bijection_and_its_inverse_undoes_it(size: int, key: int, number: int) -> None:
    image = images(size, key, number)
    assert np.array_equal(np.sort(image), np.arange(size))
    back = unpermute_many(
        image, np.full(size, size), np.full(size, key, dtype=np.uint64), np.full(size, number)
    )
    assert np.array_equal(back, np.arange(size))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 2**62), keys, st.integers(0, 2**62), st.integers(0, 2**40))
def test_single_values_agree_with_the_naive_reference(
    size: int, key: int, index: int, number: int
) -> None:
    index %= size
    word = np.uint64
    derived = derive(word(key), word(number))
    assert int(derived) == derive_naive(key, number)
    image = permute(word(index), word(size), word(int(derived)))
    assert int(image) == permute_naive(index, size, int(derived))
    assert int(unpermute(word(int(image)), word(size), word(int(derived)))) == index


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 1023, 1024, 1025, 65536, 65537])
def test_sizes_around_powers_of_two_are_permuted_whole(size: int) -> None:
    for key in (0, 1, WORD - 1):
        assert np.array_equal(np.sort(images(size, key)), np.arange(size))


def test_an_index_lands_everywhere_equally_often_over_keys() -> None:
    size, draws, word = 50, 50_000, np.uint64
    keys = [word(int(derive(word(99), word(draw)))) for draw in range(draws)]
    landed = [int(permute(word(7), word(size), key)) for key in keys]
    counts = np.bincount(landed, minlength=size)
    expected = draws / size
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 100  # 49 degrees of freedom: one in 40,000 is above


def test_neighbours_do_not_stay_together() -> None:
    image = images(10_000, 5)
    steps = np.abs(np.diff(image))
    assert 3000 < steps.mean() < 3700  # a third of the range for a random order
    assert np.count_nonzero(steps == 1) < 12  # two are expected
