"""Training and measuring models: truth sets, made-up pages, other extractors as teachers."""

from pageblocks.training.crawl_pages import CrawlPages, draw_pages, known_f1
from pageblocks.training.declared_pages import DeclaredPage, declared_page
from pageblocks.training.files import PER_HOST, FreePages, train_model
from pageblocks.training.labels import LabelLimits, label_pages
from pageblocks.training.pages import make_pages, read_texts
from pageblocks.training.training import (
    TREES,
    Measure,
    TrainingPage,
    cross_validate,
    evaluate,
    measures,
    train,
)
from pageblocks.training.truth import StoredPage, Truth, read_documentation, read_pages, read_truth

__all__ = [
    "PER_HOST",
    "TREES",
    "CrawlPages",
    "DeclaredPage",
    "FreePages",
    "LabelLimits",
    "Measure",
    "StoredPage",
    "TrainingPage",
    "Truth",
    "cross_validate",
    "declared_page",
    "draw_pages",
    "evaluate",
    "known_f1",
    "label_pages",
    "make_pages",
    "measures",
    "read_documentation",
    "read_pages",
    "read_texts",
    "read_truth",
    "train",
    "train_model",
]
