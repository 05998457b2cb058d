"""Page workers that wait for the next page."""

from corpus_assets.ingest.extract.page_worker import _IDLE


def close_idle_workers() -> None:
    """End the children that nobody is using."""
    for idle in _IDLE.values():
        while idle:
            idle.pop().close()
