"""Best-fit packing against a reference that looks at every bin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.kernels.packing import best_fit, lay_best_fit, lay_end_to_end


def best_fit_naive(lengths: list[int], capacity: int) -> list[int]:
    """Longest piece first; least space that fits, among equals the bin changed last."""
    spaces: list[tuple[int, int]] = []  # space, moment of the last change
    bins = [-1] * len(lengths)
    order = sorted(range(len(lengths)), key=lambda piece: -lengths[piece])
    for moment, piece in enumerate(order):
        fitting = [
            (space, -changed, number)
            for number, (space, changed) in enumerate(spaces)
            if space >= lengths[piece]
        ]
        if fitting:
            space, _, chosen = min(fitting)
            spaces[chosen] = (space - lengths[piece], moment)
        else:
            chosen = len(spaces)
            spaces.append((capacity - lengths[piece], moment))
        bins[piece] = chosen
    return bins


def check(lengths: list[int], capacity: int) -> None:
    bins, used = best_fit(np.array(lengths, dtype=np.int32), capacity)
    assert bins.tolist() == best_fit_naive(lengths, capacity)
    assert used == len(set(bins.tolist()))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_piece_goes_where_the_naive_reference_puts_it(data: st.DataObject) -> None:
    capacity = data.draw(st.sampled_from([1, 2, 7, 63, 64, 65, 127, 128, 500, 4096, 4097, 9000]))
    lengths = data.draw(st.lists(st.integers(1, capacity), max_size=60))
    check(lengths, capacity)


@pytest.mark.parametrize(
    ("lengths", "capacity"),
    [
        ([], 8),
        ([1] * 300, 64),
        ([64] * 5, 64),
        ([33] * 50 + [31] * 50, 64),
        (list(range(1, 201)), 200),
        ([4095, 1, 4096, 2, 4094] * 20, 4096),
        ([1, 8191, 8192] * 30, 8192),
    ],
)
def test_adversarial_lengths_agree_with_the_naive_reference(
    lengths: list[int], capacity: int
) -> None:
    check(lengths, capacity)


def test_long_random_input_agrees_with_the_naive_reference() -> None:
    generator = np.random.default_rng(1)
    check(np.minimum(generator.lognormal(5, 1, 1500), 2048).astype(int).clip(1).tolist(), 2048)


def test_no_bin_is_overfull_and_waste_is_small() -> None:
    generator = np.random.default_rng(2)
    lengths = np.clip(generator.lognormal(6, 1, 200_000), 1, 2048).astype(np.int32)
    bins, used = best_fit(lengths, 2048)
    filled = np.bincount(bins, weights=lengths)
    assert filled.max() <= 2048
    assert used <= 1.001 * -(-int(lengths.sum()) // 2048)


Pieces = list[tuple[int, int, int, int, int]]


def lay_best_fit_naive(lengths: list[int], capacity: int) -> Pieces:
    """Cut, give full pieces bins of their own, put the rest where `best_fit_naive` says."""
    pieces = [
        (document, start, min(capacity, length - start))
        for document, length in enumerate(lengths)
        for start in range(0, length, capacity)
    ]
    whole = [piece for piece in pieces if piece[2] == capacity]
    rest = [piece for piece in pieces if piece[2] < capacity]
    bins = dict(zip(rest, best_fit_naive([piece[2] for piece in rest], capacity), strict=True))
    filled: dict[int, int] = {}
    laid = []
    for piece in pieces:
        document, start, length = piece
        place = whole.index(piece) if piece in whole else len(whole) + bins[piece]
        laid.append((document, place, filled.get(place, 0), length, start))
        filled[place] = filled.get(place, 0) + length
    return laid


def lay_end_to_end_naive(lengths: list[int], capacity: int) -> Pieces:
    """One token after another."""
    laid: Pieces = []
    at = 0
    for document, length in enumerate(lengths):
        for token in range(length):
            place, offset = divmod(at, capacity)
            if token and offset:
                *same, count, start = laid[-1]
                laid[-1] = (*same, count + 1, start)  # type: ignore[assignment]
            else:
                laid.append((document, place, offset, 1, token))
            at += 1
    return laid


def rows(columns: tuple[np.ndarray, ...]) -> Pieces:
    return list(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_documents_are_laid_as_the_naive_references_lay_them(data: st.DataObject) -> None:
    capacity = data.draw(st.sampled_from([1, 2, 3, 8, 64]))
    lengths = data.draw(st.lists(st.integers(1, 3 * capacity), max_size=30))
    given_lengths = np.array(lengths, dtype=np.int64)
    assert rows(lay_best_fit(given_lengths, capacity)) == lay_best_fit_naive(lengths, capacity)
    assert rows(lay_end_to_end(given_lengths, capacity)) == lay_end_to_end_naive(lengths, capacity)
