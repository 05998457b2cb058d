"""What the stages of decontamination read of a recipe."""

from typing import Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.decontam.contamination import ContaminationSettings
from corpus_assets.decontam.eval_suites import EvalSuite


class DecontamRecipe(AnyRecipe, Protocol):
    @property
    def suites(self) -> tuple[EvalSuite, ...]: ...
    @property
    def training_benchmarks(self) -> tuple[str, ...]: ...
    @property
    def contamination(self) -> ContaminationSettings: ...


DecontamPlanner: TypeAlias = Planner[DecontamRecipe]
