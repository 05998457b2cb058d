"""Digits of every script are read as ASCII digits, and findings stand where they were written."""

import random
import unicodedata

import numpy as np
import pytest

from corpus_assets.scrub.kernels.digits import fold_digits
from corpus_assets_tests.scrub.ascii_digits import with_ascii_digits
from corpus_assets_tests.scrub.test_find import batch_of

PIECES = [
    *"aé漢ก 09٠٩۵߅५๕５１𝟘𝟿（）＋－．／＝，\ud800\U0001f600 \u0600\uffff",
    "x" * 40,
    "(١",
    "２－",
]


def random_texts(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(PIECES, k=draw.randrange(30))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_is_folded_as_its_characters_are_one_by_one(seed: int) -> None:
    data, offsets, docs = batch_of(random_texts(seed, 60))
    folded = fold_digits(data, offsets)
    assert folded is not None
    for row, doc in enumerate(docs):
        expected, written = with_ascii_digits(doc)
        low, high = folded.offsets[row : row + 2].tolist()
        assert folded.data[low:high].tobytes() == expected
        assert [folded.unfold(at) - offsets[row] for at in range(low, high + 1)] == written


def test_every_decimal_digit_of_unicode_14_is_folded() -> None:
    digits = [chr(c) for c in range(0x80, 0x20000) if unicodedata.decimal(chr(c), None) is not None]
    folded = fold_digits(*batch_of(["".join(digits)])[:2])
    assert folded is not None
    ours = folded.data.tobytes().decode()
    changed = [(old, new) for old, new in zip(digits, ours, strict=True) if old != new]
    assert len(changed) >= 650
    assert all(new == str(unicodedata.decimal(old)) for old, new in changed)


def test_a_text_of_many_blocks_is_folded_to_its_last_digit() -> None:
    text = "a" * 5000 + "٣" + "漢" * 3000 + "b" * 9000 + "５"
    data, offsets, (doc,) = batch_of([text])
    folded = fold_digits(data, offsets)
    assert folded is not None
    assert folded.data.tobytes() == with_ascii_digits(doc)[0]
    assert folded.unfold(len(folded.data)) == len(doc)


@pytest.mark.parametrize(
    "text", ["", "1234 abc", "漢字 no digits 12", "（漢）－＋", "é１"[:1], "\U0001f600 12"]
)
def test_a_batch_without_other_digits_stays_as_it_is(text: str) -> None:
    data, offsets, _ = batch_of([text, text])
    folded = fold_digits(data, offsets)
    assert folded is None or folded.data.tobytes() == data.tobytes()


def test_what_is_not_utf_8_stays() -> None:
    written = b"\xd9 \xe0\xa5\xff 1 \xf0\x9d\x9f \xd9\xa1\xef\xbc"
    data = np.frombuffer(written, dtype=np.uint8)
    folded = fold_digits(data, np.array([0, len(data)], dtype=np.int64))
    assert folded is not None
    assert folded.data.tobytes() == written.replace(b"\xd9\xa1", b"1")


def test_a_batch_that_begins_further_on_keeps_its_positions() -> None:
    data, offsets, _ = batch_of(["skipped ٣", "call ٣٤", "٥"])
    part = offsets[1:]
    folded = fold_digits(data, part)
    assert folded is not None
    low, high = folded.offsets[0:2].tolist()
    assert folded.data[low:high].tobytes() == b"call 34"
    assert (folded.unfold(low), folded.unfold(high)) == (offsets[1], offsets[2])
