import gzip
import itertools
import json

import numpy as np
import pyarrow as pa

from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.words import (
    next_word,
    ngram_hash,
    power,
    roll,
    scan_words,
    spell_words,
    word_room,
)
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.text.word_reference import NASTY, gram_hash, word_hash, words_of


def kernel_words(texts: list[str]) -> list[list[str]]:
    codes, starts, firsts = spell_words(
        *text_buffers(nfkc(pa.array(texts, pa.large_string()))), char_tables()
    )
    edges = starts[firsts]
    spelled = [
        codes[a:b].astype("<u4").tobytes().decode("utf-32-le")
        for a, b in itertools.pairwise(edges.tolist())
    ]
    words = [text.split(" ") if text else [] for text in spelled]
    assert [len(found) for found in words] == np.diff(firsts).tolist()
    return words


def kernel_hashes(texts: list[str]) -> list[list[int]]:
    data, offsets = text_buffers(nfkc(pa.array(texts, pa.large_string())))
    hashes, starts = word_room(offsets)
    found = []
    for i in range(len(texts)):
        count = scan_words(data, offsets[i], offsets[i + 1], char_tables(), hashes, starts)
        for start in starts[:count]:
            assert next_word(data, start, offsets[i + 1], char_tables())[0] >= start
        found.append(hashes[:count].tolist())
    return found


def test_nasty_texts_have_the_words_of_the_reference() -> None:
    assert kernel_words(NASTY) == [words_of(text) for text in NASTY]


def test_scanning_and_spelling_find_the_same_words() -> None:
    assert kernel_hashes(NASTY) == [[word_hash(w) for w in words_of(text)] for text in NASTY]


def test_random_mixtures_have_the_words_of_the_reference() -> None:
    random = np.random.default_rng(2)
    alphabet = sorted(set("".join(NASTY)) - {"\u0130"})
    texts = ["".join(random.choice(alphabet, random.integers(0, 30))) for _ in range(5000)]
    expected = [words_of(text) for text in texts]
    assert kernel_words(texts) == expected
    assert kernel_hashes(texts) == [[word_hash(w) for w in words] for words in expected]


def test_long_texts_of_any_ascii_have_the_words_of_the_reference() -> None:
    random = np.random.default_rng(3)
    some = [chr(code) for code in range(1, 128)]
    for alphabet in (some, [*some, "é", "漢"], list("aZ09@[`{/: ")):
        texts = ["".join(random.choice(alphabet, random.integers(50, 400))) for _ in range(300)]
        expected = [words_of(text) for text in texts]
        assert kernel_words(texts) == expected
        assert kernel_hashes(texts) == [[word_hash(w) for w in words] for words in expected]


def test_real_texts_in_many_languages_have_the_words_of_the_reference() -> None:
    with gzip.open(shared_data("text/multilingual.jsonl.gz")) as lines:
        texts = [json.loads(line)["text"][:2000] for line in lines][::4]
    assert kernel_words(texts) == [words_of(text) for text in texts]


def test_case_punctuation_and_line_breaks_change_no_word() -> None:
    left, right = kernel_words(["The quick—brown fox;\njumps!", "the QUICK brown   'fox' jumps"])
    assert left == right == ["the", "quick", "brown", "fox", "jumps"]


def test_word_room_holds_the_densest_texts() -> None:
    for text in ("a", "a b c d e", "a b c d e ", "漢" * 50, "é漢a漢b", "漢a" * 9, " ", ""):
        assert kernel_hashes([text]) == [[word_hash(w) for w in words_of(text)]]


def test_a_rolling_window_equals_hashing_the_ngram_alone_modulo_2_to_the_64() -> None:
    words = [str(i * i) for i in range(40)]
    for length in (1, 2, 5, 13):
        weight, window = np.uint64(power(length)), np.uint64(0)
        for i, word in enumerate(words):
            leaving = np.uint64(word_hash(words[i - length]) if i >= length else 0)
            window = np.uint64(roll(window, np.uint64(word_hash(word)), leaving, weight))
            if i + 1 >= length:
                expected = gram_hash(words[i + 1 - length : i + 1])
                assert int(ngram_hash(window, length)) == expected


def test_no_two_of_many_short_words_share_a_hash() -> None:
    words = [f"{a}{b}" for a in "abcdefghij" for b in range(20_000)]
    assert len(set(kernel_hashes([" ".join(words)])[0])) == len(words)
