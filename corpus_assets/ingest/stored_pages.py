"""Pages of WARC files, to train and measure extractors on."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from corpus_assets.ingest.extract import read_page
from corpus_assets.ingest.formats import read_warc
from pageblocks import PageText
from pageblocks.training import StoredPage

MAX_PAGE_BYTES = 20_000_000


def read_stored_pages(warcs: Iterable[Path]) -> Iterator[StoredPage]:
    """Yield the pages of WARC files under their record ids."""
    for warc in warcs:
        with warc.open("rb") as stream:
            for record in read_warc(stream, warc.name, MAX_PAGE_BYTES):
                if record.http_status is None or not record.payload:
                    continue
                page = read_page(record.payload, record.content_type or "")
                if isinstance(page, PageText):
                    yield StoredPage((record.key or "").strip("<>"), page.utf8, record.url)
