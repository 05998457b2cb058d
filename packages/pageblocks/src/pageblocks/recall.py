"""How much of what a page says of itself a text has: a check of any extractor, without a truth set.

What a page declares is cut into its lines: an ingredient, a step, a paragraph. A line is found where
half or more of its runs of three words stand in the text; one of fewer words stands there whole. Case,
punctuation and marks of lists do not count. Time is linear in both.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from pageblocks.declared import Declared
from pageblocks.kernels.scripts import UNITS

RUN = 3
"""Words of a run: two stand in many lines, and of four or more one other word, such as the `½` that
stands as `0.5` in the JSON-LD, loses whole ingredients."""

_WORD = re.compile(rf"[{UNITS}]|[^\W{UNITS}]+")


class Recall(NamedTuple):
    """What a text has of one thing: its type of schema.org, lines declared, lines found."""

    type: str
    lines: int
    found: int

    @property
    def share(self) -> float:
        return self.found / self.lines


def declared_recall(declared: Iterable[Declared], text: str) -> list[Recall]:
    """What a text has of each thing that its page declares; lines without a word do not count."""
    words = _words(text)
    held = {size: _runs(words, size) for size in range(1, RUN + 1)}
    found = []
    for thing in declared:
        lines = [line_words for line in thing.lines if (line_words := _words(line.text))]
        if lines:
            found.append(Recall(thing.type, len(lines), sum(_is_in(line, held) for line in lines)))
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _runs(words: list[str], size: int) -> set[tuple[str, ...]]:
    return set(zip(*(words[at:] for at in range(size)), strict=False))


def _is_in(line: list[str], held: dict[int, set[tuple[str, ...]]]) -> bool:
    size = min(RUN, len(line))
    runs = _runs(line, size)
    return 2 * len(runs & held[size]) >= len(runs)
