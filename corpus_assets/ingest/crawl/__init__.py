"""Crawls in Common Crawl's layout: their settings, their files, and their URL index."""

from corpus_assets.ingest.crawl.index import pin_indexes, read_indexed
from corpus_assets.ingest.crawl.layout import (
    CrawlPlace,
    CrawlSettings,
    IndexSettings,
    OnProgress,
    Take,
    choose,
    robots_path,
)

__all__ = [
    "CrawlPlace",
    "CrawlSettings",
    "IndexSettings",
    "OnProgress",
    "Take",
    "choose",
    "pin_indexes",
    "read_indexed",
    "robots_path",
]
