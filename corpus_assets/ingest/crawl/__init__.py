"""Crawls in Common Crawl's layout: their settings, their files, and their URL index."""

from corpus_assets.ingest.crawl.index import read_indexed
from corpus_assets.ingest.crawl.index_pins import pin_indexes
from corpus_assets.ingest.crawl.layout import CrawlPlace, OnProgress, choose_files, robots_path
from corpus_assets.ingest.crawl.settings import CrawlSettings, IndexSettings

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
