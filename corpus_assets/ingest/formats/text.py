"""Folders of plain text and Markdown, taken as they are, and of notebooks (`notebook.py`).

A Markdown file's title is its first heading, and its front matter (between `---` lines at the top)
gives the fields that the source maps: title, licence, language, key, url, derived_from, generator.
"""

import re
from typing import Any

import yaml

from corpus_assets.ingest.formats.base import FileContent, FolderFormat
from corpus_assets.ingest.formats.notebook import SUFFIX
from corpus_assets.ingest.formats.rows import key, labels, licence, string, strings
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.source import SourceSpec

MARKDOWN = (".md", ".markdown", SUFFIX)  # what notebooks become
FRONT_MATTER_CHARS = 8192
TITLE_SCAN_CHARS = 16384
MAX_TITLE_CHARS = 500

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*")


def text_record(content: FileContent, spec: SourceSpec) -> RawRecord:
    """Make the record of a file of a `text` source."""
    member, number, text = content.member, content.number, content.text
    matter: dict[str, Any] = {}
    title = None
    if member.name.lower().endswith(MARKDOWN):
        body, matter = front_matter(text)
        title = first_heading(body)
    fields = spec.fields
    return RawRecord(
        url=string(matter, fields.url),
        key=key(matter, fields.key) or member.name,
        offset=number,
        length=member.size,
        text=text,
        raw_text=content.raw_text,
        file=member.name,
        licence=licence(matter, spec),
        language=string(matter, fields.language),
        title=string(matter, fields.title) or title,
        derived_from=strings(matter, fields.derived_from),
        generator=string(matter, fields.generator) or spec.generator,
        labels=labels(matter, spec),
    )


def front_matter(text: str) -> tuple[str, dict[str, Any]]:
    """Return what follows the front matter, and its keys; broken front matter is part of the text."""
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
    """Return the first heading, `# so` or underlined, outside fenced code."""
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


TEXT = FolderFormat("text", (".txt", ".text", *MARKDOWN), text_record)
