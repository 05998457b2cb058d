"""The kept blocks of a page as plain text: one a line, `- ` before list items, ` | ` between cells."""

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.page_names import TAGS
from pageblocks.lines import BlockKinds, LineWriter, MainText

_ITEM, _ROW, _TABLE = TAGS["li"], TAGS["tr"], TAGS["table"]
_CELLS = (TAGS["td"], TAGS["th"])


def text_of(page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool = True) -> MainText:
    """Write the kept blocks: one a line, `- ` before list items, ` | ` between cells of a row."""
    kinds = BlockKinds(page, kept)
    parents, tags = page.elements[:, 0].tolist(), page.elements[:, 1].tolist()
    lines = LineWriter()
    last_item = last_row = last_cell = -1
    marked: set[int] = set()  # items that have their mark
    data: dict[int, bool] = {}  # a row is looked at once, however many cells it has
    blocks = page.blocks[kept, :3].tolist()
    text = page.text[: blocks[-1][1] if blocks else 0].tobytes()
    for (start, end, element), code, post in zip(blocks, kinds.codes, kinds.posts, strict=True):
        written = text[start:end].decode("utf-8", "surrogatepass")
        item = cell = row = -1
        above, depth = element, 0
        while above > 0 and depth < 6:  # a block stands close to its item or row
            tag = tags[above]
            if tag == _ITEM and item < 0:
                item = above
            elif tag in _CELLS and cell < 0:
                cell = above
            elif tag == _ROW:
                row = above
                break
            elif tag == _TABLE:
                break
            above, depth = parents[above], depth + 1
        if row >= 0 and not include_tables:
            if row not in data:
                data[row] = _is_data(page, row)
            if data[row]:
                continue
        if item >= 0 and item not in marked:
            marked.add(item)
            lines.add(f"- {written}", code, post, element)
        elif (
            row >= 0
            and row == last_row
            and cell != last_cell
            and last_item < 0
            and _fits_row(lines.last, written)
        ):
            lines.extend(f" | {written}", code, post)
        else:
            lines.add(written, code, post, element)
        last_item, last_row, last_cell = item, row, cell
    return lines.written()


MAX_ROW_CHARS = 1000
"""Longer rows lay out a page and are no data."""


def _fits_row(line: str, cell: str) -> bool:
    return "\n" not in cell and len(line) < MAX_ROW_CHARS


def _is_data(page: Blocks, row: int) -> bool:
    """Whether a row holds cells of data: each short."""
    first, stop = page.elements[row, 4:6].tolist()
    return bool((page.blocks[first:stop, 4] < MAX_ROW_CHARS // 5).all())
