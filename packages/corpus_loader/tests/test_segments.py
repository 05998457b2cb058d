"""Document boundaries, against a reference that looks at one token at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_loader.segments import segments_of

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
    for kind in (np.int32, np.uint16):
        found = segments_of(np.array(rows, kind), EOD, PAD)
        assert found.ids.shape == (len(rows), len(rows[0]))
        assert mark_naive(rows) == (
            found.ids.tolist(),
            found.cu_seqlens.tolist(),
            found.is_padding.tolist(),
        )
        kinds = (found.ids.dtype, found.cu_seqlens.dtype, found.is_padding.dtype)
        assert kinds == (np.int32, np.int32, np.bool_)
        assert found.max_seqlen == np.diff(found.cu_seqlens).max()


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
        [[1], [1], [0], [5]],
        [[5, 0, 1, 1], [1, 5, 0, 1]],
        [[5, 1, 5, 1]],
        [[0, 1, 0, 1]],
    ],
)
def test_adversarial_samples_agree_with_the_reference(rows: list[list[int]]) -> None:
    check(rows)


def test_segments_of_a_batch_never_cross_samples() -> None:
    tokens = np.array([[5, EOD, 6, 7], [8, 9, EOD, PAD], [4, EOD, PAD, PAD]], dtype=np.int32)
    segments = segments_of(tokens, EOD, PAD)
    assert segments.ids.tolist() == [[0, 0, 1, 1], [0, 0, 0, -1], [0, 0, -1, -1]]
    assert segments.cu_seqlens.tolist() == [0, 2, 4, 7, 8, 10, 12]
    assert segments.is_padding.tolist() == [False, False, False, True, False, True]
    assert segments.max_seqlen == 3


def test_one_sample_has_the_shape_of_one() -> None:
    segments = segments_of(np.array([5, EOD, 6, PAD], np.int32), EOD, PAD)
    assert segments.ids.tolist() == [0, 0, 1, -1]


@pytest.mark.parametrize("shape", [(0, 8), (0,)])
def test_no_samples_have_one_boundary(shape: tuple[int, ...]) -> None:
    segments = segments_of(np.empty(shape, np.int32), EOD, PAD)
    assert (segments.ids.shape, segments.cu_seqlens.tolist()) == (shape, [0])
    assert segments.is_padding.tolist() == []
    assert segments.max_seqlen == 0
