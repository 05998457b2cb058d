"""The kept blocks of a page as Markdown: headings, lists, quotes, tables, fenced code.

Links are their text. What the page says is not escaped, but for `|` in cells, which formulas there
write as `\\vert`: it is text to be learned from, and `*` or `_` in it mean what they meant on the page.
"""

import re

import numpy as np
import numpy.typing as npt

from pageblocks.formulas import without_bars
from pageblocks.kernels.blocks import FLAGS, Blocks
from pageblocks.kernels.page_names import TAGS
from pageblocks.lines import OTHER, TABLE_ROW, BlockKinds, LineWriter, MainText
from pageblocks.places import CELLS, Place, Places

_NUMBERED = TAGS["ol"]
_BACKTICKS = re.compile("`{3,}")


def markdown_of(page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool = True) -> MainText:
    """Write the kept blocks; linear in the page but for the depth of its elements."""
    return _Writer(page, kept, include_tables).written()


class _Writer:
    def __init__(self, page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool) -> None:
        self._page, self._kept, self._include_tables = page, kept, include_tables
        self._places = Places(page)
        self._kinds = BlockKinds(page, kept)
        self._lines = LineWriter()
        self._group: tuple[str, int] = ("", -1)  # what one line break separates
        self._row = -1  # the last one written
        self._marked: set[int] = set()  # items that have their mark
        self._columns = 0  # of the open table
        self._numbers: dict[int, int] = {}  # items written, by list

    def written(self) -> MainText:
        numbers = np.flatnonzero(self._kept).tolist()
        for each in zip(numbers, self._kinds.codes, self._kinds.posts, strict=True):
            self._add(*each)
        return self._lines.written()

    def _add(self, number: int, code: int, post: int) -> None:
        element, flags = self._page.blocks[number, 2:4].tolist()
        place = self._places.of(element)
        if place.row >= 0 and self._places.is_data(place.row):
            if self._include_tables and place.row != self._row:
                self._add_row(place, element)
            return
        written = self._page.text_of(number)
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
        self._write(written, group, code, post, element)

    def _mark(self, place: Place) -> str:
        if self._places.tags[place.list] != _NUMBERED:
            return "-"
        self._numbers[place.list] = self._numbers.get(place.list, 0) + 1
        return f"{self._numbers[place.list]}."

    def _write(
        self, written: str, group: tuple[str, int], code: int, post: int, element: int
    ) -> None:
        if not self._lines.is_empty and not (group[0] and group == self._group):
            self._lines.add("", OTHER)
        self._lines.add(written, code, post, element)
        self._group = group

    def _add_row(self, place: Place, element: int) -> None:
        self._row = place.row
        group = ("table", place.table)
        cells = self._cells(place.row)
        is_first = group != self._group
        if is_first:
            self._columns = len(cells)
        cells += [""] * (self._columns - len(cells))
        self._write(_row(cells), group, TABLE_ROW, -1, element)
        if is_first:
            self._write(_row(["---"] * len(cells)), group, TABLE_ROW, -1, element)

    def _cells(self, row: int) -> list[str]:
        """Texts of a row's cells, empty where nothing in one is kept."""
        depth = self._page.elements[row, 3]
        texts = []
        element = row + 1
        parents, tags = self._places.parents, self._places.tags
        while element < len(tags) and self._page.elements[element, 3] > depth:
            if parents[element] == row and tags[element] in CELLS:
                first, stop = self._page.elements[element, 4:6].tolist()
                held = [self._in_cell(b) for b in range(first, stop) if self._kept[b]]
                texts.append(" ".join(" ".join(held).split()).replace("|", "\\|"))
            element += 1
        return texts

    def _in_cell(self, number: int) -> str:
        has_formulas = bool(self._page.blocks[number, 3] & FLAGS["has_math"])
        return without_bars(self._page.text_of(number), has_formulas)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fenced(code: str) -> str:
    """A fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{code}\n{fence}"
