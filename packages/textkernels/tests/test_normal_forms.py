import random
import unicodedata
from itertools import groupby

import pytest

from textkernels.normal_forms import LONG_RUN, Apart, nfc, nfd, nfkc

# Marks of several classes; characters that are none and yet begin with one when taken apart.
MARKS = "\u0300\u0315\u0334\u0323\u0344\u0340\u05b0\u0e38\u3099\u0f73\u0f81\uff9e\U0001e94a"
LETTERS = "ae\u00e9\u01d5\u1e69\u0f40\u30ab\ufb1f\u0929\uac00\u1100\ufdfa\ufb03 \n"


@pytest.mark.parametrize("seed", range(20))
def test_the_forms_are_the_library_s(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(30):
        text = "".join(
            draw.choice(LETTERS) + "".join(draw.choices(MARKS, k=draw.choice((0, 1, 3, 70, 200))))
            for _ in range(draw.randrange(8))
        )
        assert nfc(text) == unicodedata.normalize("NFC", text), ascii(text)
        assert nfd(text) == unicodedata.normalize("NFD", text), ascii(text)
        assert nfkc(text) == unicodedata.normalize("NFKC", text), ascii(text)


@pytest.mark.parametrize("length", [LONG_RUN - 1, LONG_RUN, LONG_RUN + 1])
def test_runs_around_the_length_that_counts_as_long(length: int) -> None:
    text = "e" + "\u0315" * (length - 1) + "\u0301"
    assert nfc(text) == unicodedata.normalize("NFC", text) == "\u00e9" + "\u0315" * (length - 1)


def in_order(text: str, apart: Apart) -> str:
    """Taken apart, each run of marks sorted by class: the form, where nothing joins again."""
    chars = [char for each in text for char in unicodedata.normalize(apart, each)]
    runs = groupby(chars, lambda char: unicodedata.combining(char) == 0)
    return "".join("".join(sorted(run, key=unicodedata.combining)) for _, run in runs)


@pytest.mark.parametrize("bait", ["\u0315\u0300", "\u0f73", "\uff9e\u0334", "\u0344\u0323"])
def test_very_many_marks_are_put_in_order(bait: str) -> None:
    """The library alone takes a time that grows with the square: minutes for ten times as many."""
    half = 50_000
    for text in ("q" + bait * half, "q" + bait[0] * half + bait[-1] * half):
        assert nfc(text) == in_order(text, "NFD")
        assert nfkc(text) == in_order(text, "NFKD")


def test_lone_surrogates_pass() -> None:
    assert nfc("e\u0301\ud800") == "\u00e9\ud800"
