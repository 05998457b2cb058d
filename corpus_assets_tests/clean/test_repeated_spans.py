"""Repeated spans: the three passes against a plain count of all runs of words, and of bytes."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.clean.repeated_spans import (
    REPEATED,
    count_grams,
    count_prints,
    find_cuts,
    joined,
    merge_grams,
    merge_prints,
)
from corpus_assets.clean.settings import RepeatedSpanSettings
from corpus_assets.core.schemas import DOC_ID

EIGHT = RepeatedSpanSettings(min_words=8)
FIFTY = RepeatedSpanSettings()
SIXTEEN_BYTES = RepeatedSpanSettings(min_bytes=16)

Corpus = dict[bytes, str]


def table(corpus: Corpus) -> pa.Table:
    ids = pa.array(list(corpus), DOC_ID)
    times = pa.array([""] * len(corpus), pa.string())
    texts = pa.array(list(corpus.values()), pa.large_string())
    return pa.table({"doc_id": ids, "fetched_at": times, "text": texts})


def cuts_of(
    corpus: Corpus, settings: RepeatedSpanSettings, parts: int = 1
) -> dict[bytes, list[tuple[int, int]]]:
    """All passes over the corpus in so many parts."""
    whole = table(corpus)
    size = -(-whole.num_rows // parts)
    tables = [whole.slice(k * size, size) for k in range(parts)]
    prints = merge_prints([count_prints(t["text"], settings) for t in tables])
    repeated = merge_grams([count_grams(t, prints, settings) for t in tables], [])
    cuts = [cut for t in tables for cut in find_cuts(t, repeated, settings)]
    return dict(zip(corpus, cuts, strict=True))


def left_of(corpus: Corpus, settings: RepeatedSpanSettings, parts: int = 1) -> dict[bytes, str]:
    left = {}
    for doc_id, cuts in cuts_of(corpus, settings, parts).items():
        text, place, out = corpus[doc_id], 0, []
        for start, end in cuts:
            out.append(text[place:start])
            place = end
        left[doc_id] = "".join([*out, text[place:]])
    return left


def plain_left(corpus: Corpus, n: int) -> dict[bytes, list[str]]:
    """The reference: words left, for texts of plain words with single spaces."""
    words = {doc_id: text.split() for doc_id, text in corpus.items()}
    gone = plainly_gone(words, n)
    return {d: [w for i, w in enumerate(own) if i not in gone[d]] for d, own in words.items()}


def plain_bytes_left(corpus: Corpus, n: int) -> dict[bytes, str]:
    """The reference in bytes: a character goes where all of its bytes do."""
    gone = plainly_gone({doc_id: list(text.encode()) for doc_id, text in corpus.items()}, n)
    left = {}
    for doc_id, text in corpus.items():
        ends = np.cumsum([0, *(len(c.encode()) for c in text)]).tolist()
        whole = [set(range(*pair)) <= gone[doc_id] for pair in itertools.pairwise(ends)]
        left[doc_id] = "".join(c for c, is_gone in zip(text, whole, strict=True) if not is_gone)
    return left


def plainly_gone(units: dict[bytes, list[Any]], n: int) -> dict[bytes, set[int]]:
    """The places of each document's units that go."""
    runs = {
        doc_id: [tuple(w[i : i + n]) for i in range(len(w) - n + 1)] for doc_id, w in units.items()
    }
    places = Counter(run for own in runs.values() for run in own)
    held = {d: sum(places[run] > 1 for run in set(own)) for d, own in runs.items()}
    keeper = {run: min((held[d], d) for d, own in runs.items() if run in own)[1] for run in places}
    found = {}
    for doc_id, own in runs.items():
        gone: set[int] = set()
        first: dict[tuple[Any, ...], int] = {}
        for i, run in enumerate(own):
            if places[run] < 2:
                continue
            if keeper[run] == doc_id and i < first.setdefault(run, i) + n:
                continue
            gone.update(range(i, i + n))
        found[doc_id] = gone
    return found


def doc(number: int) -> bytes:
    return number.to_bytes(16, "big")


def salad(random: np.random.Generator, n: int, vocabulary: int = 5000) -> str:
    return " ".join(f"w{k}" for k in random.integers(0, vocabulary, n))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("parts", [1, 3])
def test_random_texts_with_shared_runs_are_cut_as_the_plain_count_cuts_them(
    seed: int, parts: int
) -> None:
    random = np.random.default_rng(seed)
    pool = [salad(random, int(n)) for n in random.integers(3, 30, 6)]
    corpus = {}
    for number in random.permutation(12):
        pieces = []
        for _ in range(random.integers(0, 6)):
            own = salad(random, int(random.integers(0, 15)), vocabulary=[3, 5000][seed % 2])
            pieces += [own, pool[random.integers(len(pool))]]
        corpus[doc(int(number))] = " ".join(filter(None, pieces))
    left = left_of(corpus, EIGHT, parts)
    assert {d: text.split() for d, text in left.items()} == plain_left(corpus, 8)


@pytest.mark.parametrize("seed", range(10))
def test_bytes_that_stand_twice_are_cut_wherever_they_begin_as_the_plain_count_cuts_them(
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    letters = ["ab", "aé甲", "abcdefghijklmnop .,\n", "😀é甲乙丙丁xyz"][seed % 4]

    def salt(n: int) -> str:
        return "".join(letters[k] for k in random.integers(0, len(letters), n))

    pool = [salt(int(n)) for n in random.integers(4, 60, 5)]
    corpus = {}
    for number in random.permutation(9):
        picked = [pool[k] + salt(random.integers(0, 12)) for k in random.integers(0, 5, 3)]
        corpus[doc(int(number))] = "".join(picked)
    expected = plain_bytes_left(corpus, 16)
    assert left_of(corpus, SIXTEEN_BYTES) == expected
    assert left_of(corpus, SIXTEEN_BYTES, parts=3) == expected
    assert sum(map(len, expected.values())) < sum(map(len, corpus.values()))


def test_500_bytes_are_a_passage_and_499_are_none() -> None:
    random = np.random.default_rng(3)
    passage = "".join(chr(0x61 + int(k)) for k in random.integers(0, 26, 500))
    settings = RepeatedSpanSettings(min_bytes=500)
    for length, stays in ((500, "(|)"), (499, "(" + passage[:499] + "|)")):
        same = passage[:length]
        corpus = {doc(1): same, doc(2): f"({same}|)"}
        left = left_of(corpus, settings)
        assert left == {doc(1): same, doc(2): stays}


def test_bytes_are_compared_with_their_case_and_marks() -> None:
    corpus = {
        doc(1): "A passage of several words, once.",
        doc(2): "a passage, of several words once",
    }
    assert left_of(corpus, SIXTEEN_BYTES)[doc(2)] == "a passage, once"


def test_what_stands_between_passages_goes_where_they_are_nearly_all() -> None:
    """Places read off Dolma 3's rule: joined from the left, from the right, or not at all."""
    pieces = np.array([(0, 90), (95, 190), (300, 310), (311, 400), (600, 610)], np.int64)
    rows = np.array([0, 4, 4, 5], np.int64)
    found, ends = joined(pieces, rows, 0.95)
    assert found.tolist() == [[0, 190], [300, 400], [600, 610]]
    assert ends.tolist() == [0, 2, 2, 3]
    apart = np.array([(0, 10), (12, 40), (41, 80)], np.int64)
    assert joined(apart, np.array([0, 3]), 0.97)[0].tolist() == [[0, 10], [12, 80]]


def test_one_measure_of_passages_is_set() -> None:
    with pytest.raises(ValueError, match="set one"):
        RepeatedSpanSettings(min_words=40, min_bytes=500)
    assert "min_bytes" not in RepeatedSpanSettings().identity()


def test_a_passage_of_fifty_words_stays_in_one_document_and_goes_from_the_others() -> None:
    random = np.random.default_rng(7)
    passage = salad(random, 50)
    corpus = {doc(k): f"{salad(random, 60)}\n{passage}\n{salad(random, 60)}" for k in (3, 1, 2)}
    left = left_of(corpus, FIFTY)
    assert [passage in left[doc(k)] for k in (1, 2, 3)] == [True, False, False]
    assert left[doc(2)].count("\n") == 1, "what follows a cut passage begins where it began"


def test_forty_nine_common_words_are_no_repeated_span() -> None:
    random = np.random.default_rng(8)
    passage = salad(random, 49)
    corpus = {doc(k): f"{salad(random, 60)} {passage} {salad(random, 60)}" for k in (1, 2)}
    assert left_of(corpus, FIFTY) == corpus


def test_a_passage_twice_in_one_document_is_kept_where_it_first_stands() -> None:
    random = np.random.default_rng(9)
    passage, between = salad(random, 55), salad(random, 20)
    corpus = {doc(1): f"{passage} {between} {passage}"}
    assert left_of(corpus, FIFTY)[doc(1)] == f"{passage} {between} "


def test_one_word_a_million_times_keeps_its_first_span() -> None:
    corpus = {doc(1): "spam " * 1_000_000, doc(2): "spam " * 70}
    left = left_of(corpus, FIFTY)
    assert len(left[doc(1)].split()) == 50
    assert left[doc(2)] == ""


def test_case_and_punctuation_do_not_hide_a_copy() -> None:
    random = np.random.default_rng(10)
    passage = salad(random, 52)
    loud = passage.upper().replace(" ", ", ")
    corpus = {doc(1): f"one two {passage} three", doc(2): f"four {loud}! five"}
    assert left_of(corpus, FIFTY)[doc(2)].split() == ["four", "five"]


def test_chinese_is_compared_by_characters_and_cut_at_whole_ones() -> None:
    random = np.random.default_rng(11)
    letters = [chr(0x4E00 + int(k)) for k in random.integers(0, 3000, 300)]
    passage = "".join(letters[:60])
    corpus = {doc(1): passage + "".join(letters[60:150]), doc(2): "甲乙" + passage + "丙。丁"}
    assert left_of(corpus, FIFTY)[doc(2)] == "甲乙丙。丁"


@pytest.mark.parametrize("text", ["", " ", "...!?", "one", "مرحبا بالعالم " * 3, "😀" * 400])
def test_texts_with_little_to_compare_are_left_alone(text: str) -> None:
    corpus = {doc(1): text, doc(2): text}
    assert left_of(corpus, FIFTY) == corpus


def test_no_documents_give_empty_tables() -> None:
    assert cuts_of({}, FIFTY) == {}


def test_what_is_pinned_holds_no_text_and_cuts_a_document_that_came_later() -> None:
    random = np.random.default_rng(12)
    passage = salad(random, 80)
    corpus = {doc(1): passage, doc(2): passage + " tail"}
    prints = merge_prints([count_prints(table(corpus)["text"], FIFTY)])
    repeated = merge_grams([count_grams(table(corpus), prints, FIFTY)], [])
    later = {doc(0): "head " + passage}
    assert find_cuts(table(later), repeated, FIFTY) == [[(5, 5 + len(passage))]]
    assert repeated.schema.equals(REPEATED)


def test_the_article_keeps_a_passage_and_not_the_list_of_articles() -> None:
    random = np.random.default_rng(13)
    passages = [salad(random, 60) for _ in range(3)]
    corpus = {doc(k): " ".join([salad(random, 9), *passages]) for k in (1, 2)}
    corpus |= {doc(7 + k): f"{salad(random, 9)} {text}" for k, text in enumerate(passages)}
    left = left_of(corpus, FIFTY)
    assert [len(left[doc(k)].split()) for k in (1, 2)] == [9, 9]
    assert all(text in left[doc(7 + k)] for k, text in enumerate(passages))


def test_a_promoted_copy_of_the_keeper_keeps_what_it_kept() -> None:
    random = np.random.default_rng(14)
    passage = salad(random, 80)
    corpus = {doc(1): passage, doc(2): passage + " tail"}
    prints = merge_prints([count_prints(table(corpus)["text"], FIFTY)])
    members = pa.table(
        {
            "doc_id": pa.array([doc(1), doc(8), doc(9)], DOC_ID),
            "kept": [True, False, False],
            "kept_doc_id": pa.array([doc(1), doc(1), doc(5)], DOC_ID),
        }
    )
    grams = count_grams(table(corpus), prints, FIFTY)
    repeated = merge_grams([grams], [members])
    promoted = {doc(8): passage + " of a copy", doc(9): passage}
    assert find_cuts(table(promoted), repeated, FIFTY) == [[], [(0, len(passage))]]
