"""Kernels over samples, each against a plain reference: gathering, boundaries, spelling."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.shards.kernels.samples import gather_rows, mark_segments, spell_spans


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
@given(
    st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 70), st.integers(0, 40), st.booleans()
)
def test_rows_equal_those_of_single_copies(
    seed: int, count: int, seq_len: int, rows: int, is_narrow: bool
) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 9, count)
    kind = np.uint16 if is_narrow else np.int32
    files = [generator.integers(-(2**31), 2**31, (n, seq_len)).astype(kind) for n in sizes]
    numbers = generator.integers(0, count, rows)
    samples = (generator.random(rows) * sizes[numbers]).astype(np.int64)
    places = generator.permutation(rows)
    out = np.full((rows, seq_len), 7, dtype=kind)
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


# Document boundaries in one pass, against a reference that looks at one token at a time.

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


# Documents spelled from tokens, against joining bytes in Python.


def _reference(
    tokens: list[int], spans: list[list[tuple[int, int]]], table: list[bytes]
) -> list[bytes]:
    return [
        b"".join(
            table[token]
            for start, length in document
            for token in tokens[start : start + length]
            if 0 <= token < len(table)
        )
        for document in spans
    ]


def _spelled(
    tokens: list[int], spans: list[list[tuple[int, int]]], table: list[bytes]
) -> list[bytes]:
    flat = [span for document in spans for span in document]
    counts = [len(document) for document in spans]
    data, offsets = spell_spans(
        np.array(tokens, np.int32),
        np.array([start for start, _ in flat], np.int64),
        np.array([length for _, length in flat], np.int64),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.frombuffer(b"".join(table), np.uint8),
        np.concatenate([[0], np.cumsum([len(piece) for piece in table])]).astype(np.int64),
    )
    return [data[a:b].tobytes() for a, b in pairwise(offsets)]


@pytest.mark.parametrize("seed", range(8))
def test_documents_are_spelled_as_python_joins_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    table = [random.bytes(int(random.integers(0, 20))) for _ in range(50)]
    tokens = random.integers(-2, 53, 400).tolist()  # some ids are outside the table
    spans = [
        [
            (int(random.integers(0, 350)), int(random.integers(0, 40)))
            for _ in range(int(random.integers(0, 4)))
        ]
        for _ in range(20)
    ]
    assert _spelled(tokens, spans, table) == _reference(tokens, spans, table)


def test_no_documents_spell_nothing() -> None:
    assert _spelled([], [], [b"a"]) == []
