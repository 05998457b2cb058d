"""Paragraphs mostly seen before, against a set of n-grams that documents pass in their order."""

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.clean.repeated_paragraphs import (
    PARAGRAPH_GRAMS,
    count_paragraph_grams,
    find_going_paragraphs,
    keep_grams,
)
from corpus_assets.clean.repeated_spans import count_prints, merge_prints, repeated_grams
from corpus_assets.clean.settings import RepeatedSpanSettings
from corpus_assets.core.schemas import DOC_ID

SETTINGS = RepeatedSpanSettings(min_words=8, paragraph_share=0.8)
NO_MEMBERS = pa.table({"doc_id": pa.array([], DOC_ID), "kept": pa.array([], pa.bool_()),
                       "kept_doc_id": pa.array([], DOC_ID)})  # fmt: skip

Corpus = dict[int, tuple[str, str]]
"""When each document was fetched, and its text, by number."""


def table(corpus: Corpus) -> pa.Table:
    ids = pa.array([number.to_bytes(16, "big") for number in corpus], DOC_ID)
    times, texts = zip(*corpus.values(), strict=True)
    return pa.table(
        {
            "doc_id": ids,
            "fetched_at": pa.array(times, pa.string()),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def pinned(corpus: Corpus, parts: int = 1, members: pa.Table = NO_MEMBERS) -> pa.Table:
    whole = table(corpus)
    size = -(-whole.num_rows // parts)
    tables = [whole.slice(k * size, size) for k in range(parts)]
    prints = merge_prints([count_prints(t["text"], SETTINGS) for t in tables])
    grams = [count_paragraph_grams(t, prints, SETTINGS) for t in tables]
    return keep_grams(repeated_grams(grams, PARAGRAPH_GRAMS), [members], SETTINGS)


def left_of(corpus: Corpus, kept: pa.Table) -> dict[int, str]:
    left = {}
    cuts = find_going_paragraphs(table(corpus), kept, SETTINGS)
    for (number, (_, text)), own in zip(corpus.items(), cuts, strict=True):
        place, out = 0, []
        for start, end in own:
            out.append(text[place:start])
            place = end
        left[number] = "".join([*out, text[place:]])
    return left


def plainly_left(corpus: Corpus) -> dict[int, str]:
    """The reference: one document after another, with a set of what is kept so far."""
    kept: set[tuple[str, ...]] = set()
    left = {}
    for number, (_, text) in sorted(corpus.items(), key=lambda item: (item[1][0] or "~", item[0])):
        lines = text.splitlines(keepends=True)
        grams = []
        for line in lines:
            words = line.split()
            grams.append([tuple(words[i : i + 8]) for i in range(len(words) - 7)])
        every = [gram for own in grams for gram in own]
        if sum(gram in kept for gram in every) > 0.8 * len(every):
            left[number] = ""
            continue
        stays = []
        for line, own in zip(lines, grams, strict=True):
            if sum(gram in kept for gram in own) > 0.8 * len(own):
                continue
            kept.update(own)
            stays.append(line)
        left[number] = "".join(stays)
    return left


def salad(random: np.random.Generator, n: int) -> str:
    return " ".join(f"w{k}" for k in random.integers(0, 5000, n))


def random_corpus(seed: int) -> Corpus:
    random = np.random.default_rng(seed)
    pool = [salad(random, int(n)) for n in random.integers(5, 60, 7)]
    corpus: Corpus = {}
    for number in random.permutation(14):
        lines = []
        for _ in range(random.integers(0, 5)):
            words = pool[random.integers(len(pool))].split()
            for _ in range(random.integers(0, 3) if len(words) > 9 else 0):
                words[random.integers(len(words))] = "other"
            lines.append(" ".join(words + salad(random, int(random.integers(0, 4))).split()))
        time = ["2024-01-01", "2024-02-01", ""][random.integers(3)]
        corpus[int(number)] = (time, "\n".join(lines))
    return corpus


@pytest.mark.parametrize("seed", range(20))
def test_documents_are_decided_as_if_they_came_one_after_another(seed: int) -> None:
    corpus = random_corpus(seed)
    expected = plainly_left(corpus)
    once, thrice = pinned(corpus), pinned(corpus, parts=3)
    assert once.equals(thrice)
    assert left_of(corpus, once) == expected
    assert any(expected[number] != text for number, (_, text) in corpus.items())


def test_each_document_is_decided_alone_whatever_stands_beside_it() -> None:
    corpus = random_corpus(3)
    kept, expected = pinned(corpus), plainly_left(corpus)
    for number, one in corpus.items():
        assert left_of({number: one}, kept) == {number: expected[number]}


def test_four_fifths_stay_and_more_goes() -> None:
    random = np.random.default_rng(1)
    old = salad(random, 47)  # 40 n-grams
    new = salad(random, 60)
    at_most = f"{old} {salad(random, 10)}"  # 40 of 50
    more = f"{old} {salad(random, 9)}"  # 40 of 49
    corpus = {1: ("", old), 2: ("", f"{at_most}\n{new}"), 3: ("", f"{more}\n{salad(random, 60)}")}
    left = left_of(corpus, pinned(corpus))
    assert left[2] == f"{at_most}\n{new}"
    assert old not in left[3]


def test_a_document_goes_whole_and_what_it_alone_had_stays_for_a_later_one() -> None:
    random = np.random.default_rng(2)
    old, own, new = salad(random, 200), salad(random, 20), salad(random, 90)
    corpus = {1: ("", old), 2: ("", f"{old}\n{own}"), 3: ("", f"{own}\n{new}")}
    left = left_of(corpus, pinned(corpus))
    assert left == {1: old, 2: "", 3: f"{own}\n{new}"}


def test_a_promoted_copy_of_the_keeper_keeps_what_it_kept() -> None:
    random = np.random.default_rng(4)
    text = salad(random, 80)
    corpus = {1: ("2024-01-01", text), 2: ("2024-01-02", f"{text}\n{salad(random, 90)}")}
    ids = pa.array([n.to_bytes(16, "big") for n in (1, 8, 9)], DOC_ID)
    keepers = pa.array([n.to_bytes(16, "big") for n in (1, 1, 5)], DOC_ID)
    members = pa.table({"doc_id": ids, "kept": [True, False, False], "kept_doc_id": keepers})
    later = {8: ("2024-03-01", text), 9: ("2024-03-01", text)}
    assert left_of(later, pinned(corpus, members=members)) == {8: text, 9: ""}


def test_no_documents_and_short_ones_are_left_alone() -> None:
    corpus = {1: ("", ""), 2: ("", "one two\n\nthree"), 3: ("", "one two\n\nthree")}
    assert left_of(corpus, pinned(corpus)) == {n: text for n, (_, text) in corpus.items()}
