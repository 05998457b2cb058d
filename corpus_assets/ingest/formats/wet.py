"""WET files of Common Crawl: `conversion` records, the text of a page as the crawl extracted it.

The text is taken as it is. Headers and markup of the page are not in there, so refusals that
stand in them cannot be seen: where they matter, read the WARC files.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from corpus_assets.ingest.formats.archived_record import archived_at
from corpus_assets.ingest.formats.base import FileFormat
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.records import RawRecord, damaged


def read_wet(stream: BinaryIO, name: str, max_payload_bytes: int) -> Iterator[RawRecord]:
    """All conversion records of a seekable file; any other document record is damage."""
    for record in read_warc(stream, name, max_payload_bytes):
        if record.damage is None and record.refers_to is None and record.http_status is not None:
            yield damaged(name, record.offset, record.length, "not_a_conversion")
        else:
            yield replace(record, content_type="text/plain; charset=utf-8")


WET = FileFormat(
    "wet",
    (".wet", ".wet.gz"),
    lambda stream, name, _spec, max_bytes: read_wet(stream, name, max_bytes),
    archived_at,
    is_web_archive=True,
)
