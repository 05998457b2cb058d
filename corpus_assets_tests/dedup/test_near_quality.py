"""What near-duplicate search finds among real pages, and what it leaves alone.

`benchmarks/near_dedup.py` measures the same on more pages and at more levels.
"""

import itertools

import numpy as np
import pytest

from corpus_assets.dedup.settings import ClusterSettings
from corpus_assets_tests.dedup.near_pairs import Page, edited, grams, in_frame, jaccard, real_pages
from corpus_assets_tests.dedup.test_clusters import of_texts, pairs_of
from corpus_assets_tests.shared_data import shared_data

NEAR_ONLY = ClusterSettings(url=False, exact=False)


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return real_pages(shared_data("web/extraction-truth.jsonl.gz"))


def found_pairs(pages: list[Page], settings: ClusterSettings = NEAR_ONLY) -> set[tuple[int, int]]:
    return pairs_of(of_texts([" ".join(page) for page in pages], settings))


def planted(pages: list[Page], similarity: float, seed: int) -> list[Page]:
    random = np.random.default_rng(seed)
    words = [word for page in pages[:20] for word in page]
    return [edited(page, similarity, words, random) for page in pages]


def test_copies_at_nine_tenths_are_found_and_halves_are_not(pages: list[Page]) -> None:
    some = [page[:500] for page in pages[:150]]
    count = len(some)
    near, half = planted(some, 0.9, 1), planted(some, 0.5, 2)
    levels = [jaccard(a, b) for a, b in zip(some, near, strict=True)]
    assert min(levels) > 0.88
    assert np.mean(levels) < 0.901
    natural = found_pairs(some)
    assert len(natural) < 3
    found = found_pairs(some + near)
    assert sum((i, i + count) in found for i in range(count)) >= 0.99 * count
    assert {(a % count, b % count) for a, b in found if b - a != count} <= natural
    assert {(a % count, b % count) for a, b in found_pairs(some + half)} <= natural


@pytest.mark.parametrize("language", ["zh", "ru", "el"])
def test_copies_are_found_whatever_the_script(language: str) -> None:
    own = real_pages(shared_data("web/extraction-truth.jsonl.gz"), (language,), 20)
    some = [page[:400] for page in own[:20]]
    count = len(some)
    assert count == 20
    found = found_pairs(some + planted(some, 0.9, 4))
    assert {(i, i + count) for i in range(count)} <= found
    assert {(a % count, b % count) for a, b in found if b - a != count} <= found_pairs(some)


@pytest.mark.parametrize("frame_share", [0.5, 0.7, 0.8, 0.85])
def test_pages_of_one_frame_with_texts_of_their_own_are_all_kept(
    pages: list[Page], frame_share: float
) -> None:
    """At 0.85 two of them have a similarity of 0.73, unless their texts repeat themselves."""
    frame = [word for page in pages[:4] for word in page]
    contents: list[Page] = []
    seen: set[tuple[str, ...]] = set()
    for page in pages[4:]:
        content = page[:300]
        if len(content) == 300 and seen.isdisjoint(grams(content)):
            seen |= grams(content)
            contents.append(content)
    texts = [in_frame(frame, content, frame_share, 600) for content in contents[:150]]
    assert len(texts) == 150
    found = found_pairs(texts)
    assert len(found) <= 1
    assert all(jaccard(texts[a], texts[b]) > 0.79 for a, b in found)


def test_a_long_quotation_makes_no_copy(pages: list[Page]) -> None:
    long = [page for page in pages if len(page) > 400][:60]
    quoting = [[*a[:250], *b[:200], *a[250:400]] for a, b in itertools.pairwise(long)]
    assert found_pairs([*(page[:400] for page in long), *quoting]) <= found_pairs(long)


def test_a_chain_of_pages_that_drift_apart_is_not_glued_by_what_is_less_alike_than_asked() -> None:
    """Windows over one long text, each 0.67 like its neighbour: nothing is confirmed."""
    words = [f"w{i}" for i in range(20_000)]
    assert found_pairs([words[i : i + 500] for i in range(0, 10_000, 100)]) == set()
