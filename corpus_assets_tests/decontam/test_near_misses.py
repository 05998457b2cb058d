"""Alignment and search for edited copies, against a plain edit distance."""

import random

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.decontam.kernels.near_misses import (
    MAX_POSTINGS,
    align,
    build_seeds,
    find_near_misses,
    word_hashes,
)
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers


def distance(known: list[int], words: list[int]) -> int:
    """Words to put in, leave out or replace until `known` stands somewhere in `words`."""
    row = [0] * (len(words) + 1)
    for j, word in enumerate(known):
        before, row[0] = row[0], j + 1
        for i, other in enumerate(words):
            before, row[i + 1] = (
                row[i + 1],
                min(before + (word != other), row[i + 1] + 1, row[i] + 1),
            )
    return min(row)


def buffers(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    return text_buffers(nfkc(pa.array(texts, pa.large_string())))


def search(items: list[str], texts: list[str], least: float = 0.7) -> list[tuple[int, int, float]]:
    words, firsts = word_hashes(*buffers(items), char_tables())
    seeds = build_seeds(words, firsts, 5, 13, np.ones(firsts.size - 1, np.bool_))
    found = find_near_misses(*buffers(texts), char_tables(), seeds, 5, least)
    return list(zip(*(part.tolist() for part in found[:3]), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_the_reference_near_the_diagonal(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        known = [rng.randrange(30) for _ in range(rng.randrange(1, 40))]
        copy = list(known)
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(copy) + 1)
            copy[at : at + rng.randrange(2)] = [rng.randrange(30)] * rng.randrange(2)
        lead = [rng.randrange(30) for _ in range(rng.randrange(12))]
        tail = [rng.randrange(30) for _ in range(rng.randrange(12))]
        words = [*lead, *copy, *tail]
        found, start, stop = align(
            np.array(known, np.uint64), np.array([*words, 99], np.uint64), len(words), len(lead)
        )
        assert found == distance(known, words)
        assert 0 <= start <= stop <= len(words)
        assert abs(len(known) - (stop - start)) <= found


def numbered(count: int, stem: str) -> list[str]:
    return [f"{stem}{i}" for i in range(count)]


def test_edited_copies_are_found_with_their_place() -> None:
    item = numbered(40, "word")
    edited = [*item[:9], "other", *item[10:20], *item[21:30], "more", *item[30:]]
    text = f"a lead of some words {' '.join(edited)} and a tail"
    words, firsts = word_hashes(*buffers([" ".join(item)]), char_tables())
    seeds = build_seeds(words, firsts, 5, 13, np.ones(firsts.size - 1, np.bool_))
    found = find_near_misses(*buffers(["", text]), char_tables(), seeds, 5, 0.7)
    assert [part.tolist() for part in found[:3]] == [[1], [0], [1 - 3 / 40]]
    assert text.encode()[found[3][0] : found[4][0]].decode() == " ".join(edited)


def test_similarity_is_measured_against_the_whole_item() -> None:
    item = numbered(40, "word")
    half = " ".join(item[:20])
    assert search([" ".join(item)], [half]) == []
    assert search([" ".join(item)], [half], 0.45) == [(0, 0, 0.5)]
    assert search([" ".join(item[:12])], [" ".join(item[:12])]) == []  # too short to be edited


def test_shuffled_words_are_no_copy() -> None:
    item = numbered(60, "word")
    pieces = [item[i : i + 6] for i in range(0, 60, 6)]
    random.Random(1).shuffle(pieces)
    assert search([" ".join(item)], [" ".join(word for piece in pieces for word in piece)]) == []


def test_seeds_of_very_many_items_make_no_candidates() -> None:
    phrase = " ".join(numbered(14, "common"))
    few, many = ([phrase] * n for n in (MAX_POSTINGS, MAX_POSTINGS + 1))
    assert len(search(few, [phrase])) == MAX_POSTINGS
    assert search(many, [phrase]) == []


def test_every_text_gets_its_own_hits() -> None:
    items = [" ".join(numbered(20, stem)) for stem in "abc"]
    texts = ["x", items[2], f"{items[0]} and {items[1]}", "", items[2]]
    assert search(items, texts) == [(1, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0), (4, 2, 1.0)]


def test_hostile_texts_are_searched_in_bounded_time() -> None:
    item = " ".join(numbered(20, "w"))
    long = " ".join(f"z{i % 5000}" for i in range(20_000))
    texts = [(item + " ") * 20_000, "w0 w1 w2 w3 w4 " * 50_000, "...!?" * 50_000, long, "漢字" * 9]
    found = search([item, long], texts)
    assert (0, 0, 1.0) in found
    assert (3, 1, 1.0) in found
