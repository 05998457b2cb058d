"""Text kernels on bytes: decoding, hashing, repeats, malformed input."""

import random
import unicodedata

import numpy as np
import pytest

from corpus_assets.text import split as kernel
from corpus_assets.text.unicode import letter_table, sentence_terminals
from textkernels.utf8 import decode, last_code_point


def as_batch(documents: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(documents), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    offsets.flags.writeable = False
    return data, offsets


def test_every_code_point_decodes_to_itself() -> None:
    points = [c for c in range(0, 0x110000, 7) if not 0xD800 <= c <= 0xDFFF]
    points += [0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF]
    for point in points:
        encoded = chr(point).encode()
        data = np.frombuffer(encoded, dtype=np.uint8)
        assert decode(data, 0, len(data)) == (point, len(encoded))
        assert last_code_point(data, 0, len(data)) == point


@pytest.mark.parametrize(
    "malformed",
    [b"\x80", b"\xff", b"\xc3", b"\xe2\x80", b"\xf0\x9f\x98", b"\xc3(", b"\xf8\x88\x80\x80\x80"],
)
def test_malformed_bytes_stay_inside_their_document(malformed: bytes) -> None:
    # What follows would complete the character, and belongs to the next document.
    data, offsets = as_batch([malformed, b"\xa6\x80 next"])
    rows, chars, _ = kernel.count_spans(data, offsets)
    words, _, _ = kernel.fill_spans(data, offsets, rows)
    assert words[rows[0, 0] : rows[0, 1], :2].tolist() == [[0, len(malformed)]]
    assert 1 <= chars[0] <= len(malformed)
    last = last_code_point(data, 0, len(malformed))
    assert last in (0xFFFD, ord("("))


def test_random_bytes_are_split_without_losing_any_that_are_not_space() -> None:
    draw = random.Random(5)
    documents = [draw.randbytes(draw.randrange(200)) for _ in range(500)]
    data, offsets = as_batch(documents)
    rows, chars, newlines = kernel.count_spans(data, offsets)
    words, lines, paragraphs = kernel.fill_spans(data, offsets, rows)
    for d, document in enumerate(documents):
        assert newlines[d] == document.count(b"\n")
        assert chars[d] <= len(document)
        for k, spans in enumerate((words, lines, paragraphs)):
            mine = spans[rows[k, d] : rows[k, d + 1]]
            assert (mine[:, 0] < mine[:, 1]).all()
            assert (mine[:, 0] >= offsets[d]).all()
            assert (mine[:, 1] <= offsets[d + 1]).all()
            assert (mine[1:, 0] >= mine[:-1, 1]).all()


def plain_hash(content: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ value >> shift) * factor % 2**64
    return value ^ value >> 31


def test_span_hashes_equal_the_plain_formula() -> None:
    draw = random.Random(6)
    words = [draw.randbytes(draw.randrange(40)) for _ in range(300)] + [b"", b"\0", b"\xff" * 99]
    data, offsets = as_batch(words)
    spans = np.stack([offsets[:-1], offsets[1:], np.diff(offsets)], axis=1)
    assert kernel.hash_spans(data, spans).tolist() == [plain_hash(word) for word in words]


def test_repeats_are_marked_within_a_document_only() -> None:
    draw = random.Random(7)
    groups = [[draw.randrange(9) << 60 for _ in range(draw.randrange(30))] for _ in range(200)]
    expected = [int(h in group[:k]) for group in groups for k, h in enumerate(group)]
    hashes = np.array([h for group in groups for h in group], dtype=np.uint64)
    rows = np.cumsum([0, *map(len, groups)], dtype=np.int64)
    assert kernel.mark_repeats(hashes, rows).tolist() == expected


def test_letters_are_those_of_unicode_14() -> None:
    table = letter_table()
    ours = {c for c in range(0x110000) if table[c]}
    pythons = {c for c in range(0x110000) if chr(c).isalpha()}
    assert ours <= pythons
    if unicodedata.unidata_version == "14.0.0":
        assert ours == pythons


def test_sentence_terminals_are_sorted_punctuation_of_many_scripts() -> None:
    points = sentence_terminals().tolist()
    assert points == sorted(set(points))
    assert {ord(mark) for mark in ".!?。！？؟।።"} <= set(points)
    assert {unicodedata.category(chr(point)) for point in points} == {"Po"}
