"""The recipes with language models build as they are, on a slice of the demo crawl."""

from collections import Counter
from typing import Any

import pytest

from corpus_assets_tests.recipe.test_published_recipes import Built, Slice, fates, sliced, url_of  # noqa: F401, a fixture

NAMES = ("ccnet", "llama3-like")
ORDINARY = {"en", "de", "fr", "es"}

# Page -> the first rule of each recipe that it fails; it passes those that are not named.
EXPECTED: dict[str, dict[str, str]] = {
    "ordinary": {},
    "brace": {},
    "filler": {},
    "repeated_line": {"llama3-like": "repeated_5_grams"},
    "bullets": {},
    "unfinished": {},
    "hashes": {},
    "dots": {},
    "few_words": {"ccnet": "too_short", "llama3-like": "word_count"},
}


@pytest.fixture(scope="module")
def built(sliced: Slice) -> Built:  # noqa: F811
    """Recipe -> URL -> decision."""
    return Built(sliced)


def of_kind(built: Built, slice_: Slice, name: str, kinds: set[str]) -> list[dict[str, Any]]:
    return [built[name][url] for url, what in slice_.planted.items() if what & kinds]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("page", EXPECTED)
def test_a_planted_page_meets_its_fate(built: Built, name: str, page: str) -> None:
    decision = built[name][url_of(page)]
    assert (decision["failed_rules"] or [None])[0] == EXPECTED[page].get(name)


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_pages_stay_and_thin_ones_go(
    built: Built,
    sliced: Slice,  # noqa: F811
    name: str,
) -> None:
    assert all(row["kept"] for row in of_kind(built, sliced, name, ORDINARY))
    thin = of_kind(built, sliced, name, {"thin"})
    assert {row["reason"] for row in thin} == {EXPECTED["few_words"][name]}


def test_ccnet_puts_ordinary_pages_into_head_and_middle_and_spam_into_the_tail(
    built: Built,
    sliced: Slice,  # noqa: F811
) -> None:
    ordinary = Counter(row["tier"] for row in of_kind(built, sliced, "ccnet", ORDINARY))
    assert set(ordinary) == {"head", "middle"}
    spam = of_kind(built, sliced, "ccnet", {"templated_spam"})
    assert {row["tier"] for row in spam} == {"tail"}


def test_ccnet_leaves_languages_without_a_model_ungraded(
    built: Built,
    sliced: Slice,  # noqa: F811
) -> None:
    others = of_kind(built, sliced, "ccnet", {"wrong_language"})
    assert {row["tier"] for row in others} == {"all"}


def test_languages_without_a_model_go_where_a_rule_asks_for_one(
    built: Built,
    sliced: Slice,  # noqa: F811
) -> None:
    others = of_kind(built, sliced, "llama3-like", {"wrong_language"})
    assert {row["reason"] for row in others} == {"language"}
