"""Repeated n-grams over word hashes equal the plain reference, whatever the words are."""

import random
from collections import Counter

import numpy as np

from corpus_assets.text import repetition as kernel
from corpus_assets_tests.signals.support import reference


def run(documents: list[list[str]], max_n: int) -> np.ndarray:
    known = {word: k for k, word in enumerate(sorted({w for d in documents for w in d}))}
    words = [word for document in documents for word in document]
    # High bits only: every key falls into the same slot before it is mixed.
    hashes = np.array([known[word] << 40 for word in words], dtype=np.uint64)
    spans = np.zeros((len(words), 3), dtype=np.int64)
    spans[:, 2] = [len(word) for word in words]
    rows = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    return kernel.repeated_ngram_chars(hashes, spans, rows, max_n)


def test_random_documents_equal_the_reference_at_every_size() -> None:
    draw = random.Random(8)
    documents = [
        draw.choices(["a", "bb", "ccc", "dddd"][: draw.randrange(1, 5)], k=draw.randrange(50))
        for _ in range(400)
    ]
    found = run(documents, 10)
    for d, words in enumerate(documents):
        for n in range(1, 11):
            grams = Counter(reference.ngrams(words, n))
            most = max(grams.values(), default=0)
            chars = {gram: sum(map(len, gram)) for gram in grams}
            tops = [chars[gram] for gram in grams if grams[gram] == most > 1]
            assert found[d, n].tolist() == [
                reference.top_ngram_chars(words, n),
                reference.dup_ngram_chars(words, n),
                reference.later_ngram_chars(words, n),
                most * tops[0] if tops else 0,
                most if tops else 0,
                most * max(tops, default=0),
                sum(count * chars[gram] for gram, count in grams.items() if count > 1),
            ], (words, n)


def test_characters_of_all_windows_are_counted() -> None:
    documents = [["a", "bb", "ccc", "a"], ["a"], [], ["bb", "bb"]]
    spans = np.zeros((7, 3), dtype=np.int64)
    spans[:, 2] = [len(word) for document in documents for word in document]
    rows = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    total, first = kernel.window_chars(spans, rows, np.array([1, 2, 3]))
    assert total.tolist() == [[7, 12, 12], [1, 0, 0], [0, 0, 0], [4, 4, 0]]
    assert first.tolist() == [[1, 3, 6], [1, 0, 0], [0, 0, 0], [2, 4, 0]]


def test_a_million_repeats_take_linear_time() -> None:
    found = run([["ab"] * 1_000_000], 10)
    assert found[0, 10, :3].tolist() == [2_000_000, 2_000_000, 1_999_980]


def test_documents_shorter_than_the_ngram_repeat_nothing() -> None:
    assert run([[], ["a"], ["a", "a"]], 3)[:, 3].tolist() == [[0] * 7] * 3


def test_no_documents_and_no_sizes_give_empty_results() -> None:
    assert run([], 4).shape == (0, 5, 7)
    assert run([["a", "a"]], 0).shape == (1, 1, 7)
