"""From source files to documents: listing, reading, gates, extraction, purging."""

__all__ = [
    "crawl",
    "documents",
    "entry",
    "extraction",
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
