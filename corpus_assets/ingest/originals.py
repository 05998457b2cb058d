"""Records read again, by the place where ingest found them. `catalog raw` comes here by an entry
point: a format that ingests is a format whose originals can be shown."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from catalog.db import FileRow
from catalog.errors import SourceUnavailable
from corpus_assets.core.errors import CorpusError, SourceError
from corpus_assets.ingest.fetch import Fetcher, FetchSettings, is_remote, open_remote
from corpus_assets.ingest.formats import Original, Place, format_of
from corpus_assets.ingest.records import SourceFile, open_source

SETTINGS = FetchSettings(
    attempts=6,
    first_wait_s=0.5,
    max_wait_s=20.0,
    range_bytes=1 << 20,
    allow_http=True,  # it was allowed, or the file had not been pinned
)
"""Somebody waits for one record."""


def read_original(kind: str, file: FileRow, record: Mapping[str, Any]) -> Original:
    """Read a record of the lineage table `records` again, from a file of a source of format
    `kind`; `SourceUnavailable` where that cannot be, or the format is unknown."""
    place = Place(record["file"], record["offset"], record["length"], record["url"])
    part = SourceFile(file.name, file.uri, file.bytes, file.digest)
    try:
        return format_of(kind).read_again(part, place, open_again)
    except CorpusError as error:
        raise SourceUnavailable(str(error)) from error


@contextmanager
def open_again(file: SourceFile, sleep: Callable[[float], None] = time.sleep) -> Iterator[BinaryIO]:
    """Open a pinned file, refused when it is not the pinned one.

    Of a local file the size is compared; its SHA-256 would cost a pass over all of it.
    """
    if is_remote(file.uri):
        with Fetcher(SETTINGS, None, file.uri, sleep=sleep) as fetcher:
            yield cast(BinaryIO, open_remote(fetcher, file))
        return
    with open_source(file.uri) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size != file.size:
            raise SourceError(
                f"{file.uri} has {size} bytes, ingested were {file.size}: it has changed since; "
                "restore it"
            )
        yield stream
