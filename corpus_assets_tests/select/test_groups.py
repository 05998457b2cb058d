"""Labels that divide groups, from columns of signals."""

import pyarrow as pa
import pytest
from pydantic import TypeAdapter, ValidationError

from corpus_assets.core.column_types import column_types
from corpus_assets.core.errors import RecipeError
from corpus_assets.select.group_labels import group_labels
from corpus_assets.select.groups import GroupBy, check_columns, group_values

PARSE = TypeAdapter[GroupBy](GroupBy).validate_python
SIGNALS = pa.table(
    {
        "language": pa.chunked_array([["en", "de"], ["fr", None]], pa.string()),
        "about": pa.array([{"topic": t} for t in ("maths", "algebra", "golf", "golf")]),
        "n_words": [1, 2, 3, 4],
    }
)
TYPES = column_types(SIGNALS.schema)


def test_what_is_listed_has_groups_and_the_rest_is_other() -> None:
    listed = group_labels(SIGNALS, PARSE({"language": ["en", "fr"]})).to_pylist()
    assert listed == ["language=en", "language=other", "language=fr", "language=other"]


def test_several_labels_can_be_one_value_and_axes_stand_by_name() -> None:
    group_by = PARSE({"language": ["de"], "about.topic": {"math": ["maths", "algebra"]}})
    check_columns(group_by, TYPES)
    assert group_labels(SIGNALS, group_by).to_pylist() == [
        "about.topic=math/language=other",
        "about.topic=math/language=de",
        "about.topic=other/language=other",
        "about.topic=other/language=other",
    ]
    assert group_values(group_by) == {"language": ("de", "other"), "about.topic": ("math", "other")}


def test_numbers_are_divided_by_the_least_of_each_bin() -> None:
    numbers = pa.table({"score": pa.chunked_array([[1.9, 2.0], [3.5, None, float("nan"), 9.0]])})
    group_by = PARSE({"score": {"good": 3, "fair": 2.0, "best": 9}})
    check_columns(group_by, column_types(numbers.schema))
    assert group_labels(numbers, group_by).to_pylist() == [
        f"score={name}" for name in ("other", "fair", "good", "other", "other", "best")
    ]
    assert group_values(group_by) == {"score": ("good", "fair", "best", "other")}
    assert PARSE({"score": {"good": 3, "fair": 2.0, "best": 9}}) == group_by


def test_bins_are_of_numbers() -> None:
    with pytest.raises(RecipeError, match=r"no signal family gives a number to make bins of"):
        check_columns(PARSE({"language": {"a": 1}}), TYPES)
    assert group_labels(SIGNALS, PARSE({"n_words": {"long": 3}})).to_pylist() == [
        "n_words=other", "n_words=other", "n_words=long", "n_words=long",
    ]  # fmt: skip


def test_a_table_without_rows_has_no_labels() -> None:
    assert group_labels(SIGNALS.slice(0, 0), PARSE({"language": ["en"]})).to_pylist() == []


@pytest.mark.parametrize("column", ["n_words", "about", "topic"])
def test_only_labels_divide_groups(column: str) -> None:
    with pytest.raises(RecipeError, match=r"expected one of about\.topic, language"):
        check_columns(PARSE({column: ["a"]}), TYPES)


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": []},
        {"language": {"a": []}},
        {"language": ["en", "en"]},
        {"language": ["a/b"]},
        {"language": ["a=b"]},
        {"n_words": {"few": 1, "some": 1}},
        {"n_words": {"few": float("nan")}},
        {"n_words": {"other": 1}},
        {"held_back": ["true"]},
    ],
)
def test_what_could_not_name_a_group_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PARSE(wrong)
