"""What the stages of shards read of a recipe."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.shards.settings import FillInTheMiddle, PackSettings


class Shards(Protocol):
    @property
    def pack(self) -> PackSettings: ...
    @property
    def tokens_per_shard(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def repositories(self) -> Mapping[str, int]: ...
    @property
    def fill_in_the_middle(self) -> FillInTheMiddle | None: ...


class Tokenizer(Protocol):
    def special_names(self) -> dict[str, str]: ...


class ShardsRecipe(AnyRecipe, Protocol):
    @property
    def shards(self) -> Shards: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def has_labels(self) -> bool: ...


ShardsPlanner: TypeAlias = Planner[ShardsRecipe]
