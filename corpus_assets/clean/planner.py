"""What the stages of cleaning read of a recipe: their own settings, and what the rooms read that they
ask for scores, verdicts and personal data."""

from typing import Protocol, TypeAlias

from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.core.planner import Planner
from corpus_assets.decontam import DecontamRecipe
from corpus_assets.signals import SignalsRecipe


class CleanRecipe(SignalsRecipe, DecontamRecipe, Protocol):
    @property
    def clean_text(self) -> CleanTextSettings: ...
    @property
    def has_labels(self) -> bool: ...


CleanPlanner: TypeAlias = Planner[CleanRecipe]
