"""What a block stands in: a heading, an item of a list, a row of a table, a quotation."""

from typing import Literal, NamedTuple

from pageblocks.kernels.blocks import FLAGS, Blocks
from pageblocks.kernels.page_names import TAGS

Kind = Literal["heading", "paragraph", "list_item", "table_row", "code", "quotation"]

MAX_CELL_CHARS = 200
"""Longer cells lay out a page and are no data."""

CELLS = (TAGS["td"], TAGS["th"])
_HEADINGS = {TAGS[f"h{level}"]: level for level in range(1, 7)}
_ITEM, _ROW, _TABLE, _QUOTE = TAGS["li"], TAGS["tr"], TAGS["table"], TAGS["blockquote"]
_LISTS = (TAGS["ul"], TAGS["ol"])


class Place(NamedTuple):
    """What a block stands in, by numbers of elements; -1 and 0 where it does not."""

    heading: int = 0  # its level
    quotes: int = 0
    item: int = -1
    list: int = -1
    lists: int = 0
    row: int = -1
    table: int = -1


class Places:
    """The places of a page's blocks."""

    def __init__(self, page: Blocks) -> None:
        self._page = page
        self.parents: list[int] = page.elements[:, 0].tolist()
        self.tags: list[int] = page.elements[:, 1].tolist()
        self._data: dict[int, bool] = {}  # rows that hold data, as far as they were looked at

    def of(self, element: int) -> Place:
        """Climb from a block's element to the page: at most `MAX_DEPTH` steps."""
        found = Place()
        while element > 0:
            tag = self.tags[element]
            if tag in _HEADINGS and not found.heading:
                found = found._replace(heading=_HEADINGS[tag])
            elif tag == _QUOTE:
                found = found._replace(quotes=found.quotes + 1)
            elif tag == _ITEM and found.item < 0:
                found = found._replace(item=element, list=self.parents[element], lists=1)
            elif tag in _LISTS and found.item >= 0 and element != found.list:
                found = found._replace(lists=found.lists + 1)
            elif tag == _ROW and found.row < 0 and found.table < 0:
                found = found._replace(row=element)
            elif tag == _TABLE and found.table < 0:
                found = found._replace(table=element)
            element = self.parents[element]
        return found

    def is_data(self, row: int) -> bool:
        """Whether a row holds cells of data, and lays out no part of the page."""
        if row not in self._data:
            first, stop = self._page.elements[row, 4:6].tolist()
            cells = self._page.blocks[first:stop]
            is_short = bool((cells[:, 4] < MAX_CELL_CHARS).all())
            self._data[row] = is_short and not (cells[:, 3] & FLAGS["is_pre"]).any()
        return self._data[row]

    def kind(self, number: int) -> Kind:
        """What a block is, by the elements it stands in."""
        element, flags = self._page.blocks[number, 2:4].tolist()
        place = self.of(element)
        if flags & FLAGS["is_pre"]:
            return "code"
        if place.row >= 0 and self.is_data(place.row):
            return "table_row"
        if place.heading:
            return "heading"
        if place.item >= 0:
            return "list_item"
        return "quotation" if place.quotes else "paragraph"
