"""The recipes with classifiers build as they are, on a slice of the demo crawl."""

from collections import Counter
from typing import Any

import pytest

from corpus_assets_tests.recipe.test_published_recipes import Built, Slice, fates, sliced, url_of  # noqa: F401, a fixture

NAMES = ("fineweb-edu", "dclm", "nemotron-cc")
MATHEMATICS = ("open-web-math-like", "finemath-like")

# Page -> the first rule of each recipe that it fails.
EXPECTED: dict[str, dict[str, str]] = {
    "brace": {"fineweb-edu": "curly_brace"},
    "filler": {"fineweb-edu": "lorem_ipsum"},
    "repeated_line": {"fineweb-edu": "repeated_lines", "dclm": "repeated_lines"},
    "bullets": {"fineweb-edu": "bullet_lines", "dclm": "bullet_lines"},
    "hashes": {"fineweb-edu": "hash_signs", "dclm": "symbols"},
    "dots": {"fineweb-edu": "ellipsis_lines", "dclm": "ellipsis_lines"},
    "few_words": {"fineweb-edu": "word_count", "dclm": "word_count"},
}
LEARNED = {"fineweb-edu": "not_educational", "dclm": "low_quality"}


@pytest.fixture(scope="module")
def built(sliced: Slice) -> Built:  # noqa: F811
    """Recipe -> URL -> decision."""
    return Built(sliced)


def of_kind(built: Built, slice_: Slice, name: str, kinds: set[str]) -> list[dict[str, Any]]:
    return [built[name][url] for url, what in slice_.planted.items() if what & kinds]


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("page", EXPECTED)
def test_a_planted_page_fails_the_rule_it_was_made_for(built: Built, name: str, page: str) -> None:
    first = (built[name][url_of(page)]["failed_rules"] or [None])[0]
    assert first == EXPECTED[page].get(name, first)
    if name in EXPECTED[page]:
        assert not built[name][url_of(page)]["kept"]


@pytest.mark.parametrize(
    "name", [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in MATHEMATICS)]
)
def test_other_languages_go(built: Built, sliced: Slice, name: str) -> None:  # noqa: F811
    others = of_kind(built, sliced, name, {"wrong_language", "de", "fr", "es"})
    assert others
    assert not any(row["kept"] for row in others)


@pytest.mark.parametrize("name", LEARNED)
def test_the_classifier_drops_spam_and_leaves_pages(
    built: Built,
    sliced: Slice,  # noqa: F811
    name: str,
) -> None:
    spam = of_kind(built, sliced, name, {"templated_spam"})
    assert not any(row["kept"] for row in spam)
    assert any(LEARNED[name] in row["failed_rules"] for row in spam)
    assert any(row["kept"] for row in of_kind(built, sliced, name, {"en"}))


def test_dclm_keeps_a_tenth_of_what_reaches_its_classifier(built: Built) -> None:
    scored = [row for row in built["dclm"].values() if row["stage"] != "documents"]
    scored = [row for row in scored if set(row["failed_rules"] or ()) <= {"low_quality"}]
    liked = [row for row in scored if not row["failed_rules"]]
    # So few texts teach little: a handful of scores of four decimals. Documents that share the
    # cutoff's score all stay.
    assert 0.05 < len(liked) / len(scored) < 0.4


def test_nemotron_grades_by_the_best_rank(built: Built, sliced: Slice) -> None:  # noqa: F811
    kept = Counter(row["tier"] for row in built["nemotron-cc"].values() if row["kept"])
    assert set(kept) <= {"high", "medium_high", "medium", "medium_low", "low"}
    assert len(kept) >= 3
    spam = of_kind(built, sliced, "nemotron-cc", {"templated_spam"})
    assert not {row["tier"] for row in spam} & {"high", "medium_high"}


def test_nemotron_asks_its_heuristics_of_the_lower_grades_only(built: Built) -> None:
    bad = {"repeated_line": "repeated_lines", "hashes": "hash_signs", "dots": "ellipsis_lines",
           "few_words": "word_count"}  # fmt: skip
    rows = {rule: built["nemotron-cc"][url_of(page)] for page, rule in bad.items()}
    asked = {rule for rule, row in rows.items() if rule in row["failed_rules"]}
    assert set() < asked < set(rows)
    for rule in rows.keys() - asked:
        assert rows[rule]["tier"] in ("high", "medium_high", "medium")
