"""Scripts that a sample is written in, and what of its texts is left without the others."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.text.unicode import SCRIPTS
from corpus_assets.tokenizer.scripts import (
    character_scripts,
    names_of,
    own_scripts,
    pieces_in,
    scripts_of,
)

ENGLISH = "The harbour master kept a careful list of every fishing boat in the old town. " * 5
RUSSIAN = "Смотритель маяка каждый вечер записывал имена кораблей в толстую книгу. " * 5
JAPANESE = "灯台守は毎晩、カメラとノートを持って船の名前を記録していました。" * 5
GREEK = "αβγδ"


def scripts(text: str) -> list[str]:
    return names_of(scripts_of(text).tolist())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain ASCII, 123 and — dashes… 🙂", ["latin"]),
        ("नि", ["devanagari"]),  # a letter and a mark
        ("ि", ["devanagari"]),  # a mark alone
        ("ー", ["katakana"]),  # by Unicode common to kana
        ("、。「」", ["han"]),
        ("١٢٣", ["arabic"]),
        ("ไ่", ["thai"]),
        ("é e\u0301 €", ["latin"]),
        ("꧋ꦗꦮ", ["other"]),  # Javanese
        ("", []),
    ],
)
def test_marks_digits_and_punctuation_go_with_their_script(text: str, found: list[str]) -> None:
    assert scripts(text) == found


def test_characters_named_for_a_script_are_of_it() -> None:
    table = character_scripts()
    for name in ("greek", "cyrillic", "arabic", "devanagari", "thai", "hiragana", "khmer"):
        points = [
            c for c in range(0x10000) if unicodedata.name(chr(c), "").startswith(name.upper() + " ")
        ]
        own = table[points] == 1 + SCRIPTS.index(name)
        assert own.mean() > 0.97, [hex(points[i]) for i in np.flatnonzero(~own)[:5]]


def rows(texts: list[str], domain: str = "web", language: str = "en") -> list[tuple[str, str, str]]:
    return [(f"{text}{number}", domain, language) for number, text in enumerate(texts)]


def test_what_some_pages_quote_is_no_script_of_theirs_however_much_it_is() -> None:
    texts = [ENGLISH] * 20 + [ENGLISH + RUSSIAN[:200]] * 8 + [ENGLISH + JAPANESE[:100]] * 8
    assert own_scripts(rows(texts), 0.01, 5) == ("latin",)


def test_a_language_has_the_scripts_that_most_of_its_texts_use() -> None:
    texts = rows([JAPANESE] * 6, language="ja") + rows([ENGLISH] * 600)
    assert own_scripts(texts, 0.01, 5) == ("latin", "hiragana", "katakana", "han")


def test_a_language_written_in_two_scripts_has_both() -> None:
    assert own_scripts(rows([ENGLISH] * 30 + [RUSSIAN] * 6), 0.01, 5) == ("latin", "cyrillic")
    assert own_scripts(rows([ENGLISH] * 30 + [RUSSIAN] * 4), 0.01, 5) == ("latin",)


def test_a_domain_may_have_a_script_that_others_lack() -> None:
    formulas = rows([ENGLISH[:150] + GREEK] * 6, domain="math")
    assert own_scripts(formulas + rows([ENGLISH] * 600), 0.01, 5) == ("latin", "greek")
    assert own_scripts(formulas + rows([ENGLISH] * 600), 0.1, 5) == ("latin",)


def test_groups_of_few_texts_count_only_together() -> None:
    few = [
        (f"{ENGLISH}{number}", domain, "en") for domain in ("a", "b", "c") for number in range(3)
    ]
    assert own_scripts(few, 0.01, 5) == ("latin",)
    assert own_scripts(few[:4], 0.01, 5) == ()


def test_a_share_of_0_takes_every_script() -> None:
    assert own_scripts(rows([ENGLISH] * 5), 0, 5) == SCRIPTS


@given(st.text(st.sampled_from("aé1 中文ひカд\u0301—🙂")), st.sets(st.sampled_from(SCRIPTS)))
def test_pieces_hold_exactly_what_is_of_the_scripts_or_of_none(text: str, named: set[str]) -> None:
    left = "".join(pieces_in(text, named))
    assert left == "".join(c for c in text if set(scripts(c)) <= named)
