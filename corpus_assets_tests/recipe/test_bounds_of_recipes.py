"""The recipes for mathematics, code and labels of others decide as published, at their bounds."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.selection import resolve_cutoffs, select

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def decided(name: str, domain: str = "web", **signals: Any) -> dict[str, Any]:
    """What a recipe decides about one English document with these signals."""
    ids = pa.array([bytes(16)], pa.binary(16))
    columns = {"doc_id": ids, "language": ["en"], "language_score": pa.array([0.9], pa.float32())}
    columns |= {
        key: pa.array(
            [value], pa.float64() if key == "edu" else pa.string() if value is None else None
        )
        for key, value in signals.items()
    }
    documents = pa.table({"doc_id": ids, "domain": [domain]})
    settings = load_recipe(RECIPES / f"{name}.yaml").selection
    table = pa.table(columns | {"domain": [domain]})
    (row,) = select(documents, table, settings, resolve_cutoffs(table, settings)).to_pylist()
    return dict(row)


@pytest.mark.parametrize(
    ("formulas", "math_score", "perplexity", "n_chars", "reason"),
    [
        (1, 0.17, 15000.0, 100, None),
        (0, 0.8, 15000.0, 100, None),
        (0, 0.79, 100.0, 900, "no_mathematics"),
        (1, 0.16, 100.0, 900, "little_mathematics"),
        (5, 0.9, 15001.0, 900, "odd_text"),
        (5, 0.9, 100.0, 99, "too_short"),
    ],
)
def test_a_page_without_formulas_must_be_surer_mathematics(
    formulas: int, math_score: float, perplexity: float, n_chars: int, reason: str | None
) -> None:
    row = decided(
        "open-web-math-like",
        formulas=formulas, math_score=math_score, perplexity_en=perplexity, n_chars=n_chars,
    )  # fmt: skip
    assert (row["kept"], row["reason"]) == (reason is None, reason)


@pytest.mark.parametrize(
    ("score", "tier"), [(2.5, None), (2.51, "three"), (3.49, "three"), (3.5, "four_plus"), (5.2, "four_plus")]
)  # fmt: skip
def test_a_score_is_rounded_to_a_grade(score: float, tier: str | None) -> None:
    row = decided("finemath-like", finemath_score=score)
    assert (row["kept"], row["tier"]) == (tier is not None, tier)


@pytest.mark.parametrize(
    ("language", "edu", "reason"),
    [
        ("Java", 2.0, None),
        ("Java", 1.0, "not_educational"),
        ("Python", 2.0, "less_educational"),
        ("C-Sharp", 3.0, None),
        ("Perl", 5.0, "programming_language"),
        ("Python", None, "not_educational"),
    ],
)
def test_java_needs_a_point_less_than_other_languages(
    language: str, edu: float | None, reason: str | None
) -> None:
    row = decided("stack-edu-like", "code", programming_language=language, edu=edu)
    assert row["reason"] == reason


TAXONOMY = {
    "subject": "512.7",
    "document_type": "Social/Forum",
    "page_kind": "Q&A Forum",
    "reasoning_depth": "Basic Reasoning",
    "technical_correctness": "Highly Correct",
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"subject": "51"}, None),
        ({"subject": "005.1"}, "subject"),
        ({"subject": "151.2"}, "subject"),
        ({"subject": None}, "subject"),
        ({"page_kind": "Academic Writing"}, "page_kind"),
        ({"reasoning_depth": "No Reasoning"}, "little_reasoning"),
        ({"technical_correctness": "Mostly Correct"}, "technically_wrong"),
    ],
)
def test_a_page_has_all_labels_that_the_taxonomy_filter_asks_for(
    changes: dict[str, Any], reason: str | None
) -> None:
    assert decided("essential-web-like", **(TAXONOMY | changes))["reason"] == reason


@pytest.mark.parametrize(
    ("domain", "edu", "quality", "reason"),
    [
        ("fineweb-edu", 3.0, None, None),
        ("fineweb-edu", 2.0, None, "not_educational"),
        ("dclm", None, None, None),
        ("zyda", None, "High", None),
        ("dolma-cc", None, "Medium", "low_quality"),
        ("zyda", None, None, "low_quality"),
    ],
)
def test_each_dataset_of_zyda_2_is_filtered_by_its_own_column(
    domain: str, edu: float | None, quality: str | None, reason: str | None
) -> None:
    assert decided("zyda-2-like", domain, edu=edu, quality=quality)["reason"] == reason
