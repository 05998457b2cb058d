import numpy as np
import pyarrow as pa

from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.ngrams import (
    Grams,
    build_lookup,
    find_items,
    first_gram,
    is_in_bitmap,
    ngram_hashes,
)
from corpus_assets_tests.text.word_reference import NASTY, gram_hash, ngrams_of, words_of

Items = list[list[str]]


def make_grams(
    items: Items, length: int, hashes: dict[tuple[str, ...], int] | None = None
) -> Grams:
    """Index `items` (lists of words); `hashes` may force the hash of an n-gram."""
    holders: dict[tuple[str, ...], list[int]] = {}
    for ordinal, words in enumerate(items):
        for gram in dict.fromkeys(ngrams_of(words, min(length, len(words)))):
            holders.setdefault(gram, []).append(ordinal)
    forced = hashes or {}
    order = sorted(holders, key=lambda gram: (forced.get(gram, gram_hash(list(gram))), gram))
    spellings = [" ".join(gram) for gram in order]
    stops = np.cumsum([len(text) for text in spellings])
    totals = [sum(i in held for held in holders.values()) for i in range(len(items))]
    return Grams(
        hashes=np.array([forced.get(gram, gram_hash(list(gram))) for gram in order], np.uint64),
        lengths=np.array([len(gram) for gram in order], np.int64),
        hashed=np.array([len(gram) for gram in order], np.int64),
        starts=np.array([stop - len(t) for stop, t in zip(stops, spellings, strict=True)]),
        stops=stops.astype(np.int64),
        codes=np.array([ord(char) for text in spellings for char in text], np.uint32),
        posting_offsets=np.cumsum([0, *(len(holders[gram]) for gram in order)]),
        posting_items=np.array([i for gram in order for i in holders[gram]], np.int64),
        item_totals=np.array(totals, np.int64),
    )


def naive(texts: list[str], items: Items, length: int, share: float) -> set[tuple[int, int, int]]:
    found = set()
    for t, text in enumerate(texts):
        for i, words in enumerate(items):
            own = set(ngrams_of(words, min(length, len(words))))
            matched = len(own & set(ngrams_of(words_of(text), min(length, len(words)))))
            if matched and matched / len(own) >= share:
                found.add((t, i, matched))
    return found


def search(texts: list[str], grams: Grams, share: float) -> set[tuple[int, int, int]]:
    data, offsets = text_buffers(nfkc(pa.array(texts, pa.large_string())))
    found = find_items(data, offsets, char_tables(), grams, build_lookup(grams), share)
    return set(zip(*(column.tolist() for column in found), strict=True))


def random_case(seed: int) -> tuple[list[str], Items]:
    random = np.random.default_rng(seed)
    letters = [*"abcd", "漢", "é"]
    items = [words_of(" ".join(random.choice(letters, random.integers(2, 9)))) for _ in range(12)]
    texts = [" ".join(random.choice(letters, random.integers(0, 60))) for _ in range(40)]
    return [*texts, *NASTY], items


def test_search_finds_what_the_naive_search_finds() -> None:
    for seed in range(15):
        texts, items = random_case(seed)
        for share in (0.01, 0.5, 1.0):
            assert search(texts, make_grams(items, 4), share) == naive(texts, items, 4, share)


def test_colliding_hashes_change_nothing_that_is_found() -> None:
    for seed in range(5):
        texts, items = random_case(seed)
        every = {gram for words in items for gram in ngrams_of(words, min(4, len(words)))}
        target = max(every)
        forced = dict.fromkeys(every, gram_hash(list(target)))
        honest = naive(texts, items, 4, 0.01)
        for t, i, matched in search(texts, make_grams(items, 4, forced), 0.01):
            own = set(ngrams_of(items[i], min(4, len(items[i]))))
            assert target in own
            assert matched == 1
            assert (t, i) in {(a, b) for a, b, _ in honest}


def test_an_ngram_with_the_hash_of_another_never_counts() -> None:
    held, absent = ("one", "two", "three"), ("four", "five", "six")
    grams = make_grams([list(absent)], 3, {absent: gram_hash(list(held))})
    assert search(["zero one two three four"], grams, 0.01) == set()
    both = make_grams([list(absent), list(held)], 3, {absent: gram_hash(list(held))})
    assert search(["zero one two three four"], both, 0.01) == {(0, 1, 1)}


def test_hashes_of_ngrams_equal_the_reference() -> None:
    for length in (1, 3, 13):
        data, offsets = text_buffers(nfkc(pa.array(NASTY, pa.large_string())))
        hashes, firsts = ngram_hashes(data, offsets, char_tables(), length)
        for i, text in enumerate(NASTY):
            expected = [gram_hash(list(gram)) for gram in ngrams_of(words_of(text), length)]
            assert hashes[firsts[i] : firsts[i + 1]].tolist() == expected


def test_lookup_finds_every_gram_and_nothing_else() -> None:
    items = [[f"a{i}", f"b{i}", f"c{i}"] for i in range(3000)]
    grams = make_grams(items, 3)
    lookup = build_lookup(grams)
    for number, key in enumerate(grams.hashes):
        assert is_in_bitmap(key, lookup.bitmap)
        assert first_gram(key, grams.hashes, lookup.slots) == number
    assert first_gram(np.uint64(12345), grams.hashes, lookup.slots) == -1


def test_an_index_without_grams_finds_nothing() -> None:
    empty = Grams(
        hashes=np.empty(0, np.uint64),
        lengths=np.empty(0, np.int64),
        hashed=np.empty(0, np.int64),
        starts=np.empty(0, np.int64),
        stops=np.empty(0, np.int64),
        codes=np.empty(0, np.uint32),
        posting_offsets=np.zeros(1, np.int64),
        posting_items=np.empty(0, np.int64),
        item_totals=np.zeros(3, np.int64),
    )
    assert search(["some text", ""], empty, 0.1) == set()
