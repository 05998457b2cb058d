"""Pages whose JSON-LD holds their text, with what that says of their blocks: truth to train on, in
any crawl.

1. A page counts where the text that it declares is free for everybody, long enough, and shown.
2. A block is main content where its words stand in the declared text, or are the declared name.
3. A block is none where none of its words do and it stands outside of the element that holds the
   declared text: all such blocks where a page declares its whole text (an article's body, a thread,
   a question with its answers); where it declares a part, only what stands in menus, margins, feet
   and forms, and on pages about one recipe under its story links as well.
4. Of all other blocks nothing is known: captions, tables and advertisements inside of the text.

An article that declares its first paragraphs alone does not count: blocks of the same make as those
would be called none.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.charset import normalise
from pageblocks.declared import ARTICLE_TYPES, Declared, declared_things
from pageblocks.declared_blocks import held_by
from pageblocks.declared_text import BODY_TYPES
from pageblocks.kernels.block_features import FAR, FEATURES, block_features
from pageblocks.kernels.blocks import Blocks, Ints, find_blocks
from pageblocks.recall import declared_recall
from pageblocks.training.truth import StoredPage, block_labels, block_texts, site_of

MIN_CHARS = 200  # of blocks that are declared
MIN_SHOWN = 0.9  # of the declared lines, on the page
IS_GOOD, IS_NONE = 0.75, 0.1  # of a block's words: clear from here, and up to here
MAX_UNDECLARED = 0.25  # of blocks of the declared ones' make, beside those
PROSE_CHARS = 60

WHOLE_TEXTS = ARTICLE_TYPES | {"DiscussionForumPosting", "QAPage", "Question"}
PARTS_OF_STORIES = {"Recipe", "HowTo"}
_TYPES = BODY_TYPES | {"Product"}
_FRAMES = [FEATURES.index(f"near_<{tag}>") for tag in ("nav", "footer", "aside", "form")]
_ELEMENT, _CHARS, _LINK_CHARS, _MARKS = 2, 4, 6, 8  # columns of blocks
_PARENT = 0  # column of elements

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]


class DeclaredPage(NamedTuple):
    """A page in UTF-8 whose blocks are main content (1), none (0) or not known (NaN)."""

    page: bytes
    type: str  # of schema.org
    site: str
    known: tuple[float, ...]

    def labels(self, _: Blocks) -> Floats:
        return np.array(self.known)


def declared_page(stored: StoredPage) -> DeclaredPage | None:
    """What a page says of its blocks; None where it declares no text, a part of it, or another."""
    if b"ld+json" not in stored.page:
        return None
    page = find_blocks(stored.page)
    things = [
        thing
        for thing in declared_things(stored.page, page)
        if thing.type in _TYPES and thing.is_free
    ]
    if not things or not len(page.blocks):
        return None
    texts = [normalise(text) for text in block_texts(page)]
    if not _is_shown(things, "\n".join(texts)):
        return None
    largest = max(things, key=_size)  # the first of equals
    shares = block_labels(texts, "\n".join(line.text for thing in things for line in thing.lines))
    names = {_spaced(thing.name) for thing in things if thing.name}
    is_name = np.array([_spaced(text) in names for text in texts])
    known = _known(page, np.where(is_name, 1.0, shares), largest.type)
    if known is None:
        return None
    return DeclaredPage(
        stored.page, largest.type, site_of(stored.url or stored.key), tuple(known.tolist())
    )


def _known(page: Blocks, shares: Floats, kind: str) -> Floats | None:
    """Labels by the share of each block's words that are declared; None where too few are."""
    is_whole = kind in WHOLE_TEXTS
    chars = page.blocks[:, _CHARS]
    is_good = shares >= IS_GOOD
    if chars[is_good].sum() < MIN_CHARS:
        return None
    if is_whole and _undeclared(page, is_good) > MAX_UNDECLARED:
        return None
    first, stop = held_by(page, is_good)
    is_outside = np.ones(len(chars), dtype=np.bool_)
    is_outside[first:stop] = False
    is_none = (shares <= IS_NONE) & is_outside
    if not is_whole:
        is_frame = (block_features(page)[:, _FRAMES] < FAR).any(axis=1)
        if kind in PARTS_OF_STORIES:
            is_frame |= 2 * page.blocks[:, _LINK_CHARS] > chars
        is_none &= is_frame
    return np.where(is_good, 1.0, np.where(is_none, 0.0, np.nan))


def _undeclared(page: Blocks, is_good: Mask) -> float:
    """Of the prose in elements of the same make as the declared ones, the share that is not
    declared."""
    chars, links, marks = (page.blocks[:, at] for at in (_CHARS, _LINK_CHARS, _MARKS))
    is_prose = (chars >= PROSE_CHARS) & (3 * links < chars) & (marks > 0)
    makes = _makes(page)
    is_same = is_prose & np.isin(makes, makes[is_prose & is_good])
    every = int(chars[is_same].sum())
    return float(chars[is_same & ~is_good].sum() / every) if every else 0.0


def _makes(page: Blocks) -> Words:
    """A number for each block that is equal where its element and its parent have equal names and
    classes."""
    elements: Ints = page.blocks[:, _ELEMENT]
    parents = page.elements[elements, _PARENT]
    with np.errstate(over="ignore"):
        makes: Words = page.signatures[elements] * np.uint64(31) + page.signatures[parents]
    return makes


def _is_shown(things: list[Declared], text: str) -> bool:
    recalls = declared_recall(things, text)
    return sum(one.found for one in recalls) >= MIN_SHOWN * sum(one.lines for one in recalls)


def _size(thing: Declared) -> int:
    return sum(len(line.text) for line in thing.lines)


def _spaced(text: str) -> str:
    return " ".join(text.lower().split())
