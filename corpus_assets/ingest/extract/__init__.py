"""From the bytes of a page to its text: charset, date, extraction in a process apart."""

from corpus_assets.ingest.extract.charset import decode, read_page
from corpus_assets.ingest.extract.extractor import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.extract.page_date import find_page_date
from corpus_assets.ingest.extract.page_worker import PageResult

__all__ = [
    "ExtractionSettings",
    "Extractor",
    "PageResult",
    "decode",
    "extractor_version",
    "find_page_date",
    "read_page",
]
