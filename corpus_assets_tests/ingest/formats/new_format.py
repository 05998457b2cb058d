"""Poems: a file of stanzas with blank lines between them, each a record. A whole source format."""

from collections.abc import Iterator
from typing import BinaryIO

from corpus_assets.ingest.formats import FileFormat
from corpus_assets.ingest.records import RawRecord, damaged
from corpus_assets.ingest.source import SourceSpec


def read_stanzas(
    stream: BinaryIO, name: str, spec: SourceSpec, max_bytes: int
) -> Iterator[RawRecord]:
    """Yield a record for each stanza; its offset is its number, from 0."""
    for number, stanza in enumerate(stream.read().split(b"\n\n")):
        try:
            text = stanza.decode()
        except UnicodeDecodeError:
            yield damaged(name, number, len(stanza), "not_utf8")
            continue
        yield RawRecord(
            url=None, key=f"{name}#{number}", offset=number, length=len(stanza), text=text
        )


POEMS = FileFormat("poems", (".poem",), read_stanzas)
