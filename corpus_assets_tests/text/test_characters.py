import hashlib
import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpus_assets.text.characters import (
    ALONE,
    CUT,
    IN_FORM,
    char_tables,
    in_nfkc,
    nfkc,
    replacements,
)
from corpus_assets.text.codepoints import each_of, text_buffers
from corpus_assets.text.nfkc_alone import assigned_codes
from corpus_assets.text.words import spell_words
from corpus_assets_tests.text.word_reference import NASTY
from textkernels.utf8 import decode


def as_texts(texts: list[str]) -> pa.Array:
    return pa.array(texts, pa.large_string())


def spelled(texts: pa.Array) -> list[str]:
    codes, starts, firsts = spell_words(*text_buffers(texts), char_tables())
    edges = starts[firsts]
    return [
        codes[a:b].astype("<u4").tobytes().decode("utf-32-le")
        for a, b in itertools.pairwise(edges.tolist())
    ]


def test_the_tables_change_only_together_with_the_versions_of_signatures_and_eval_index() -> None:
    tables = char_tables()
    digest = hashlib.sha256(tables.classes.tobytes() + tables.folded.astype("<u4").tobytes())
    assert digest.hexdigest() == "1ed7856b3137f73d5803b6b139739831a939c1d0abb20bfe5e1cb51903488491"


def test_code_points_that_tables_are_not_built_from_hold_nothing() -> None:
    is_built = np.zeros(0x110000, np.bool_)
    is_built[assigned_codes()] = is_built[0xD800:0xE000] = True
    chars = each_of(np.flatnonzero(~is_built).astype(np.uint32))
    assert len(chars) > 800_000
    for form in ("NFD", "NFKC"):
        assert pc.utf8_normalize(chars, form).equals(chars)
    assert pc.utf8_lower(pc.utf8_upper(chars)).equals(chars)
    assert not pc.any(pc.match_substring_regex(chars, r"[\p{L}\p{N}\p{M}\p{Cf}]")).as_py()


def test_folding_is_idempotent() -> None:
    folded = char_tables().folded
    assert np.array_equal(folded[folded], folded)


def test_converting_or_not_gives_the_same_words_on_random_unicode() -> None:
    random = np.random.default_rng(0)
    assigned = np.flatnonzero(char_tables().classes != 0)
    some = np.concatenate([assigned, random.integers(0, 0xD800, 20_000)])
    texts = ["".join(map(chr, random.choice(some, 12).tolist())) for _ in range(20_000)]
    texts += ["".join(map(chr, random.integers(0x20, 0x3200, 8).tolist())) for _ in range(20_000)]
    array = as_texts(texts)
    assert spelled(nfkc(array)) == spelled(pc.utf8_normalize(array, "NFKC"))


def test_conversion_is_spared_where_only_separators_would_change() -> None:
    texts = [
        "plain",
        "“quoted” – dash… nbsp\u00a0",
        "ＦＵＬＬ ²",
        "ﬁne",
        "हिन्दी",
        "a" + "\u0301" * 31,
    ]
    state = in_nfkc(*text_buffers(as_texts(texts)), char_tables(), replacements().numbers)
    assert state.tolist() == [IN_FORM, IN_FORM, IN_FORM, ALONE, IN_FORM, CUT]


def test_what_is_converted_is_in_form_nfkc_to_the_byte() -> None:
    random = np.random.default_rng(5)
    changing = np.flatnonzero(replacements().numbers >= 0)
    marks = np.flatnonzero((char_tables().order > 0) & (char_tables().order < 255))
    plain = np.array([ord(char) for char in "ab 1éßя漢한\u1112\u1161\u11ab"])
    kinds = [changing, plain, marks, np.arange(0xA0, 0x3100)]
    texts = [
        "".join(
            chr(random.choice(kinds[random.choice(4, p=[0.3, 0.55, 0.05, 0.1])]))
            for _ in range(random.integers(1, 9))
        )
        for _ in range(30_000)
    ]
    array = as_texts(texts)
    state = in_nfkc(*text_buffers(array), char_tables(), replacements().numbers)
    assert min(np.bincount(state, minlength=3)[:3]) > 2_000
    expected = pc.utf8_normalize(array, "NFKC").to_pylist()
    for found, whole, kind in zip(nfkc(array).to_pylist(), expected, state, strict=True):
        assert found == whole or kind == IN_FORM


@pytest.mark.timeout(60)
def test_a_hostile_run_of_combining_marks_takes_linear_time() -> None:
    text = "a" + "\u0301" * 500_000 + "\u0323" * 500_000
    (word,) = spelled(nfkc(as_texts([text])))
    assert len(word) <= 31


def test_null_is_empty_and_slices_keep_their_place() -> None:
    array = pa.array(["zero", None, "two", "ﬁve"], pa.string()).slice(1)
    assert spelled(nfkc(array)) == ["", "two", "five"]


def test_an_empty_array_has_no_texts() -> None:
    data, offsets = text_buffers(as_texts([]))
    assert data.size == 0
    assert offsets.tolist() == [0]


def test_code_points_decode_as_python_does() -> None:
    data = "".join(NASTY).encode()
    array, pos, found = np.frombuffer(data, np.uint8), 0, []
    while pos < array.size:
        code, width = decode(array, pos, array.size)
        found.append(chr(code))
        pos += width
    assert "".join(found) == "".join(NASTY)


def test_bytes_that_are_not_utf8_never_lead_beyond_the_end() -> None:
    random = np.random.default_rng(1)
    for _ in range(2000):
        array = random.integers(0x70, 0x100, 6).astype(np.uint8)
        pos = 0
        while pos < array.size:
            code, width = decode(array, pos, array.size)
            assert pos + width <= array.size
            assert 0 <= code <= 0x10FFFF
            pos += width
    cut = np.frombuffer("é漢😀".encode()[:-1], np.uint8)
    assert decode(cut, 5, cut.size) == (0xFFFD, 1)
