"""From source files to documents: listing, reading, gates, extraction, purging."""

__all__ = [
    "crawl",
    "documents",
    "entry",
    "extractor_training",
    "extractors",
    "fetch",
    "gates",
    "list_stages",
    "listing",
    "locations",
    "originals",
    "purge",
    "snapshots",
    "stage",
    "suppressions",
]
