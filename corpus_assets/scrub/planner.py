"""What scrubbing reads of a recipe."""

from typing import Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.scrub.settings import ScrubSettings, TextHashList


class ScrubbedText(Protocol):
    @property
    def scrub(self) -> ScrubSettings: ...
    @property
    def text_hashes(self) -> tuple[TextHashList, ...]: ...


class ScrubRecipe(AnyRecipe, Protocol):
    @property
    def clean_text(self) -> ScrubbedText: ...


ScrubPlanner: TypeAlias = Planner[ScrubRecipe]
