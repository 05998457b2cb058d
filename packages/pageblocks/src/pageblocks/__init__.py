"""HTML to blocks, main text, Markdown and page type, by a small model that knows no language.

`extract(html)` gives a `Page`. Training and measuring models is in `pageblocks.training`.
"""

from pageblocks.charset import Decoded, PageText, decode, normalise, read_page
from pageblocks.declarations import page_description, page_language, page_title
from pageblocks.declared import Declared, declared
from pageblocks.declared_text import BODY_TYPES
from pageblocks.errors import ModelError, NotText, PageblocksError, TruthError
from pageblocks.kernels.markup import markup_extent
from pageblocks.kernels.rough_text import rough_text
from pageblocks.lines import LINE_KINDS, Line
from pageblocks.model import model_digest
from pageblocks.page import VERSION, Block, Extractor, Page, extract
from pageblocks.page_types import PAGE_TYPES_VERSION, PageType, page_type
from pageblocks.recall import Recall, declared_recall

__all__ = [
    "BODY_TYPES",
    "LINE_KINDS",
    "PAGE_TYPES_VERSION",
    "VERSION",
    "Block",
    "Declared",
    "Decoded",
    "Extractor",
    "Line",
    "ModelError",
    "NotText",
    "Page",
    "PageText",
    "PageType",
    "PageblocksError",
    "Recall",
    "TruthError",
    "declared",
    "declared_recall",
    "decode",
    "extract",
    "markup_extent",
    "model_digest",
    "normalise",
    "page_description",
    "page_language",
    "page_title",
    "page_type",
    "read_page",
    "rough_text",
    "training",
]
