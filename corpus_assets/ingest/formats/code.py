"""Trees of source files: each file is a record with its path, language and licence.

A file's licence is, in this order: its own `SPDX-License-Identifier` line; that of the nearest
licence file above it, found when the snapshot was pinned; that of the source.
"""

from collections.abc import Iterator

from corpus_assets.ingest.fetch.opening import Opener, open_pinned
from corpus_assets.ingest.formats.text import read_members
from corpus_assets.ingest.gates.code import language_of
from corpus_assets.ingest.gates.licence import text_licence
from corpus_assets.ingest.records import RawRecord, SourceFile
from corpus_assets.ingest.source import SourceSpec


def read_code_tree(
    part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[RawRecord]:
    """All files of a part of a `code` source; gates decide which are source code."""
    for content in read_members(part, max_bytes, open_file):
        if content.damage is not None:
            yield content.refused()
            continue
        member, number, text, _, _ = content
        yield RawRecord(
            url=None,
            key=member.name,
            offset=number,
            length=member.size,
            text=text,
            file=member.name,
            path=member.name,
            licence=text_licence(text) or member.licence,
            language=language_of(member.name, text),
            generator=spec.generator,
        )
