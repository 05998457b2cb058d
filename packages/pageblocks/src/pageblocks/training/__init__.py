"""Training and measuring models: truth sets, made-up pages, other extractors as teachers."""

from pageblocks.training.files import PER_HOST, FreePages, train_model
from pageblocks.training.labels import LabelLimits, label_pages
from pageblocks.training.pages import make_pages, read_texts
from pageblocks.training.training import TREES, Measure, cross_validate, evaluate, measures, train
from pageblocks.training.truth import StoredPage, Truth, read_documentation, read_pages, read_truth

__all__ = [
    "PER_HOST",
    "TREES",
    "FreePages",
    "LabelLimits",
    "Measure",
    "StoredPage",
    "Truth",
    "cross_validate",
    "evaluate",
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
