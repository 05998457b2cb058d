"""From the bytes of a page to its text: charset, date, extraction in a process apart."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.extract.charset import decode, read_page
    from corpus_assets.ingest.extract.extractor import Extractor, extractor_version
    from corpus_assets.ingest.extract.page_date import find_page_date
    from corpus_assets.ingest.extract.page_worker import PageResult
    from corpus_assets.ingest.extract.settings import ExtractionSettings
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ExtractionSettings",
    "Extractor",
    "PageResult",
    "decode",
    "extractor_version",
    "find_page_date",
    "read_page",
]
