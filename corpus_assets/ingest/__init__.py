"""From source files to documents: listing, reading, gates, extraction, purging."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.crawl import CrawlPlace, CrawlSettings, choose_files
    from corpus_assets.ingest.declared_recall import recall_message, snapshot_recall
    from corpus_assets.ingest.document_names import text_id_of
    from corpus_assets.ingest.documents import SUPPRESSED
    from corpus_assets.ingest.entry import SourceEntry
    from corpus_assets.ingest.extractors import make_engine
    from corpus_assets.ingest.fetch import Fetcher, Stat, fetcher_for, is_remote, shown_url
    from corpus_assets.ingest.folder_sources import FolderSource, LeftOut, find_sources
    from corpus_assets.ingest.gates import Categories
    from corpus_assets.ingest.list_stages import (
        CATEGORY_INDEX,
        ROBOTS_INDEX,
        SITE_RULES,
        category_files,
        is_empty_list,
        pins_of_sites,
    )
    from corpus_assets.ingest.listing import LISTING_VERSION
    from corpus_assets.ingest.locations import Locations, is_demo
    from corpus_assets.ingest.originals import read_original
    from corpus_assets.ingest.purge import DOCUMENT_KEYS, RECORD_KEYS, covered_keys, covered_records
    from corpus_assets.ingest.settings import IngestSettings
    from corpus_assets.ingest.site_pins import with_site_files
    from corpus_assets.ingest.snapshot_listing import (
        OpenPlace,
        is_as_pinned,
        list_snapshot_files,
        refuse_absent,
    )
    from corpus_assets.ingest.snapshots import (
        SnapshotFiles,
        forget_snapshot_files,
        listed_as,
        load_snapshot_files,
        save_snapshot_files,
    )
    from corpus_assets.ingest.stage import (
        DOCUMENTS,
        EXTRACTION_MODEL,
        extraction_model,
        remember_parts,
    )
    from corpus_assets.ingest.stored_pages import read_stored_pages
    from corpus_assets.ingest.suppressions import Suppressions
    from corpus_assets.ingest.url_word_lists import url_word_files
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CATEGORY_INDEX",
    "DOCUMENTS",
    "DOCUMENT_KEYS",
    "EXTRACTION_MODEL",
    "LISTING_VERSION",
    "RECORD_KEYS",
    "ROBOTS_INDEX",
    "SITE_RULES",
    "SUPPRESSED",
    "Categories",
    "CrawlPlace",
    "CrawlSettings",
    "Fetcher",
    "FolderSource",
    "IngestSettings",
    "LeftOut",
    "Locations",
    "OpenPlace",
    "SnapshotFiles",
    "SourceEntry",
    "Stat",
    "Suppressions",
    "category_files",
    "choose_files",
    "covered_keys",
    "covered_records",
    "extraction_model",
    "fetcher_for",
    "find_sources",
    "forget_snapshot_files",
    "is_as_pinned",
    "is_demo",
    "is_empty_list",
    "is_remote",
    "list_snapshot_files",
    "listed_as",
    "load_snapshot_files",
    "make_engine",
    "pins_of_sites",
    "read_original",
    "read_stored_pages",
    "recall_message",
    "refuse_absent",
    "remember_parts",
    "save_snapshot_files",
    "shown_url",
    "snapshot_recall",
    "text_id_of",
    "url_word_files",
    "with_site_files",
]
