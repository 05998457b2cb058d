"""Where tasks run: processes of this machine, or a Ray cluster."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.graph.engine.base import Cleared, Engine
    from corpus_assets.graph.engine.choice import EngineChoice
    from corpus_assets.graph.engine.ray import join_ray
    from corpus_assets.graph.engine.travel import code_digest
    from corpus_assets.graph.engine.tries import FailedTask, PartsFailed
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "Cleared",
    "Engine",
    "EngineChoice",
    "FailedTask",
    "PartsFailed",
    "code_digest",
    "join_ray",
]
