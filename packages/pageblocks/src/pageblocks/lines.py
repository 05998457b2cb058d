"""What each line of a page's main text is: a heading, an item of a list, a row of a table ...

A text and the kinds of its lines are written together (`LineWriter`), so there is one for each line.
With them goes the element that each line stands in, from which its place in the page's tree is made.
"""

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.blocks import FLAGS, Blocks
from pageblocks.kernels.line_places import element_kinds, element_places, element_posts
from pageblocks.kernels.page_names import BREAKING, TAGS
from pageblocks.places import MAX_CELL_CHARS

LINE_KINDS: tuple[str, ...] = (
    "unknown",
    "other",
    "paragraph",
    "heading_1",
    "heading_2",
    "heading_3",
    "heading_4",
    "heading_5",
    "heading_6",
    "list_item",
    "code",
    "table_row",
    "quotation",
    "caption",
    "formula",
    "post",
)
"""Kinds of lines, by the number that is stored for each: names are only ever appended.

`caption` is that of a figure or a table; `formula` a line that is one formula and nothing else;
`post` the first paragraph of a post or comment; `other` a line without text, between two blocks of
Markdown. `unknown` is never written here: it is for texts whose lines nobody looked at.
"""

CODES = {name: code for code, name in enumerate(LINE_KINDS)}
OTHER, CODE, TABLE_ROW = CODES["other"], CODES["code"], CODES["table_row"]
_PARAGRAPH, _FORMULA, _POST = CODES["paragraph"], CODES["formula"], CODES["post"]
_ONE_FORMULA = re.compile(r"(\$\$?)(?:[^$\\]|\\.)++\1")


def _codes_of_tags() -> npt.NDArray[np.uint8]:
    codes = np.zeros(len(BREAKING) + 2, dtype=np.uint8)
    codes[0] = _PARAGRAPH  # the page
    for level in range(1, 7):
        codes[TAGS[f"h{level}"]] = CODES[f"heading_{level}"]
    codes[TAGS["li"]] = CODES["list_item"]
    codes[TAGS["tr"]] = TABLE_ROW
    codes[TAGS["blockquote"]] = CODES["quotation"]
    codes[[TAGS["caption"], TAGS["figcaption"]]] = CODES["caption"]
    return codes


def _ranks() -> npt.NDArray[np.uint8]:
    """Which kind a line is of that stands in several: the one that says more of it."""
    ranks = np.zeros(len(LINE_KINDS), dtype=np.uint8)
    for rank, name in enumerate(("quotation", "list_item", "caption"), 1):
        ranks[CODES[name]] = rank
    ranks[CODES["heading_1"] : CODES["heading_6"] + 1] = 4
    return ranks


_CODES_OF_TAGS, _RANKS = _codes_of_tags(), _ranks()


class Line(NamedTuple):
    """A line of a text, and its kind: one of `LINE_KINDS`."""

    kind: str
    text: str


class MainText(NamedTuple):
    """A text, and a byte for each line of it: the place of its kind in `LINE_KINDS`. A text without
    characters has no line. `elements` are those that the lines stand in, -1 for none; empty where the
    text is not from the page's elements."""

    text: str
    line_kinds: bytes
    elements: tuple[int, ...] = ()

    def lines(self) -> list[Line]:
        texts = self.text.split("\n") if self.text else []
        return [
            Line(LINE_KINDS[code], text) for code, text in zip(self.line_kinds, texts, strict=True)
        ]


class BlockKinds:
    """What the lines of some blocks are: their codes, and their posts, -1 for none."""

    def __init__(self, page: Blocks, kept: npt.NDArray[np.bool_]) -> None:
        posts, blocks = element_posts(page), page.blocks[kept]
        kinds = element_kinds(
            page.blocks, page.elements, posts, _CODES_OF_TAGS, _RANKS, MAX_CELL_CHARS
        )
        codes = kinds[blocks[:, 2]]
        codes[blocks[:, 3] & FLAGS["is_pre"] > 0] = CODE
        self.codes: list[int] = codes.tolist()
        self.posts: list[int] = posts[blocks[:, 2]].tolist()


class LineWriter:
    """Lines with their kinds and elements, in the order in which they are written."""

    def __init__(self) -> None:
        self._texts: list[str] = []  # of one line or more each
        self._kinds = bytearray()
        self._elements: list[int] = []
        self._begun: set[int] = set()  # posts that have their first paragraph

    @property
    def is_empty(self) -> bool:
        return not self._texts

    @property
    def last(self) -> str:
        """What was written last."""
        return self._texts[-1]

    def add(self, written: str, code: int, post: int = -1, element: int = -1) -> None:
        """Write the lines of a block, which stands in a post or, -1, in none; as in an element."""
        self._texts.append(written)
        if "\n" not in written:
            self._kinds.append(self._of_line(written, post) if code == _PARAGRAPH else code)
            self._elements.append(element)
            return
        lines = written.split("\n")
        if code == _PARAGRAPH:
            self._kinds += bytes(self._of_line(line, post) for line in lines)
        else:
            self._kinds += bytes((code,)) * len(lines)
        self._elements += [element] * len(lines)

    def extend(self, written: str, code: int, post: int = -1) -> None:
        """Write more, without a line's end in it, into the last line."""
        self._texts[-1] += written
        if self._kinds[-1] in (_PARAGRAPH, _FORMULA):
            is_first = code == _PARAGRAPH and post >= 0
            self._kinds[-1] = self._of_line("", post) if is_first else _PARAGRAPH

    def _of_line(self, line: str, post: int) -> int:
        """The code of a line of a paragraph."""
        if line[:1] == "$" and _ONE_FORMULA.fullmatch(line):
            return _FORMULA
        if post < 0 or post in self._begun:
            return _PARAGRAPH
        self._begun.add(post)
        return _POST

    def written(self) -> MainText:
        """The text, and the kinds and elements of its lines."""
        return MainText("\n".join(self._texts), bytes(self._kinds), tuple(self._elements))


def places_of(page: Blocks, elements: tuple[int, ...]) -> npt.NDArray[np.uint16]:
    """The place in the page's tree of lines that stand in some elements: equal for lines that stand
    alike on pages of one template, even, and never 0; and 1 more where a line goes on in the element of
    the line before it. 0 for lines that stand in none."""
    own = np.array(elements, dtype=np.int64)
    places: npt.NDArray[np.uint16] = element_places(page.elements, page.signatures)[own]
    places[1:] += own[1:] == own[:-1]
    places[own < 0] = 0
    return places
