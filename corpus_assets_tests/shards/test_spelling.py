"""Documents spelled from tokens, against joining bytes in Python."""

from itertools import pairwise

import numpy as np
import pytest

from corpus_assets.shards.kernels.spelling import spell_spans


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
