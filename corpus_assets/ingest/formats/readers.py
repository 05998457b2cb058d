"""One way in for every format: from a pinned part to its records."""

from collections.abc import Iterator

from corpus_assets.ingest.fetch.opening import Opener, open_pinned
from corpus_assets.ingest.formats.code import read_code_tree
from corpus_assets.ingest.formats.jsonl import read_jsonl
from corpus_assets.ingest.formats.parquet import read_parquet
from corpus_assets.ingest.formats.text import read_text_folder
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.formats.wet import read_wet
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.source import SourceSpec


def read_records(
    spec: SourceSpec, part: SourceFile, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[RawRecord]:
    """All records of a part, in its order. A file that is not what was pinned is refused."""
    if spec.format == "text":
        yield from read_text_folder(part, spec, max_bytes, open_file)
        return
    if spec.format == "code":
        yield from read_code_tree(part, spec, max_bytes, open_file)
        return
    with open_file(part) as stream:
        if spec.format == "warc":
            yield from read_warc(stream, part.name, max_bytes)
        elif spec.format == "wet":
            yield from read_wet(stream, part.name, max_bytes)
        elif spec.format == "jsonl":
            yield from read_jsonl(stream, part.name, spec, max_bytes)
        else:
            yield from read_parquet(stream, part.name, spec)
