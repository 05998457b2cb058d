"""Who keeps the last copy of a line."""

import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.clean.kernels.last_copies import keep_last_copies


def kept(documents: Sequence[tuple[int, dict[int, int]]], min_chars: int) -> list[set[int]]:
    """Lines that each document, given as (chars, {line: chars}), keeps."""
    rows = np.cumsum([0, *(len(lines) for _, lines in documents)], dtype=np.int64)
    numbers = np.array([n for _, lines in documents for n in lines], np.int64)
    sizes = np.array([c for _, lines in documents for c in lines.values()], np.int64)
    chars = np.array([c for c, _ in documents], np.int64)
    n_lines = int(numbers.max(initial=-1)) + 1
    keeps = keep_last_copies(rows, numbers, sizes, chars, n_lines, min_chars)
    return [
        set(numbers[low:high][keeps[low:high] == 1].tolist())
        for low, high in itertools.pairwise(rows)
    ]


def test_the_first_document_keeps_its_lines_and_later_ones_only_what_is_left() -> None:
    documents = [(500, {0: 90, 1: 90}), (900, {0: 90, 1: 90, 2: 90})]
    assert kept(documents, 100) == [{0, 1}, {2}]


def test_a_document_that_would_be_too_short_keeps_nothing() -> None:
    assert kept([(60, {0: 60}), (300, {0: 60})], 100) == [set(), {0}]


def test_a_line_that_only_short_remains_hold_is_kept_with_all_of_a_document() -> None:
    documents = [(500, {0: 60}), (120, {0: 60, 1: 60})]
    assert kept(documents, 100) == [{0}, {0, 1}]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 99), st.dictionaries(st.integers(0, 5), st.integers(1, 99), max_size=4)
        ),
        max_size=8,
    )
)
def test_no_line_is_lost_that_a_long_enough_document_holds(
    drawn: list[tuple[int, dict[int, int]]],
) -> None:
    documents = [(own + sum(lines.values()), lines) for own, lines in drawn]
    keeping = kept(documents, 100)
    for (chars, lines), own in zip(documents, keeping, strict=True):
        left = chars - sum(size for line, size in lines.items() if line not in own)
        assert not own or left >= 100, "who keeps a line survives"
        if chars >= 100:
            assert all(any(line in other for other in keeping) for line in lines)
