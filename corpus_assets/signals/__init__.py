"""Signals: what can be said of a text, one family a file. Name new families here."""

from corpus_assets.signals.base import SignalFamily, TextBatch
from corpus_assets.signals.fineweb import FineWeb
from corpus_assets.signals.gopher import GopherQuality
from corpus_assets.signals.language import Language
from corpus_assets.signals.quality import Quality
from corpus_assets.signals.repetition import Repetition

FAMILIES: dict[str, type[SignalFamily]] = {
    "gopher_quality": GopherQuality,
    "repetition": Repetition,
    "fineweb": FineWeb,
    "language": Language,
    "quality": Quality,
}

__all__ = ["FAMILIES", "SignalFamily", "TextBatch"]
