"""The extractors, and the process they run in. It starts often, so this package imports nothing."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.extractors.engines import Recalls, engine_version, make_engine
    from corpus_assets.ingest.extractors.page_child import (
        ABSENT,
        ANSWER,
        FAILED,
        MEMORY,
        SIZE,
        TEXT,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ABSENT",
    "ANSWER",
    "FAILED",
    "MEMORY",
    "SIZE",
    "TEXT",
    "Recalls",
    "engine_version",
    "make_engine",
]
