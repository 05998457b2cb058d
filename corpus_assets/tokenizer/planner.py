"""What the stages of the tokenizer read of a recipe."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from corpus_assets.core.planner import Planner, Source
from corpus_assets.scrub import ScrubRecipe
from corpus_assets.tokenizer.settings import TokenizerEntry


class Mixture(Protocol):
    @property
    def domain_shares(self) -> Mapping[str, float]: ...


class TokenizerRecipe(ScrubRecipe, Protocol):
    @property
    def tokenizer(self) -> TokenizerEntry: ...
    @property
    def mixture(self) -> Mixture: ...
    @property
    def sources(self) -> Sequence[Source]: ...


TokenizerPlanner: TypeAlias = Planner[TokenizerRecipe]
