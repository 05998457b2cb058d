"""Records of source files, whatever their format."""

from collections.abc import Iterator

from corpus_assets.ingest.fetch import Opener, open_pinned
from corpus_assets.ingest.formats.found import format_of
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.source import SourceSpec


def read_records(
    spec: SourceSpec, part: SourceFile, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[RawRecord]:
    """Read all records of a part, in its order. A file that is not what was pinned is refused."""
    return format_of(spec.format).read(part, spec, max_bytes, open_file)
