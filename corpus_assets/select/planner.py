"""What the stages of selection read of a recipe."""

from typing import Any, Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.select.rules import SelectionSettings


class Ensemble(Protocol):
    @property
    def among(self) -> str: ...


class Signals(Protocol):
    """The signals, as far as it matters which are ranks among documents that rules keep."""

    @property
    def ensemble(self) -> Ensemble | None: ...
    def ranked_columns(self) -> frozenset[str]: ...


class Shards(Protocol):
    def identity(self) -> dict[str, Any]: ...


class SelectRecipe(AnyRecipe, Protocol):
    @property
    def selection(self) -> SelectionSettings: ...
    @property
    def signals(self) -> Signals: ...
    @property
    def shards(self) -> Shards: ...


SelectPlanner: TypeAlias = Planner[SelectRecipe]
