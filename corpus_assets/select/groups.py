"""Labels that divide the groups of shards: values of a document's own columns, as a recipe lists
them, and bins of numbers. What is not listed is `other`, so that no statistic over documents says
what a group is."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Name
from corpus_assets.select.rules import is_label_type, leaf_columns

OTHER = "other"
TAKEN = ("group", "snapshot", "domain", "source", "tier", "label", "copies", "held_back")

Values = (
    Annotated[tuple[Name, ...], Field(min_length=1)]
    | Annotated[dict[Name, Annotated[tuple[str, ...], Field(min_length=1)]], Field(min_length=1)]
    | Annotated[dict[Name, Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=1)]
)


def _makes_sense(group_by: dict[str, Values]) -> dict[str, Values]:
    for axis, stated in group_by.items():
        if axis in TAKEN:
            raise ValueError(f"groups have a {axis} of their own; rename the column {axis!r}")
        if OTHER in stated:
            raise ValueError(f"{axis}: {OTHER!r} is what is not listed; rename it")
        listed = (
            [*stated]
            if isinstance(stated, tuple)
            else [
                x for some in stated.values() for x in (some if isinstance(some, tuple) else [some])
            ]
        )
        twice = [each for each, n in Counter(listed).items() if n > 1]
        if twice:
            raise ValueError(f"{axis}: duplicate value {twice[0]!r}")
    return group_by


def bins_of(stated: Values) -> dict[str, float] | None:
    """Return the least number of each bin; None for labels."""
    if isinstance(stated, tuple):
        return None
    bins = {value: least for value, least in stated.items() if isinstance(least, float)}
    return bins or None


def labels_of(stated: Values) -> dict[str, str]:
    """Return the value of each label that is listed."""
    if isinstance(stated, tuple):
        return {label: label for label in stated}
    return {
        label: value
        for value, labels in stated.items()
        if isinstance(labels, tuple)
        for label in labels
    }


GroupBy = Annotated[dict[str, Values], AfterValidator(_makes_sense)]
"""Column -> its values with groups of their own: a list of labels, value -> labels, or of a number
bin -> the least one in it."""


def group_values(group_by: Mapping[str, Values]) -> dict[str, tuple[str, ...]]:
    """Return the values that each axis divides groups by."""
    return {axis: (*stated, OTHER) for axis, stated in group_by.items()}


def check_columns(group_by: Mapping[str, Values], columns: ColumnTypes) -> None:
    """Refuse columns that no signal family gives, lists of numbers and bins of labels."""
    leaves = leaf_columns(columns)
    for axis, stated in group_by.items():
        is_label = bins_of(stated) is None
        known = sorted(name for name, kind in leaves.items() if is_label_type(kind) == is_label)
        if axis not in known:
            what = "label" if is_label else "number to make bins of"
            raise RecipeError(
                f"shards.group_by.{axis}: no signal family gives a {what} of this name; "
                f"expected one of {', '.join(known) or 'none: add a family that gives one'}"
            )
