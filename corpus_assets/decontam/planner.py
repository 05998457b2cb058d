"""What the stages of decontamination read of a recipe."""

from typing import Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.decontam.settings import ContaminationSettings, EvalSuite


class DecontamRecipe(AnyRecipe, Protocol):
    @property
    def suites(self) -> tuple[EvalSuite, ...]: ...
    @property
    def training_benchmarks(self) -> tuple[str, ...]: ...
    @property
    def contamination(self) -> ContaminationSettings: ...


DecontamPlanner: TypeAlias = Planner[DecontamRecipe]
