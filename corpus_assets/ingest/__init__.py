"""From source files to documents: listing, reading, gates, extraction, purging."""

__all__ = [
    "crawl",
    "document_names",
    "documents",
    "entry",
    "extractors",
    "fetch",
    "gates",
    "list_stages",
    "listing",
    "locations",
    "originals",
    "purge",
    "site_pins",
    "snapshot_listing",
    "snapshots",
    "stage",
    "stored_pages",
    "suppressions",
]
