"""The columnar URL index of a crawl's files, taken out and kept once, when a snapshot is pinned.

One small Parquet file a part, `indexes/SHA256.parquet` in the store: places, addresses and what
the index says of each capture. It is an input of the part's documents, by its hash.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, cast

from corpus_assets.core.errors import SourceError
from corpus_assets.core.store import Output, Store, sha256_hex
from corpus_assets.core.task import parquet_bytes
from corpus_assets.ingest.crawl.index import index_rows
from corpus_assets.ingest.crawl.layout import CrawlPlace
from corpus_assets.ingest.crawl.settings import IndexSettings
from corpus_assets.ingest.fetch import is_remote, open_remote
from corpus_assets.ingest.listing import list_names
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.records import SourceFile, open_source
from corpus_assets.ingest.remote_listing import list_remote

FOOTER_BYTES = 1 << 16  # asked for at once; column chunks come in one request each
TABLE = "cc-index/table/cc-main/warc/"
SUBSET = "/subset=warc/"


def pin_indexes(
    place: CrawlPlace,
    settings: IndexSettings,
    crawl: str,
    files: list[SourceFile],
    locations: Locations,
    store: Store,
) -> tuple[Output, ...]:
    """Return the index rows of each file, in the order of files."""
    found = index_rows(_streams(place, settings, crawl, locations), [file.name for file in files])
    return tuple(_keep(store, parquet_bytes(found[f.name]), found[f.name].num_rows) for f in files)


def _keep(store: Store, data: bytes, rows: int) -> Output:
    sha256 = sha256_hex(data)
    path = f"indexes/{sha256}.parquet"
    if not store.exists(path):
        store.write(path, data)
    return Output(path, sha256, len(data), rows)


def _streams(
    place: CrawlPlace, settings: IndexSettings, crawl: str, locations: Locations
) -> Iterator[tuple[str, BinaryIO]]:
    """Yield the index's Parquet files, one open at a time."""
    for file in _index_files(place, settings, crawl, locations):
        stream = (
            cast(BinaryIO, open_remote(place.fetcher, file, FOOTER_BYTES))
            if is_remote(file.uri)
            else open_source(file.uri)
        )
        with closing(stream):
            yield file.name, stream


def _index_files(
    place: CrawlPlace, settings: IndexSettings, crawl: str, locations: Locations
) -> list[SourceFile]:
    if settings.location is None:
        paths = place.paths(crawl, "cc-index-table", below=f"{TABLE}crawl={crawl}/")
        return place.pin([path for path in paths if SUBSET in path])
    location = locations.resolve(settings.location)
    if is_remote(location):
        return list_remote(place.fetcher, location, "parquet")
    names = list_names(location, "parquet")
    if not names:
        raise SourceError(f"crawl.index.location: no Parquet file at {settings.location}")
    root = Path(location)
    base = root if root.is_dir() else root.parent
    return [SourceFile(name, str(base / name), size, "") for name, size in names]
