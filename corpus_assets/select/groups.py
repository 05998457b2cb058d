"""Labels that divide the groups of shards: values of a document's own columns, as a recipe lists
them. What is not listed is `other`, so that no statistic over documents says what a group is."""

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
)


def _makes_sense(group_by: dict[str, Values]) -> dict[str, Values]:
    for axis, stated in group_by.items():
        if axis in TAKEN:
            raise ValueError(f"groups have a {axis} of their own; rename the column {axis!r}")
        if OTHER in stated:
            raise ValueError(f"{axis}: {OTHER!r} is what is not listed; rename it")
        labels = (
            [*stated]
            if isinstance(stated, tuple)
            else [x for some in stated.values() for x in some]
        )
        twice = [label for label, n in Counter(labels).items() if n > 1]
        if twice:
            raise ValueError(f"{axis}: duplicate value {twice[0]!r}")
    return group_by


GroupBy = Annotated[dict[str, Values], AfterValidator(_makes_sense)]
"""Column -> its values with groups of their own: a list of labels, or value -> labels."""


def group_values(group_by: Mapping[str, Values]) -> dict[str, tuple[str, ...]]:
    """Return the values that each axis divides groups by."""
    return {axis: (*stated, OTHER) for axis, stated in group_by.items()}


def check_columns(group_by: Mapping[str, Values], columns: ColumnTypes) -> None:
    """Refuse columns that no signal family gives, and numbers."""
    labels = sorted(name for name, kind in leaf_columns(columns).items() if is_label_type(kind))
    for axis in group_by:
        if axis not in labels:
            raise RecipeError(
                f"shards.group_by.{axis}: no signal family gives a label of this name; "
                f"expected one of {', '.join(labels) or 'none: add a family that gives one'}"
            )
