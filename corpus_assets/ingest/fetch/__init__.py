"""Source files wherever they lie: opened as pinned, fetched patiently, at one pace a server."""

from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.opening import (
    Opener,
    Reach,
    fetcher_for,
    forget_cached,
    open_pinned,
)
from corpus_assets.ingest.fetch.remote_file import open_remote, pin_file
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.ingest.fetch.transport import Stat, host_of, is_remote, shown_url

__all__ = [
    "FetchSettings",
    "Fetcher",
    "Opener",
    "Reach",
    "Stat",
    "fetcher_for",
    "forget_cached",
    "host_of",
    "is_remote",
    "open_pinned",
    "open_remote",
    "pin_file",
    "shown_url",
]
