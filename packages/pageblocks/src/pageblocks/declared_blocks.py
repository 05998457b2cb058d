"""Blocks that a page declares as its text, where the model left them out.

A model takes short lines in lists (ingredients, beside the links of a shop) for what stands around a
text. Where the page itself names them in its JSON-LD, they are its text. A block is taken back where

1. its words stand together in a line that is declared and that the main text does not have;
2. it is in the innermost element that holds nearly all of what is declared;
3. it and such blocks beside it have three words or more together: `Salt` alone may be a link;
4. the line is not taken back already: pages hold second copies, for print and for small screens.
"""

from collections import Counter

import numpy as np
import numpy.typing as npt

from pageblocks.declared import Declared
from pageblocks.declared_text import BODY_TYPES
from pageblocks.kernels.blocks import Blocks
from pageblocks.recall import RUN, missing_lines, words_of, words_of_each

MAX_SOUGHT = 20_000_000  # characters that are looked through: a page with more is no recipe
HELD = 0.9  # of the declared text that its element holds
_CHARS = 4  # column of blocks
_DEPTH, _FIRST, _STOP = 3, 4, 5  # of elements

Mask = npt.NDArray[np.bool_]


def with_declared(page: Blocks, kept: Mask, things: list[Declared], text: str) -> Mask:
    """The blocks of a main text, with those that are declared and missing in it."""
    bodies = [thing for thing in things if thing.type in BODY_TYPES and thing.is_free]
    missing = missing_lines(bodies, text)
    if not missing:
        return kept
    sought = "|".join(_spaced(words_of(line)) for line in missing)
    if len(sought) * len(kept) > MAX_SOUGHT:
        return kept
    found = np.zeros(len(kept), dtype=np.int64)  # words
    runs: dict[int, str] = {}
    others = np.flatnonzero(~kept).tolist()
    for number, words in zip(others, words_of_each(map(page.text_of, others)), strict=False):
        if words and (run := _spaced(words)) in sought:
            found[number], runs[number] = len(words), run
    if not runs:
        return kept
    first, stop = held_by(page, found > 0)
    taken = kept.copy()
    times = Counter[str]()
    for number in _in_company(found):
        run = runs[number]
        if first <= number < stop and times[run] < sought.count(run):
            times[run] += 1
            taken[number] = True
    return taken


def _in_company(found: npt.NDArray[np.int64]) -> list[int]:
    """Blocks with words, of those that stand side by side and have enough of them together."""
    chosen: list[int] = []
    group: list[int] = []
    for number, n_words in enumerate([*found.tolist(), 0]):
        if n_words:
            group.append(number)
        elif group:
            chosen += group if found[group].sum() >= RUN else []
            group = []
    return chosen


def held_by(page: Blocks, blocks: Mask) -> tuple[int, int]:
    """First and behind the last block of the innermost element that holds nearly all of the text of
    some blocks."""
    before = np.concatenate([[0], np.cumsum(np.where(blocks, page.blocks[:, _CHARS], 0))])
    held = before[page.elements[:, _STOP]] - before[page.elements[:, _FIRST]]
    depths = np.where(held >= HELD * before[-1], page.elements[:, _DEPTH], -1)
    element = int(depths.argmax())
    if depths[element] <= 0:
        return 0, len(page.blocks)
    return int(page.elements[element, _FIRST]), int(page.elements[element, _STOP])


def _spaced(words: list[str]) -> str:
    return f" {' '.join(words)} "
