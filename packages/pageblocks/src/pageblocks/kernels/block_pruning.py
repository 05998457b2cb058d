"""What is taken back of the blocks that a model chose: parts that are no main content by their own
markup, and what stands twice.

Navigation, footers, dialogs and forms say by their tag what they are; windows and notices (`windows`)
and a shop's other goods ("related products") by their names; and what an element's own style hides is
not there to be read. What stands in `noscript` is for readers without scripts; it counts where it is
nine tenths of what was chosen and half of the page. A kind of part is not believed where all of them
hold half of what was chosen, or more: some pages are one form, and some are hidden until a script has
run. Of windows it takes nine tenths: what they say of cookies can be longer than the page. One element
that holds as much is the page itself (`<body class="cookies-not-set">`), and the next ones count.

An element is a *copy* where its text is that of an earlier element, block by block, and long enough
not to be so by chance: parts for another screen, clones of slides, what a reply quotes. Paragraphs
and items that are siblings are none: who repeats a refrain means it. Neither are cells of tables,
nor elements of preformatted text and little else.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.block_features import group_equal
from pageblocks.kernels.blocks import FLAGS, Blocks
from pageblocks.kernels.page_names import (
    BREAKING,
    HINTS,
    NOT_SHOWN_BIT,
    OTHERS_BIT,
    TAGS,
    names_in,
)
from pageblocks.kernels.windows import asking_boxes, windows
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

COPY_CHARS = 80
"""Characters, as blocks count them, that a copy has at least, preformatted ones not counted."""

HALF, WHOLE = 50, 90
"""Percent of what was chosen from which on parts of a kind are not believed; windows can be long."""

_NOT_MAIN = np.array([TAGS[name] for name in names_in("nav footer dialog form")], dtype=np.int32)
_PRODUCT = 1 << HINTS["product"]
_NOSCRIPT = TAGS["noscript"]
_IS_PRE = FLAGS["is_pre"]
_REFRAIN, _CELL = 1, 2
_KINDS = np.zeros(len(BREAKING) + 2, dtype=np.int8)
for _kind, _names in ((_REFRAIN, "p li dd dt blockquote"), (_CELL, "tr td th")):
    for _name in names_in(_names):
        _KINDS[TAGS[_name]] = _kind


def prune(page: Blocks, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the chosen blocks less those of parts that are no main content and of copies."""
    kept = chosen.copy()
    if len(page.blocks):
        tags, hints = page.elements[:, 1], page.elements[:, 2]
        kinds = [(tags == tag, HALF) for tag in _NOT_MAIN]
        are_windows, are_notices = windows(page)
        kinds += [(hints & NOT_SHOWN_BIT > 0, HALF), (are_windows, WHOLE), (are_notices, HALF)]
        kinds += [((hints & OTHERS_BIT > 0) & (hints & _PRODUCT > 0), HALF)]  # a shop's other goods
        for is_part, bound in kinds:
            if is_part.any():
                _drop_parts(page.blocks, page.elements, kept, kept, is_part, bound)
        if (tags == _NOSCRIPT).any():
            for counted, bound in ((kept, WHOLE), (np.ones_like(kept), HALF)):
                _drop_parts(page.blocks, page.elements, counted, kept, tags == _NOSCRIPT, bound)
        boxes = asking_boxes(page, kept)
        if boxes.any():
            _drop_parts(page.blocks, page.elements, kept, kept, boxes, HALF)
        _drop_copies(page.text, page.blocks, page.elements, kept.copy(), kept, _KINDS)
    return kept


@kernel
def _drop_parts(
    blocks: Any, elements: Any, counted: Any, kept: Any, is_part: Any, bound: int
) -> None:
    """Drop what stands in elements of one kind, where that is less than `bound` percent of what
    counts. One that holds `WHOLE` percent is the page, whatever it is called."""
    chars = _chars_before(blocks, counted, 0)
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
def _chars_before(blocks: Any, kept: Any, without: int) -> Any:
    """Characters of kept blocks before each block, and of all of them, less those with a flag."""
    chars = np.zeros(len(blocks) + 1, dtype=np.int64)
    for b in range(len(blocks)):
        is_counted = kept[b] and not blocks[b, 3] & without
        chars[b + 1] = chars[b] + (blocks[b, 4] if is_counted else 0)
    return chars


@kernel
def _drop_copies(text: Any, blocks: Any, elements: Any, kept: Any, left: Any, kinds: Any) -> None:
    """Drop from `left` what of `kept` stands in copies; the first of equal elements stays."""
    chars, keys = _chars_before(blocks, kept, _IS_PRE), _element_keys(text, blocks, elements, kept)
    groups, n_groups = group_equal(keys)
    first_of = np.zeros(n_groups, dtype=np.int64)
    end = 0
    for e in range(1, len(elements)):
        start, stop = elements[e, 4], elements[e, 5]
        kind = kinds[elements[e, 1]]
        if start < end or chars[stop] - chars[start] < COPY_CHARS or kind == _CELL:
            continue
        first = first_of[groups[e]]
        if first == 0:
            first_of[groups[e]] = e
        elif start >= elements[first, 5] and _is_equal(text, blocks, elements, kept, first, e):
            end = stop
            if kind != _REFRAIN or elements[first, 0] != elements[e, 0]:
                left[start:stop] = False


@kernel
def _element_keys(text: Any, blocks: Any, elements: Any, kept: Any) -> Any:
    """A hash of the kept texts of each element."""
    n = len(blocks)
    counts = np.zeros(n + 1, dtype=np.int64)
    sums = np.zeros(n + 1, dtype=np.uint64)  # of a polynomial over the texts' hashes
    powers = np.ones(n + 1, dtype=np.uint64)
    for b in range(n):
        powers[b + 1] = powers[b] * FNV_PRIME
        counts[b + 1], sums[b + 1] = counts[b], sums[b]
        if kept[b]:
            value = FNV_OFFSET
            for at in range(blocks[b, 0], blocks[b, 1]):
                value = (value ^ np.uint64(text[at])) * FNV_PRIME
            counts[b + 1] += 1
            sums[b + 1] = sums[b] * FNV_PRIME + value
    keys = np.zeros(len(elements), dtype=np.uint64)
    for e in range(len(elements)):
        start, stop = elements[e, 4], elements[e, 5]
        keys[e] = sums[stop] - sums[start] * powers[counts[stop] - counts[start]]
    return keys


@kernel
def _is_equal(text: Any, blocks: Any, elements: Any, kept: Any, first: int, second: int) -> Any:
    """Whether two elements have the same kept texts, byte by byte."""
    one, one_stop = elements[first, 4], elements[first, 5]
    other, other_stop = elements[second, 4], elements[second, 5]
    while True:
        while one < one_stop and not kept[one]:
            one += 1
        while other < other_stop and not kept[other]:
            other += 1
        if one == one_stop or other == other_stop:
            return one == one_stop and other == other_stop
        start, shift = blocks[one, 0], blocks[other, 0] - blocks[one, 0]
        if blocks[one, 1] - start != blocks[other, 1] - blocks[other, 0]:
            return False
        for at in range(start, blocks[one, 1]):
            if text[at] != text[at + shift]:
                return False
        one += 1
        other += 1
