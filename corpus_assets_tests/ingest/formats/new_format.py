"""Poems: a file of stanzas with blank lines between them, each a record. A whole source format."""

from collections.abc import Iterator
from typing import BinaryIO

from corpus_assets.ingest.formats.base import FileFormat, byte_range
from corpus_assets.ingest.records import RawRecord, damaged
from corpus_assets.ingest.source import SourceSpec


def read_stanzas(
    stream: BinaryIO, name: str, spec: SourceSpec, max_bytes: int
) -> Iterator[RawRecord]:
    """Yield a record for each stanza, at its first byte."""
    offset = 0
    for number, stanza in enumerate(stream.read().split(b"\n\n")):
        place = {"offset": offset, "length": len(stanza)}
        offset += len(stanza) + 2
        try:
            text = stanza.decode()
        except UnicodeDecodeError:
            yield damaged(name, **place, detail="not_utf8")
            continue
        yield RawRecord(url=None, key=f"{name}#{number}", **place, text=text)


POEMS = FileFormat("poems", (".poem",), read_stanzas, byte_range)
