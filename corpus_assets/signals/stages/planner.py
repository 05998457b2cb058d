"""What the stages of signals read of a recipe."""

from collections.abc import Collection
from typing import Any, Protocol, TypeAlias

from corpus_assets.core.planner import Planner
from corpus_assets.scrub import ScrubRecipe
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.stages.classifier_settings import ClassifierEntry
from corpus_assets.signals.stages.perplexity_settings import PerplexityModelEntry
from corpus_assets.signals.stages.settings import SignalSettings


class Selection(Protocol):
    """The rules over signals, as far as ranks ask whom they are drawn from."""

    def rules_before(self, columns: Collection[str]) -> tuple[Any, ...]: ...
    def reads(self, rules: tuple[Any, ...]) -> set[str]: ...


class SignalsRecipe(ScrubRecipe, Protocol):
    @property
    def signals(self) -> SignalSettings: ...
    @property
    def classifiers(self) -> dict[str, ClassifierEntry]: ...
    @property
    def perplexity(self) -> dict[str, PerplexityModelEntry]: ...
    @property
    def selection(self) -> Selection: ...
    def scoring_families(self) -> tuple[SignalFamily, ...]: ...


SignalsPlanner: TypeAlias = Planner[SignalsRecipe]
