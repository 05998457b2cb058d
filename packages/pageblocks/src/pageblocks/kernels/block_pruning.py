"""What is taken back of the blocks that a model chose: parts that are no main content by their own
markup, and what stands twice.

Navigation, footers, dialogs and forms say by their tag what they are; windows and notices (`windows`)
and a shop's other goods ("related products") by their names; and what an element's own style hides is
not there to be read. What stands in `noscript` is for readers without scripts; it counts where it is
nine tenths of what was chosen and half of the page. A kind of part is not believed where all of them
hold half of what was chosen, or more: some pages are one form, and some are hidden until a script has
run. Of windows it takes nine tenths: what they say of cookies can be longer than the page. One element
that holds as much is the page itself (`<body class="cookies-not-set">`), and the next ones count.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.copies import drop_copies
from pageblocks.kernels.page_names import (
    HINTS,
    NOT_SHOWN_BIT,
    OTHERS_BIT,
    TAGS,
    names_in,
)
from pageblocks.kernels.windows import asking_boxes, windows
from textkernels.compiled import kernel

HALF, WHOLE = 50, 90
"""Percent of what was chosen from which on parts of a kind are not believed; windows can be long."""

_NOT_MAIN = np.array([TAGS[name] for name in names_in("nav footer dialog form")], dtype=np.int32)
_PRODUCT = 1 << HINTS["product"]
_NOSCRIPT = TAGS["noscript"]


def prune(page: Blocks, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the chosen blocks less those of parts that are no main content and of copies."""
    kept = chosen.copy()
    if len(page.blocks):
        _drop_kinds(page.blocks, page.elements, kept, *windows(page))
        boxes = asking_boxes(page, kept)
        if boxes.any():
            _drop_parts(page.blocks, page.elements, kept, kept, boxes, HALF)
        drop_copies(page, kept)
    return kept


@kernel
def _drop_kinds(blocks: Any, elements: Any, kept: Any, are_windows: Any, are_notices: Any) -> None:
    """Drop parts of each kind in turn, and `noscript`."""
    tags, hints = elements[:, 1], elements[:, 2]
    for tag in _NOT_MAIN:
        _drop_any(blocks, elements, kept, tags == tag, HALF)
    _drop_any(blocks, elements, kept, hints & NOT_SHOWN_BIT > 0, HALF)
    _drop_any(blocks, elements, kept, are_windows, WHOLE)
    _drop_any(blocks, elements, kept, are_notices, HALF)
    are_others = (hints & OTHERS_BIT > 0) & (hints & _PRODUCT > 0)  # a shop's other goods
    _drop_any(blocks, elements, kept, are_others, HALF)
    is_noscript = tags == _NOSCRIPT
    if is_noscript.any():
        _drop_parts(blocks, elements, kept, kept, is_noscript, WHOLE)
        everything = np.ones(len(kept), dtype=np.bool_)
        _drop_parts(blocks, elements, everything, kept, tags == _NOSCRIPT, HALF)


@kernel
def _drop_any(blocks: Any, elements: Any, kept: Any, is_part: Any, bound: int) -> None:
    if is_part.any():
        _drop_parts(blocks, elements, kept, kept, is_part, bound)


@kernel
def _drop_parts(
    blocks: Any, elements: Any, counted: Any, kept: Any, is_part: Any, bound: int
) -> None:
    """Drop what stands in elements of one kind, where that is less than `bound` percent of what
    counts. One that holds `WHOLE` percent is the page, whatever it is called."""
    chars = _chars_before(blocks, counted)
    held = end = 0
    for e in range(1, len(elements)):
        if is_part[e] and elements[e, 4] >= end:
            inside = chars[elements[e, 5]] - chars[elements[e, 4]]
            if 100 * inside >= WHOLE * chars[-1]:
                is_part[e] = False
            else:
                end = elements[e, 5]
                held += inside
    if 100 * held >= bound * chars[-1]:
        return
    end = 0
    for e in range(1, len(elements)):
        if is_part[e] and elements[e, 4] >= end:  # however deep they are nested
            end = elements[e, 5]
            kept[elements[e, 4] : end] = False


@kernel
def _chars_before(blocks: Any, kept: Any) -> Any:
    """Characters of kept blocks before each block, and of all of them."""
    chars = np.zeros(len(blocks) + 1, dtype=np.int64)
    for b in range(len(blocks)):
        chars[b + 1] = chars[b] + (blocks[b, 4] if kept[b] else 0)
    return chars
