"""From the bytes of a page to its text: charset, metadata, extraction in a process apart."""

from corpus_assets.ingest.extract.charset import PageText, decode, normalise, read_page
from corpus_assets.ingest.extract.extractor import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.extract.page_metadata import page_date, page_language, page_title
from corpus_assets.ingest.extract.page_worker import PageResult

__all__ = [
    "ExtractionSettings",
    "Extractor",
    "PageResult",
    "PageText",
    "decode",
    "extractor_version",
    "normalise",
    "page_date",
    "page_language",
    "page_title",
    "read_page",
]
