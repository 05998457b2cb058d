"""Signals that are structs: rules, cutoffs and conditions about their members."""

from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.core.column_types import column_types
from corpus_assets.core.errors import RecipeError
from corpus_assets.select.columns import with_tie_keys
from corpus_assets.select.rules import column_of, leaf_columns
from corpus_assets.select.selection import resolve_cutoffs, select
from corpus_assets_tests.select.test_selection import settings

KIND = pa.struct(
    [("topic", pa.string()), ("level", pa.struct([("code", pa.string()), ("score", pa.int64())]))]
)
ROWS = [
    {"topic": "health", "level": {"code": "a", "score": 1}},
    {"topic": "law", "level": {"code": "b", "score": 2}},
    {"topic": None, "level": {"code": "a", "score": 3}},
    {"topic": "health", "level": None},
    None,
]


def reasons(recipe: str) -> list[str | None]:
    ids = pa.array([bytes([k] * 16) for k in range(len(ROWS))], pa.binary(16))
    signals = pa.table({"doc_id": ids, "page": pa.array(ROWS, KIND)})
    documents = pa.table({"doc_id": ids, "domain": pa.array(["web"] * len(ROWS))})
    stated = settings(recipe)
    cutoffs = resolve_cutoffs(
        with_tie_keys(signals, 7).append_column("domain", documents["domain"]), stated
    )
    found: list[Any] = select(documents, signals, stated, cutoffs)["reason"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("rules: [{name: r, signal: page.topic, in: [health]}]", [None, "r", "r", None, "r"]),
        ("rules: [{name: r, signal: page.level.score, min: 2}]", ["r", None, None, "r", "r"]),
        (
            "rules: [{name: r, signal: page.topic, in: [law], "
            "where: {signal: page.level.code, in: [a]}}]",
            ["r", None, "r", None, None],
        ),
        (
            "rules: [{name: r, signal: page.level.score, cutoff: c}]\n"
            "cutoffs: {c: {signal: page.level.score, drop_share: 0.34}}",
            ["r", None, None, "r", "r"],
        ),
    ],
)
def test_a_member_is_asked_like_a_column_and_one_that_is_missing_fails(
    recipe: str, expected: list[str | None]
) -> None:
    assert reasons(recipe) == expected


def test_members_are_checked_by_name_and_kind() -> None:
    columns = column_types(pa.schema([("page", KIND), ("n_chars", pa.int64())]))
    assert list(leaf_columns(columns)) == [
        "page.topic",
        "page.level.code",
        "page.level.score",
        "n_chars",
    ]
    assert column_of("page.level.code") == "page"
    stated = settings("rules: [{name: r, signal: page.topic, in: [a]}]")
    stated.check(columns)
    assert stated.signals() == ("language", "page")
    with pytest.raises(RecipeError, match=r"gives 'page.topik'; expected one of page.topic, "):
        settings("rules: [{name: r, signal: page.topik, in: [a]}]").check(columns)
    with pytest.raises(RecipeError, match="'page.level.score' is a number"):
        settings("rules: [{name: r, signal: page.level.score, in: [a]}]").check(columns)
    with pytest.raises(RecipeError, match="gives 'page'"):
        settings("rules: [{name: r, signal: page, in: [a]}]").check(columns)
