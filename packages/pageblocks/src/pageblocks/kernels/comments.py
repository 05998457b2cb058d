"""Comments under a story, which are none of its text: those of articles, and no posts of a thread.

A part named as comments is one where a story stands before it: prose of `MIN_STORY_CHARS` that is kept,
most of it in what is called an article or content. Two things tell a thread from a story: the posts of
a thread are of one make, the first one too; and what holds the page's title is no comment.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.markup import name_hash
from pageblocks.kernels.page_names import BREAKING, HINTS, TAGS
from textkernels.compiled import kernel

MIN_STORY_CHARS = 160
"""Characters of a story before its comments: two sentences."""
PROSE_CHARS = 40
BODY_LEVELS = 3
"""Elements from a block outwards that may be the body of its post."""

_COMMENT = 1 << HINTS["comment"]
_STORY = 1 << HINTS["article"] | 1 << HINTS["content"] | 1 << HINTS["main"]
_H1, _ARTICLE, _MAIN, _BODY, _HTML = (
    TAGS[name] for name in ("h1", "article", "main", "body", "html")
)
_BARE = np.zeros(len(BREAKING) + 2, dtype=np.uint64)
for _name, _number in TAGS.items():
    _BARE[_number] = name_hash(_name)
"""Signatures of elements without a class."""


def comments_of_story(page: Blocks, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether each block is of the comments under a story that is kept."""
    found = np.zeros(len(page.blocks), dtype=np.bool_)
    if (page.elements[:, 2] & _COMMENT).any():
        is_prose = _find_comments(page.blocks, page.elements, kept, found)
        if (found & kept).any() and not _is_story(
            page.blocks, page.elements, page.signatures, kept, is_prose, found
        ):
            found[:] = False
    return found


@kernel
def _find_comments(blocks: Any, elements: Any, kept: Any, found: Any) -> Any:
    """Mark blocks of parts that are named as comments and have a story before them; whether each
    block is prose."""
    n = len(blocks)
    is_prose = np.zeros(n, dtype=np.bool_)
    story = np.zeros(n + 1, dtype=np.int64)  # kept prose before each block
    titles = np.zeros(n + 1, dtype=np.int64)
    for b in range(n):
        is_prose[b] = (
            blocks[b, 4] >= PROSE_CHARS and blocks[b, 3] & 1 and 2 * blocks[b, 6] < blocks[b, 4]
        )
        story[b + 1] = story[b] + (blocks[b, 4] if kept[b] and is_prose[b] else 0)
        is_title = elements[blocks[b, 2], 1] == _H1 and 2 * blocks[b, 12] >= blocks[b, 5] > 0
        titles[b + 1] = titles[b] + is_title
    end = commented = 0
    for e in range(1, len(elements)):
        first, stop = elements[e, 4], elements[e, 5]
        if (
            elements[e, 2] & _COMMENT
            and stop > first >= end
            and titles[stop] == titles[first]
            and story[first] - commented >= MIN_STORY_CHARS
        ):
            found[first:stop] = True
            end = stop
            commented += story[stop] - story[first]
    return is_prose


@kernel
def _is_story(
    blocks: Any, elements: Any, signatures: Any, kept: Any, is_prose: Any, is_comment: Any
) -> Any:
    """Whether most of what stands around comments is in what is called an article, and most comments
    are of another make."""
    m, n = len(elements), len(blocks)
    is_named = np.zeros(m, dtype=np.bool_)
    for e in range(1, m):
        tag = elements[e, 1]
        is_page = tag in (_BODY, _HTML)
        is_named[e] = (
            is_named[elements[e, 0]] or tag in (_ARTICLE, _MAIN) or (elements[e, 2] & _STORY > 0 and not is_page)
        )  # fmt: skip
    makes = set()
    balance = 0
    for b in range(n):
        if kept[b] and is_prose[b] and not is_comment[b]:
            balance += blocks[b, 4] if is_named[blocks[b, 2]] else -blocks[b, 4]
            makes.add(_body(elements, signatures, blocks[b, 2]))
    if balance < 0:
        return False
    same = 0
    for b in range(n):
        if is_comment[b] and is_prose[b]:
            make = _body(elements, signatures, blocks[b, 2])
            same += blocks[b, 4] if make and make in makes else -blocks[b, 4]
    return same <= 0


@kernel
def _body(elements: Any, signatures: Any, e: int) -> Any:
    """The make of the nearest element with a class; 0 where none is near."""
    for _ in range(BODY_LEVELS):
        if e <= 0:
            break
        if signatures[e] != _BARE[elements[e, 1]]:
            return signatures[e]
        e = elements[e, 0]
    return np.uint64(0)
