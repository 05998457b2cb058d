"""Crawls in Common Crawl's layout: their settings, their files, and their URL index."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.crawl.index import read_indexed
    from corpus_assets.ingest.crawl.index_pins import pin_indexes
    from corpus_assets.ingest.crawl.layout import CrawlPlace, OnProgress, choose_files, robots_path
    from corpus_assets.ingest.crawl.settings import CrawlSettings, IndexSettings
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CrawlPlace",
    "CrawlSettings",
    "IndexSettings",
    "OnProgress",
    "choose_files",
    "pin_indexes",
    "read_indexed",
    "robots_path",
]
