"""Folders of small files: each is one record, named by its path, and many make a part.

A file is read whole, so memory is the largest allowed file. `text` sources take plain text and Markdown as they stand: a Markdown file's
title is its first heading, and its front matter (between `---` lines at the top) gives the fields
that the source maps: title, licence, language, key, url, derived_from, generator.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from corpus_assets.ingest.extract.charset import decode
from corpus_assets.ingest.fetch.opening import Opener, open_pinned
from corpus_assets.ingest.formats.rows import key, licence, string, strings
from corpus_assets.ingest.records import RawRecord, SourceFile, SourceMember
from corpus_assets.ingest.source import SourceSpec

MARKDOWN = (".md", ".markdown")
FRONT_MATTER_CHARS = 8192
TITLE_SCAN_CHARS = 16384
MAX_TITLE_CHARS = 500
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*")


class FileContent(NamedTuple):
    """A member of a part and its text, or why it has none."""

    member: SourceMember
    number: int  # in its part, from 0
    text: str
    damage: str | None = None
    detail: str | None = None

    def refused(self) -> RawRecord:
        """The record of a file that has no text."""
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


def read_text_folder(
    part: SourceFile, spec: SourceSpec, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[RawRecord]:
    """All files of a part of a `text` source."""
    for content in read_members(part, max_bytes, open_file):
        if content.damage is not None:
            yield content.refused()
            continue
        member, number, text, _, _ = content
        matter: dict[str, Any] = {}
        title = None
        if member.name.lower().endswith(MARKDOWN):
            body, matter = front_matter(text)
            title = first_heading(body)
        fields = spec.fields
        yield RawRecord(
            url=string(matter, fields.url),
            key=key(matter, fields.key) or member.name,
            offset=number,
            length=member.size,
            text=text,
            file=member.name,
            licence=licence(matter, spec),
            language=string(matter, fields.language),
            title=string(matter, fields.title) or title,
            derived_from=strings(matter, fields.derived_from),
            generator=string(matter, fields.generator) or spec.generator,
        )


def read_members(
    part: SourceFile, max_bytes: int, open_file: Opener = open_pinned
) -> Iterator[FileContent]:
    """The files of a part as text, in their pinned order; `open_file` refuses changed ones."""
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


def front_matter(text: str) -> tuple[str, dict[str, Any]]:
    """What follows the front matter, and its keys; broken front matter is part of the text."""
    head = text[:FRONT_MATTER_CHARS].replace("\r\n", "\n")
    found = _FRONT_MATTER.match(head) if head.startswith("---") else None
    if found is None:
        return text, {}
    try:
        keys = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return text, {}
    return head[found.end() :], keys if isinstance(keys, dict) else {}


def first_heading(markdown: str) -> str | None:
    """The first heading, `# so` or underlined, outside fenced code."""
    fence = ""
    before = ""
    for line in markdown[:TITLE_SCAN_CHARS].splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif heading := _ATX.fullmatch(line):
            return _title(heading[1].rstrip().rstrip("#"))
        elif before and _SETEXT.fullmatch(line):
            return _title(before)
        before = "" if fence or mark else line.strip()
    return None


def _title(raw: str) -> str | None:
    return " ".join(raw.split())[:MAX_TITLE_CHARS].rstrip() or None
