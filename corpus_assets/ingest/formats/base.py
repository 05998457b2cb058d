"""What a source format is: its name in recipes, the files it takes, and how they are read.

To add one, write a file here that declares a `FileFormat` or a `FolderFormat`;
`formats/__init__.py` finds it. Readers decide nothing: what they cannot read they hand out with
`damage`, and gates do the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, ClassVar, NamedTuple

from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.fetch import Opener, open_pinned
from corpus_assets.ingest.records import RawRecord, SourceFile, SourceMember
from corpus_assets.ingest.source import SourceSpec

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Format(ABC):
    """A source format; `name` is its name in recipes."""

    name: str
    suffixes: tuple[str, ...]  # of the files that are taken from a folder, in small letters
    is_folder: ClassVar[bool] = False  # a file is one record, so a part holds many files
    is_web_archive: bool = field(default=False, kw_only=True)  # of pages, with headers and sites
    is_code: bool = field(default=False, kw_only=True)  # gates for source files are always on

    @abstractmethod
    def read(
        self, part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
    ) -> Iterator[RawRecord]:
        """Yield all records of a part, in its order. `open_file` refuses changed files."""


@dataclass(frozen=True)
class FileFormat(Format):
    """A format whose files hold many records; each file is a part."""

    records: Callable[[BinaryIO, str, SourceSpec, int], Iterator[RawRecord]]
    """Reads (seekable stream, name of the file, source, most bytes of a text or payload)."""

    def read(
        self, part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
    ) -> Iterator[RawRecord]:
        with open_file(part) as stream:
            yield from self.records(stream, part.name, spec, max_bytes)


class FileContent(NamedTuple):
    """A member of a part and its text, or why it has none."""

    member: SourceMember
    number: int  # in its part, from 0
    text: str
    damage: str | None = None
    detail: str | None = None

    def refused(self) -> RawRecord:
        """Return the record of a file that has no text."""
        name = self.member.name
        return RawRecord(
            url=None,
            key=name,
            offset=self.number,
            length=self.member.size,
            file=name,
            path=name,
            payload_digest=f"sha256:{self.member.sha256}",
            damage=self.damage,
            detail=self.detail,
        )


@dataclass(frozen=True)
class FolderFormat(Format):
    """A format whose files are one record each, named by its path; many make a part.

    A file is read whole, so memory is the largest allowed file.
    """

    record: Callable[[FileContent, SourceSpec], RawRecord]  # of a file that is text
    is_folder: ClassVar[bool] = True

    def read(
        self, part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
    ) -> Iterator[RawRecord]:
        for content in _read_members(part, max_bytes, open_file):
            yield content.refused() if content.damage is not None else self.record(content, spec)


def _read_members(part: SourceFile, max_bytes: int, open_file: Opener) -> Iterator[FileContent]:
    """Yield the files of a part as text, in their pinned order."""
    for number, member in enumerate(part.members):
        uri = f"{part.uri}/{member.name}"
        if member.size > max_bytes:
            yield FileContent(member, number, "", "too_large", str(member.size))
            continue
        with open_file(SourceFile(member.name, uri, member.size, member.sha256)) as stream:
            data = stream.read()
        if b"\0" in data and not data.startswith(UTF16_MARKS):
            yield FileContent(member, number, "", damage="not_text", detail="nul_bytes")
            continue
        text, charset = decode(data)
        if text is None:
            yield FileContent(member, number, "", damage="not_text", detail=charset)
        else:
            yield FileContent(member, number, text)
