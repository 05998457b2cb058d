"""What a source format is: its name in recipes, the files it takes, and how they are read.

To add one, write a file here that declares a `FileFormat` or a `FolderFormat`;
`formats/__init__.py` finds it. It says how records are read, all of them for ingest and one again
for `catalog raw`. Readers decide nothing: what they cannot read they hand out with `damage`, and
gates do the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, ClassVar, NamedTuple

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.fetch import Opener, open_pinned, shown_url
from corpus_assets.ingest.formats.notebook import is_notebook, notebook_text
from corpus_assets.ingest.records import (
    RawRecord,
    Refusal,
    SourceFile,
    SourceMember,
    local_path,
)
from corpus_assets.ingest.source import SourceSpec

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Place(NamedTuple):
    """Where a record is, as its reader found it: see `RawRecord`."""

    file: str
    offset: int
    length: int
    url: str | None = None

    def missing(self, part: SourceFile) -> SourceError:
        """Return the error for a file without the record."""
        return SourceError(
            f"{shown_url(part.uri)} does not hold the record of this document at place {self.offset}: "
            "it has changed since it was ingested; restore it"
        )


class Original(NamedTuple):
    """A record as its file has it, and in the open."""

    stored: bytes
    data: bytes


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

    @abstractmethod
    def read_again(self, part: SourceFile, place: Place, open_file: Opener) -> Original:
        """Return one record of a part; SourceError where it is not there any more."""


@dataclass(frozen=True)
class FileFormat(Format):
    """A format whose files hold many records; each file is a part."""

    records: Callable[[BinaryIO, str, SourceSpec, int], Iterator[RawRecord]]
    """Reads (seekable stream, name of the file, source, most bytes of a text or payload)."""
    original: Callable[[BinaryIO, SourceFile, Place], Original]
    """Reads one record again from (seekable stream, file, place); `byte_range` where offset and
    length of its records are bytes of the file."""

    def read(
        self, part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
    ) -> Iterator[RawRecord]:
        with open_file(part) as stream:
            yield from self.records(stream, part.name, spec, max_bytes)

    def read_again(self, part: SourceFile, place: Place, open_file: Opener) -> Original:
        with open_file(part) as stream:
            return self.original(stream, part, place)


def byte_range(stream: BinaryIO, part: SourceFile, place: Place) -> Original:
    """Read a record that is a range of bytes of its file."""
    stream.seek(place.offset)
    data = stream.read(place.length)
    if len(data) != place.length:
        raise place.missing(part)
    return Original(data, data)


class FileContent(NamedTuple):
    """A member of a part and its text, or why it has none."""

    member: SourceMember
    number: int  # in its part, from 0
    text: str
    damage: str | None = None
    detail: str | None = None
    raw_text: str | None = None  # where the text is made from it

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

    def read_again(self, part: SourceFile, place: Place, open_file: Opener) -> Original:
        folder = local_path(part.uri).resolve()
        if not (folder / place.file).resolve().is_relative_to(folder):
            raise SourceError(f"{place.file} leads out of {part.uri}; it is not read")
        with open_file(_member(part, place.file, place.length, "")) as stream:
            data = stream.read()
        return Original(data, data)


def _read_members(part: SourceFile, max_bytes: int, open_file: Opener) -> Iterator[FileContent]:
    """Yield the files of a part as text, in their pinned order."""
    for number, member in enumerate(part.members):
        if member.size > max_bytes:
            yield FileContent(member, number, "", "too_large", str(member.size))
            continue
        with open_file(_member(part, member.name, member.size, member.sha256)) as stream:
            data = stream.read()
        if b"\0" in data and not data.startswith(UTF16_MARKS):
            yield FileContent(member, number, "", damage="not_text", detail="nul_bytes")
            continue
        text, charset = decode(data)
        if text is None:
            yield FileContent(member, number, "", damage="not_text", detail=charset)
        elif is_notebook(member.name, text):
            yield _read_notebook(FileContent(member, number, text))
        else:
            yield FileContent(member, number, text)


def _read_notebook(content: FileContent) -> FileContent:
    found = notebook_text(content.text)
    if isinstance(found, Refusal):
        return content._replace(text="", damage=found.reason, detail=found.detail)
    return content._replace(text=found, raw_text=content.text)


def _member(part: SourceFile, name: str, size: int, sha256: str) -> SourceFile:
    return SourceFile(name, f"{part.uri}/{name}", size, sha256)
