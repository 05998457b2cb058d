"""Document boundaries in one pass, against a reference that looks at one token at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.kernels.segments import mark_segments

EOD, PAD = 0, 1


def mark_naive(rows: list[list[int]]) -> tuple[list[list[int]], list[int], list[bool]]:
    ids, firsts, padding, at = [], [], [], 0
    for row in rows:
        segment, line = 0, []
        for place, token in enumerate(row):
            before = row[place - 1] if place else None
            segment += before == EOD
            if before in (None, EOD) or (token == PAD and before != PAD):
                firsts.append(at)
                padding.append(token == PAD)
            line.append(-1 if token == PAD else segment)
            at += 1
        ids.append(line)
    return ids, [*firsts, at], padding


def check(rows: list[list[int]]) -> None:
    ids, firsts, padding = mark_segments(np.array(rows, dtype=np.int32), EOD, PAD, -1)
    assert (ids.tolist(), firsts.tolist(), padding.tolist()) == mark_naive(rows)
    assert (ids.dtype, firsts.dtype, padding.dtype) == (np.int32, np.int32, np.bool_)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from([0, 0, 1, 1, 5, 6]), min_size=n, max_size=n), min_size=1)
))  # fmt: skip
def test_any_tokens_are_marked_as_the_reference_marks_them(rows: list[list[int]]) -> None:
    check(rows)


@pytest.mark.parametrize(
    "rows",
    [
        [[5, 5, 5, 5]],
        [[0, 0, 0, 0]],
        [[1, 1, 1, 1]],
        [[5, 0, 1, 1], [1, 5, 0, 1]],
        [[5, 1, 5, 1]],
        [[0, 1, 0, 1]],
    ],
)
def test_adversarial_samples_agree_with_the_reference(rows: list[list[int]]) -> None:
    check(rows)


def test_no_samples_have_one_boundary() -> None:
    ids, firsts, padding = mark_segments(np.empty((0, 8), np.int32), EOD, PAD, -1)
    assert (ids.shape, firsts.tolist(), padding.tolist()) == ((0, 8), [0], [])
