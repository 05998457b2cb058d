"""Source files wherever they lie: opened as pinned, fetched patiently, at one pace a server."""

from corpus_assets.ingest.fetch.fetcher import Fetcher
from corpus_assets.ingest.fetch.opening import (
    Opener,
    Reach,
    download,
    forget_cached,
    open_pinned,
    open_remote,
    pin_file,
)
from corpus_assets.ingest.fetch.transport import FetchSettings, Stat, host_of, is_remote, shown

__all__ = [
    "FetchSettings",
    "Fetcher",
    "Opener",
    "Reach",
    "Stat",
    "download",
    "forget_cached",
    "host_of",
    "is_remote",
    "open_pinned",
    "open_remote",
    "pin_file",
    "shown",
]
