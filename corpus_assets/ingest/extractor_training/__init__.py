"""Training and measuring the block extractor: truth sets, made-up pages, models."""

from corpus_assets.ingest.extractor_training.labels import LabelLimits, label_pages
from corpus_assets.ingest.extractor_training.pages import make_pages, read_texts
from corpus_assets.ingest.extractor_training.training import (
    cross_validate,
    evaluate,
    measures,
    train,
)
from corpus_assets.ingest.extractor_training.truth import Truth, read_documentation, read_truth

__all__ = [
    "LabelLimits",
    "Truth",
    "cross_validate",
    "evaluate",
    "label_pages",
    "make_pages",
    "measures",
    "read_documentation",
    "read_texts",
    "read_truth",
    "train",
]
