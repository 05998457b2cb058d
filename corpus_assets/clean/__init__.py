"""Cleaning: boilerplate, repeated spans and personal data out of kept texts, on record."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.clean.line_stages import BOILERPLATE, COMMON_LINES, LINE_KEYS
    from corpus_assets.clean.losses import (
        SHOWN,
        count_cut_lines,
        losses_message,
        snapshot_losses,
    )
    from corpus_assets.clean.sentence_stage import SENTENCE_SCORES
    from corpus_assets.clean.settings import CleanTextSettings
    from corpus_assets.clean.span_stages import COMMON_PRINTS, REPEATED_SPANS
    from corpus_assets.clean.stage import CLEAN_TEXT, CUT_SENTENCES
    from corpus_assets.clean.yields import (
        YieldLoss,
        snapshot_yields,
        summed_yields,
        yield_losses,
        yield_losses_message,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "BOILERPLATE",
    "CLEAN_TEXT",
    "COMMON_LINES",
    "COMMON_PRINTS",
    "CUT_SENTENCES",
    "LINE_KEYS",
    "REPEATED_SPANS",
    "SENTENCE_SCORES",
    "SHOWN",
    "CleanTextSettings",
    "YieldLoss",
    "count_cut_lines",
    "losses_message",
    "snapshot_losses",
    "snapshot_yields",
    "summed_yields",
    "yield_losses",
    "yield_losses_message",
]
