"""What stands twice on a page and is its text once: an article for another screen, for printing, for
AMP; clones of slides; what a reply quotes.

An element is a *copy* where its text is that of an earlier element, block by block, and long enough
not to be so by chance. One whose text stands before it but for a tenth, in whatever elements, is one
too where it holds `COPY_PROSE_CHARS` of running text; what only it says stays. Of two copies the first
stays, or the first that is shown.

What repeats on purpose is none: paragraphs and items that are siblings, cells of tables, preformatted
text; and, where something else stands between the two, lists, tables and verses, which have no line of
`COPY_CHARS`. Those are copies where one of them is hidden, most of it is in links, or they are in two
posts of a thread: quotations, signatures.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.block_features import group_equal
from pageblocks.kernels.blocks import FLAGS, Blocks, Ints
from pageblocks.kernels.line_places import element_posts
from pageblocks.kernels.page_names import BREAKING, HINTS, NOT_SHOWN_BIT, TAGS, names_in
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

COPY_CHARS = 80
"""Characters, as blocks count them, that a copy has at least, preformatted ones not counted."""
COPY_PROSE_CHARS = 240
"""Characters of running text of a copy that is not equal to one element, but to what stands before."""

_IS_PRE = FLAGS["is_pre"]
_HIDDEN = NOT_SHOWN_BIT | 1 << HINTS["hidden"]
_REFRAIN, _CELL = 1, 2
_KINDS = np.zeros(len(BREAKING) + 2, dtype=np.int8)
for _kind, _names in ((_REFRAIN, "p li dd dt blockquote"), (_CELL, "tr td th")):
    for _name in names_in(_names):
        _KINDS[TAGS[_name]] = _kind
_QUOTE = TAGS["blockquote"]
_IS_ITEM = np.zeros(len(BREAKING) + 2, dtype=np.bool_)
for _name in names_in("li dd dt"):
    _IS_ITEM[TAGS[_name]] = True
_IS_CELL = np.zeros(len(BREAKING) + 2, dtype=np.bool_)
for _name in names_in("td th"):
    _IS_CELL[TAGS[_name]] = True


def drop_copies(page: Blocks, kept: npt.NDArray[np.bool_]) -> None:
    """Take copies out of the blocks that are kept."""
    keys, is_prose, is_hidden, n_equal, n_prose_equal = _measure(
        page.text, page.blocks, page.elements, kept
    )
    if not n_equal:
        return
    counted = kept.copy()

    def drop_equal(posts: Ints) -> bool:
        text, blocks, elements = page.text, page.blocks, page.elements
        is_meant: bool = _drop_equal(
            text, blocks, elements, counted, kept, keys, is_prose, is_hidden, posts, _KINDS
        )
        return is_meant

    no_posts = np.full(len(page.elements), -1, dtype=np.int32)
    if drop_equal(no_posts) and (posts := element_posts(page)).max() >= 0:
        kept[:] = counted
        drop_equal(posts)
    if n_prose_equal:
        _drop_repeated(page.blocks, page.elements, counted, kept, keys, is_prose, is_hidden)


@kernel
def _measure(text: Any, blocks: Any, elements: Any, kept: Any) -> Any:
    """Of kept blocks a hash of the text, uint64, and whether it is running text, by the length of its
    lines and its place; of elements whether they are hidden; and how many blocks are equal to an earlier
    one, and how many of running text to one of running text."""
    n, m = len(blocks), len(elements)
    is_hidden, in_item = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    for e in range(1, m):
        above, tag = elements[e, 0], elements[e, 1]
        is_hidden[e] = is_hidden[above] or elements[e, 2] & _HIDDEN > 0
        in_item[e] = in_item[above] or _IS_ITEM[tag]
    keys, is_prose = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.bool_)
    for b in range(n):
        if kept[b]:
            value, lines = FNV_OFFSET, 1
            for at in range(blocks[b, 0], blocks[b, 1]):
                value = (value ^ np.uint64(text[at])) * FNV_PRIME
                lines += text[at] == 10
            keys[b] = value
            e = blocks[b, 2]
            is_prose[b] = (
                blocks[b, 4] >= COPY_CHARS * lines and not blocks[b, 3] & _IS_PRE
                and not in_item[e] and not _IS_CELL[elements[e, 1]]
            )  # fmt: skip
    where = np.flatnonzero(kept)
    n_equal = len(where) - group_equal(keys[where])[1]
    n_prose_equal = 0
    if n_equal:
        prose = np.flatnonzero(is_prose)
        n_prose_equal = len(prose) - group_equal(keys[prose])[1]
    return keys, is_prose, is_hidden, n_equal, n_prose_equal


@kernel
def _drop_equal(
    text: Any, blocks: Any, elements: Any, kept: Any, left: Any, keys: Any, is_prose: Any,
    is_hidden: Any, posts: Any, kinds: Any,
) -> Any:  # fmt: skip
    """Drop from `left` what of `kept` stands in elements that are equal to another one; whether some
    were left that repeat on purpose."""
    n = len(blocks)
    sums = np.zeros(
        (n + 1, 4), dtype=np.int64
    )  # chars not preformatted, of prose, in links; blocks
    for b in range(n):
        sums[b + 1] = sums[b]
        if kept[b]:
            sums[b + 1, 0] += 0 if blocks[b, 3] & _IS_PRE else blocks[b, 4]
            sums[b + 1, 1] += blocks[b, 4] if is_prose[b] else 0
            sums[b + 1, 2] += blocks[b, 6]
            sums[b + 1, 3] += 1
    groups, n_groups = group_equal(_element_keys(elements, kept, keys))
    first_of = np.zeros(n_groups, dtype=np.int64)
    is_meant = False
    end = 0
    for e in range(1, len(elements)):
        start, stop = elements[e, 4], elements[e, 5]
        chars, kind = sums[stop, 0] - sums[start, 0], kinds[elements[e, 1]]
        if start < end or chars < COPY_CHARS or kind == _CELL:
            continue
        first = first_of[groups[e]]
        if first == 0:
            first_of[groups[e]] = e
        elif start >= elements[first, 5] and _is_equal(text, blocks, elements, kept, first, e):
            end = stop
            if kind == _REFRAIN and elements[first, 0] == elements[e, 0]:
                continue
            if (
                sums[stop, 1] == sums[start, 1]
                and sums[start, 3] > sums[elements[first, 5], 3]
                and elements[e, 1] != _QUOTE
                and not is_hidden[first]
                and not is_hidden[e]
                and (posts[e] == posts[first] or posts[e] < 0)
                and 2 * (sums[stop, 2] - sums[start, 2]) < chars
            ):
                is_meant = True
                continue
            if is_hidden[first] and not is_hidden[e]:
                left[elements[first, 4] : elements[first, 5]] = False
                first_of[groups[e]] = e
            else:
                left[start:stop] = False
    return is_meant


@kernel
def _element_keys(elements: Any, kept: Any, keys: Any) -> Any:
    """A hash of the kept texts of each element."""
    n = len(keys)
    counts = np.zeros(n + 1, dtype=np.int64)
    sums = np.zeros(n + 1, dtype=np.uint64)  # of a polynomial over the texts' hashes
    powers = np.ones(n + 1, dtype=np.uint64)
    for b in range(n):
        powers[b + 1] = powers[b] * FNV_PRIME
        counts[b + 1], sums[b + 1] = counts[b], sums[b]
        if kept[b]:
            counts[b + 1] += 1
            sums[b + 1] = sums[b] * FNV_PRIME + keys[b]
    found = np.zeros(len(elements), dtype=np.uint64)
    for e in range(len(elements)):
        start, stop = elements[e, 4], elements[e, 5]
        found[e] = sums[stop] - sums[start] * powers[counts[stop] - counts[start]]
    return found


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


@kernel
def _drop_repeated(
    blocks: Any, elements: Any, kept: Any, left: Any, keys: Any, is_prose: Any, is_hidden: Any
) -> None:
    """Drop from `left` the blocks of elements nine tenths of which are left outside of them too, before
    them or, where they are hidden, anywhere.

    Each block that is equal to the first one left counts for the elements around it that do not hold
    that one: it is counted where it stands, and taken off where both are in one element.
    """
    m = len(elements)
    where = np.flatnonzero(kept)
    groups, n_groups = group_equal(keys[where])
    firsts = np.full(n_groups, -1, dtype=np.int64)
    for shown in range(2):
        for at in range(len(where)):
            is_shown = not is_hidden[blocks[where[at], 2]]
            if firsts[groups[at]] < 0 and left[where[at]] and (is_shown or shown == 1):
                firsts[groups[at]] = where[at]
    sums = np.zeros(
        (m, 3), dtype=np.int64
    )  # chars of kept blocks, of those repeated, of prose in those
    for at in range(len(where)):
        b, first = where[at], firsts[groups[at]]
        e, chars = blocks[b, 2], blocks[b, 4]
        prose = chars if is_prose[b] else 0
        sums[e, 0] += chars
        if first >= 0 and b != first:
            sums[e, 1] += chars
            sums[e, 2] += prose
            other = blocks[first, 2]
            while e != other:
                if e > other:
                    e = elements[e, 0]
                else:
                    other = elements[other, 0]
            sums[e, 1] -= chars
            sums[e, 2] -= prose
    for back in range(m - 1):
        e = m - 1 - back
        sums[elements[e, 0]] += sums[e]
    is_copy = np.zeros(m, dtype=np.bool_)
    for e in range(1, m):
        is_copy[e] = is_copy[elements[e, 0]] or (
            sums[e, 2] >= COPY_PROSE_CHARS and 10 * sums[e, 1] >= 9 * sums[e, 0]
        )
    for at in range(len(where)):
        first = firsts[groups[at]]
        if first >= 0 and where[at] != first and is_copy[blocks[where[at], 2]]:
            left[where[at]] = False
