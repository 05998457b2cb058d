"""Training and measuring the block extractor: truth sets, made-up pages, models."""

from corpus_assets.ingest.extraction.pages import make_pages, read_texts
from corpus_assets.ingest.extraction.training import (
    Measure,
    cross_validate,
    evaluate,
    measures,
    train,
)
from corpus_assets.ingest.extraction.truth import Truth, f1_of, read_documentation, read_truth

__all__ = [
    "Measure",
    "Truth",
    "cross_validate",
    "evaluate",
    "f1_of",
    "make_pages",
    "measures",
    "read_documentation",
    "read_texts",
    "read_truth",
    "train",
]
