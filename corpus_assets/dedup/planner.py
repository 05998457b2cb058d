"""What the stages of deduplication read of a recipe."""

from typing import Protocol, TypeAlias

from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings


class Selection(Protocol):
    """The rules over signals, as far as cutoffs ask for distinct documents."""

    @property
    def rules_before_distinct(self) -> tuple[object, ...] | None: ...


class DedupRecipe(AnyRecipe, Protocol):
    @property
    def signatures(self) -> SignatureSettings: ...
    @property
    def clusters(self) -> ClusterSettings: ...
    @property
    def selection(self) -> Selection: ...


DedupPlanner: TypeAlias = Planner[DedupRecipe]
