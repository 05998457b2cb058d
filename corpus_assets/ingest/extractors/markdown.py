"""The kept blocks of a page as Markdown: headings, lists, quotes, tables, fenced code.

Links are their text. What the page says is not escaped, but for `|` in cells: it is text to be
learned from, and `*` or `_` in it mean what they meant on the page.
"""

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.blocks import FLAGS, Blocks
from corpus_assets.ingest.kernels.page_names import TAGS

MAX_CELL_CHARS = 200
"""Longer cells lay out a page and are no data."""

_HEADINGS = {TAGS[f"h{level}"]: level for level in range(1, 7)}
_CELLS = (TAGS["td"], TAGS["th"])
_ITEM, _ROW, _TABLE, _QUOTE = TAGS["li"], TAGS["tr"], TAGS["table"], TAGS["blockquote"]
_LISTS = {TAGS["ul"]: "-", TAGS["ol"]: "1."}
_BACKTICKS = re.compile("`{3,}")


class _Place(NamedTuple):
    """What a block stands in; -1 and 0 where it does not."""

    heading: int = 0
    quotes: int = 0
    item: int = -1
    list: int = -1
    lists: int = 0
    row: int = -1
    table: int = -1


def markdown_of(page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool = True) -> str:
    """Write the kept blocks; linear in the page but for the depth of its elements."""
    return _Writer(page, kept, include_tables).text()


class _Writer:
    def __init__(self, page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool) -> None:
        self._page, self._kept, self._include_tables = page, kept, include_tables
        self._parents = page.elements[:, 0].tolist()
        self._tags = page.elements[:, 1].tolist()
        self._pieces: list[str] = []
        self._group: tuple[str, int] = ("", -1)  # what one line break separates
        self._row = -1  # the last one written
        self._marked: set[int] = set()  # items that have their mark
        self._columns = 0  # of the open table
        self._numbers: dict[int, int] = {}  # items written, by list
        self._data: dict[int, bool] = {}  # rows that hold data, as far as they were looked at

    def text(self) -> str:
        for number in np.flatnonzero(self._kept).tolist():
            self._add(number)
        return "".join(self._pieces)

    def _add(self, number: int) -> None:
        element, flags = self._page.blocks[number, 2:4].tolist()
        place = self._place(element)
        if place.row >= 0 and self._is_data(place.row):
            if self._include_tables and place.row != self._row:
                self._add_row(place)
            return
        written = self._written(number)
        if flags & FLAGS["is_pre"]:
            written = _fenced(written)
        elif place.heading:
            written = f"{'#' * place.heading} {' '.join(written.split())}"
        group = ("", number)
        if place.item >= 0:
            indent = "  " * (place.lists - 1)
            if place.item not in self._marked:
                self._marked.add(place.item)
                group = ("list", place.list if place.lists == 1 else self._group[1])
                mark = f"{indent}{self._mark(place)} "
            else:
                mark = f"{indent}  "
            written = mark + written.replace("\n", f"\n{indent}  ")
        if place.quotes:
            quote = "> " * place.quotes
            written = quote + written.replace("\n", f"\n{quote}")
        self._write(written, group)

    def _mark(self, place: _Place) -> str:
        if _LISTS.get(self._tags[place.list], "-") == "-":
            return "-"
        self._numbers[place.list] = self._numbers.get(place.list, 0) + 1
        return f"{self._numbers[place.list]}."

    def _write(self, written: str, group: tuple[str, int]) -> None:
        if self._pieces:
            self._pieces.append("\n" if group[0] and group == self._group else "\n\n")
        self._pieces.append(written)
        self._group = group

    def _place(self, element: int) -> _Place:
        """Climb from a block's element to the page: at most `MAX_DEPTH` steps."""
        found = _Place()
        while element > 0:
            tag = self._tags[element]
            if tag in _HEADINGS and not found.heading:
                found = found._replace(heading=_HEADINGS[tag])
            elif tag == _QUOTE:
                found = found._replace(quotes=found.quotes + 1)
            elif tag == _ITEM and found.item < 0:
                found = found._replace(item=element, list=self._parents[element], lists=1)
            elif tag in _LISTS and found.item >= 0 and element != found.list:
                found = found._replace(lists=found.lists + 1)
            elif tag == _ROW and found.row < 0 and found.table < 0:
                found = found._replace(row=element)
            elif tag == _TABLE and found.table < 0:
                found = found._replace(table=element)
            element = self._parents[element]
        return found

    def _is_data(self, row: int) -> bool:
        if row not in self._data:
            self._data[row] = self._holds_data(row)
        return self._data[row]

    def _holds_data(self, row: int) -> bool:
        first, stop = self._page.elements[row, 4:6].tolist()
        cells = self._page.blocks[first:stop]
        is_short = bool((cells[:, 4] < MAX_CELL_CHARS).all())
        return is_short and not (cells[:, 3] & FLAGS["is_pre"]).any()

    def _add_row(self, place: _Place) -> None:
        self._row = place.row
        group = ("table", place.table)
        cells = self._cells(place.row)
        is_first = group != self._group
        if is_first:
            self._columns = len(cells)
        cells += [""] * (self._columns - len(cells))
        self._write(_row(cells), group)
        if is_first:
            self._write(_row(["---"] * len(cells)), group)

    def _cells(self, row: int) -> list[str]:
        """Texts of a row's cells, empty where nothing in one is kept."""
        depth = self._page.elements[row, 3]
        texts = []
        element = row + 1
        while element < len(self._tags) and self._page.elements[element, 3] > depth:
            if self._parents[element] == row and self._tags[element] in _CELLS:
                first, stop = self._page.elements[element, 4:6].tolist()
                held = [self._written(b) for b in range(first, stop) if self._kept[b]]
                texts.append(" ".join(" ".join(held).split()).replace("|", "\\|"))
            element += 1
        return texts

    def _written(self, number: int) -> str:
        start, end = self._page.blocks[number, :2].tolist()
        return self._page.text[start:end].tobytes().decode("utf-8", "surrogatepass")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fenced(code: str) -> str:
    """A fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{code}\n{fence}"
