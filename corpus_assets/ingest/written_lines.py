"""The kinds of lines of a text that a source brings ready: Markdown by its marks, source code as code.

Of other text nothing is said. Marks are CommonMark's, and `$$` around formulas: what they mean inside
of other marks does not matter here, since a line has one kind. Linear in the text.
"""

import re
from typing import Final

from catalog.formats.line_kinds import LINE_KIND
from corpus_assets.ingest.records import RawRecord

MARKDOWN = (".md", ".markdown", ".mkd", ".ipynb")  # a notebook is ingested as Markdown
PLAIN = (".txt", ".text", ".rst", ".adoc", ".tex")

OTHER: Final = LINE_KIND["other"]
PARAGRAPH: Final = LINE_KIND["paragraph"]
HEADING: Final = LINE_KIND["heading_1"]
ITEM: Final = LINE_KIND["list_item"]
CODE: Final = LINE_KIND["code"]
ROW: Final = LINE_KIND["table_row"]
QUOTATION: Final = LINE_KIND["quotation"]
FORMULA: Final = LINE_KIND["formula"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_BREAK = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_QUOTE = re.compile(r" {0,3}>")
_DELIMITERS = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_TAG = re.compile(r" {0,3}<[A-Za-z/!?]")


def written_kinds(record: RawRecord, text: str) -> bytes | None:
    """Return a kind for each line of a record's text; None where its form says nothing."""
    name = (record.path or record.file or "").lower()
    if name.endswith(MARKDOWN):
        return markdown_kinds(text)
    if record.path is None or name.endswith(PLAIN):
        return None
    return bytes(CODE if line.strip() else OTHER for line in text.split("\n"))


def markdown_kinds(text: str) -> bytes:
    """Return a kind for each line of Markdown."""
    return _Markdown(text.split("\n")).kinds()


class _Markdown:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._out = bytearray()
        self._closes = ""  # what ends the open block of code or formula
        self._inside = OTHER  # what the open block is
        self._item = 0  # columns from which text belongs to the open item; 0: none is open

    def kinds(self) -> bytes:
        self._out += bytes([OTHER]) * _front_matter(self._lines)
        while len(self._out) < len(self._lines):
            line = self._lines[len(self._out)]
            if self._closes:
                self._out.append(self._inside)
                self._close(line)
            elif not line.strip():
                self._out.append(OTHER)
            elif not self._opens(line):
                self._out.append(self._kind(line))
        return bytes(self._out)

    def _opens(self, line: str) -> bool:
        """Whether a block of code or formula begins with this line, which is then written."""
        fence = _FENCE.match(line.lstrip() if self._item else line)
        if fence is not None:
            self._closes, self._inside = fence[1], CODE
        elif line.lstrip().startswith("$$"):
            self._closes, self._inside = "$$", FORMULA
            if line.strip().endswith("$$") and len(line.strip()) > 3:
                self._closes = ""
        else:
            return False
        self._out.append(self._inside)
        return True

    def _close(self, line: str) -> None:
        stripped = line.strip()
        if self._inside == FORMULA:
            is_end = stripped.endswith("$$")
        else:
            is_end = stripped.startswith(self._closes) and not stripped.strip(self._closes[0])
        if is_end:
            self._closes = ""

    def _kind(self, line: str) -> int:
        before = self._out[-1] if self._out else OTHER
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if found := _ITEM.match(line):
            if not _BREAK.fullmatch(line) and (self._item or indent < 4):
                self._item = len(found[0].expandtabs(4))
                return ITEM
        elif self._item and (indent >= min(self._item, 2) or before == ITEM):
            return ITEM
        self._item = 0
        if heading := _ATX.match(line):
            return HEADING + len(heading[1]) - 1
        if before == PARAGRAPH and (underline := _UNDERLINE.fullmatch(line)):
            level = HEADING + (underline[1][0] == "-")
            self._out[-1] = level
            return level
        if _BREAK.fullmatch(line):
            return OTHER
        if _QUOTE.match(line):
            return QUOTATION
        if "|" in line and (before == ROW or self._is_delimited()):
            return ROW
        if indent >= 4 and before != PARAGRAPH:
            return CODE
        return OTHER if _TAG.match(line) else PARAGRAPH

    def _is_delimited(self) -> bool:
        """Whether the next line is the one below a table's head."""
        after = len(self._out) + 1
        following = self._lines[after] if after < len(self._lines) else ""
        return "-" in following and _DELIMITERS.fullmatch(following) is not None


def _front_matter(lines: list[str]) -> int:
    """How many lines of keys stand before the text."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0
