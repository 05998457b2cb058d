"""The recipes for mathematics decide as their publications do, at their bounds."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.selection import resolve_cutoffs, select

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def decided(name: str, **signals: Any) -> dict[str, Any]:
    """What a recipe decides about one English document with these signals."""
    ids = pa.array([bytes(16)], pa.binary(16))
    columns = {"doc_id": ids, "language": ["en"], "language_score": pa.array([0.9], pa.float32())}
    columns |= {key: pa.array([value]) for key, value in signals.items()}
    documents = pa.table({"doc_id": ids, "domain": ["web"]})
    settings = load_recipe(RECIPES / f"{name}.yaml").selection
    table = pa.table(columns | {"domain": ["web"]})
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
