"""Samples gathered from many arrays, against one copy after another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.kernels.gather import gather_rows


def gather_naive(
    files: list[np.ndarray],
    numbers: np.ndarray,
    samples: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
) -> None:
    for number, sample, row in zip(numbers, samples, rows, strict=True):
        out[row] = files[number][sample]


def addresses_of(files: list[np.ndarray]) -> np.ndarray:
    return np.array([file.ctypes.data for file in files], dtype=np.uint64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 70), st.integers(0, 40))
def test_rows_equal_those_of_single_copies(seed: int, count: int, seq_len: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 9, count)
    files = [generator.integers(-(2**31), 2**31, (n, seq_len)).astype(np.int32) for n in sizes]
    numbers = generator.integers(0, count, rows)
    samples = (generator.random(rows) * sizes[numbers]).astype(np.int64)
    places = generator.permutation(rows)
    out = np.full((rows, seq_len), -7, dtype=np.int32)
    expected = out.copy()
    gather_rows(addresses_of(files), numbers, samples, places, out)
    gather_naive(files, numbers, samples, places, expected)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("seq_len", [1, 3, 4096, 8192])
def test_rows_that_are_not_asked_for_stay_as_they_are(seq_len: int) -> None:
    file = np.arange(4 * seq_len, dtype=np.int32).reshape(4, seq_len)
    out = np.full((5, seq_len), -1, dtype=np.int32)
    gather_rows(
        addresses_of([file]), np.zeros(2, np.int64), np.array([3, 0]), np.array([4, 1]), out
    )
    assert np.array_equal(out[[4, 1]], file[[3, 0]])
    assert (out[[0, 2, 3]] == -1).all()
