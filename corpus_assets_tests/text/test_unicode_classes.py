"""The pinned tables equal Unicode 14, and newer interpreters where they only added characters."""

import unicodedata

import numpy as np
import pytest

from corpus_assets.text import unicode as classes
from corpus_assets.text.unicode import SCRIPTS, code_points, letter_table, script_table

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="this interpreter has another Unicode"
)
def test_every_class_is_what_python_says() -> None:
    table = classes.class_table()
    for bit, says in (
        (classes.LETTER, str.isalpha),
        (classes.DIGIT, str.isdecimal),
        (classes.NUMERIC, str.isnumeric),
        (classes.UPPER, str.isupper),
        (classes.ALPHANUMERIC, str.isalnum),
        (classes.PUNCTUATION, lambda c: unicodedata.category(c)[0] == "P"),
        (classes.MATHEMATICS, lambda c: unicodedata.category(c) == "Sm"),
        (
            classes.SYMBOL,
            lambda c: unicodedata.category(c)[0] == "S" and unicodedata.category(c) != "Sm",
        ),
    ):
        wrong = [c for c in POINTS if bool(table[c] & bit) != says(chr(c))]
        assert wrong == [], (bit, list(map(hex, wrong[:5])))


def test_classes_of_ascii_hold_on_every_interpreter() -> None:
    table = classes.class_table()
    for c in range(128):
        assert bool(table[c] & classes.ALPHANUMERIC) == chr(c).isalnum()
        assert bool(table[c] & classes.UPPER) == chr(c).isupper()
        assert bool(table[c] & classes.LOWER) == chr(c).islower()


def test_every_letter_has_a_script_and_nothing_else_has() -> None:
    table = script_table()
    assert ((table > 0) == (letter_table() > 0)).all()
    assert int(table.max()) == len(SCRIPTS)


def test_letters_of_named_scripts_say_so_in_their_names() -> None:
    names = {"latin": "LATIN", "cyrillic": "CYRILLIC", "han": "CJK", "hangul": "HANGUL"}
    names |= {"greek": "GREEK", "thai": "THAI", "hiragana": "GANA", "katakana": "KATAKANA"}
    for script, word in names.items():
        points = np.flatnonzero(script_table() == 1 + SCRIPTS.index(script))
        named = sum(word in unicodedata.name(chr(c), "") for c in points)
        assert named / len(points) > 0.8


def test_ranges_may_take_every_second_code_point() -> None:
    assert code_points("41 61-63 100-104/2").tolist() == [65, 97, 98, 99, 256, 258, 260]
