"""Trees of source files: each file is a record with its path, language and licence.

A file's licence is, in this order: its own `SPDX-License-Identifier` line; that of the nearest
licence file above it, found when the snapshot was pinned; that of the source.
"""

from corpus_assets.ingest.formats.base import FileContent, FolderFormat
from corpus_assets.ingest.gates import language_of, text_licence
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.source import SourceSpec


def code_record(content: FileContent, spec: SourceSpec) -> RawRecord:
    """Make the record of a file of a `code` source; gates decide whether it is source code."""
    member, number, text = content.member, content.number, content.text
    return RawRecord(
        url=None,
        key=member.name,
        offset=number,
        length=member.size,
        text=text,
        raw_text=content.raw_text,
        file=member.name,
        path=member.name,
        licence=text_licence(text) or member.licence,
        language=language_of(member.name, text),
        generator=spec.generator,
    )


CODE = FolderFormat("code", ("",), code_record, is_code=True)
