"""How much of what a page says of itself a text has: a check of any extractor, without a truth set.

What a page declares is cut into its lines: an ingredient, a step, a paragraph. A line is found where
half or more of its runs of three words stand in the text; one of fewer words stands there whole. Case,
punctuation and marks of lists do not count. Time is linear in both.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from pageblocks.declared import Declared
from pageblocks.kernels.scripts import UNITS
from textkernels.normal_forms import nfkc

RUN = 3
"""Words of a run: two stand in many lines, and of four or more one other word, such as the `½` that
stands as `0.5` in the JSON-LD, loses whole ingredients."""

MAX_SOUGHT = 20_000_000
"""Characters that are looked through for lines and runs; from there on the runs of the text are made,
once: time stays linear."""

_WORD = re.compile(rf"[{UNITS}]|[^\W{UNITS}]+")
_WIDE = re.compile(r"[^\W\x00-\xff]")
_NARROW = bytes(n if chr(n).isalnum() or chr(n) == "_" else 32 for n in range(256))
_NARROW_LINES = _NARROW[:10] + b"\n" + _NARROW[11:]
_MARK = "- "  # of an item of a list


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
    held = _held(text)
    found = []
    for thing in declared:
        lines = [line.text for line in thing.lines if _WORD.search(line.text)]
        if lines:
            found.append(Recall(thing.type, len(lines), sum(map(held.has, lines))))
    return found


def missing_lines(declared: Iterable[Declared], text: str) -> list[str]:
    """The lines of things that a text does not have."""
    held = _held(text)
    lines = (line.text for thing in declared for line in thing.lines)
    return [line for line in lines if _WORD.search(line) and not held.has(line)]


class _Held:
    """A text in which lines are looked for: as they are at first, which finds most, and by their
    runs of words else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sought = 0
        self._runs: dict[int, set[str]] = {}
        self._known: dict[str, bool] = {}

    def has(self, line: str) -> bool:
        if line not in self._known:
            self._known[line] = self._has(line)
        return self._known[line]

    def _has(self, line: str) -> bool:
        if self._may_seek() and self._has_as_it_is(line.removeprefix(_MARK)):
            return True
        words = words_of(line)
        if self._may_seek() and _spaced(words) in self._spaced:
            return True
        size = min(RUN, len(words))
        runs = _runs(words, size)
        if self._may_seek(len(runs)):
            found = sum(run in self._spaced for run in runs)
        else:
            if size not in self._runs:
                self._runs[size] = _runs(self._spaced.split(), size)
            found = len(runs & self._runs[size])
        return 2 * found >= len(runs)

    def _may_seek(self, times: int = 1) -> bool:
        self._sought += times * len(self._text)
        return self._sought <= MAX_SOUGHT

    def _has_as_it_is(self, line: str) -> bool:
        """Whether the line stands in the text with no letter or digit before or behind it."""
        at = self._text.find(line)
        end = at + len(line)
        around = self._text[max(at - 1, 0) : max(at, 0)] + self._text[end : end + 1]
        return at >= 0 and _WORD.search(around) is None

    @cached_property
    def _spaced(self) -> str:
        """The words of the text as one string: looking through it is faster than any set."""
        return _spaced(words_of(self._text))


@lru_cache(maxsize=1)
def _held(text: str) -> _Held:
    """Lines of a text are asked for twice: for what is missing, and for how much is there."""
    return _Held(text)


def words_of(text: str) -> list[str]:
    """Words in lower case; of scripts without spaces, characters."""
    if not text.isascii():
        text = nfkc(text)
        if _WIDE.search(text):
            return _WORD.findall(text.lower())
    narrow = text.lower().encode("latin-1", "replace")  # the same, ten times as fast
    return narrow.translate(_NARROW).decode("latin-1").split()


def words_of_each(texts: Iterable[str]) -> list[list[str]]:
    """`words_of` each text, in one go."""
    joined = "\n".join(text.replace("\n", " ") for text in texts)
    if not joined.isascii():
        joined = nfkc(joined)
        if _WIDE.search(joined):
            return [words_of(text) for text in joined.split("\n")]
    narrow = joined.lower().encode("latin-1", "replace").translate(_NARROW_LINES)
    return [line.split() for line in narrow.decode("latin-1").split("\n")]


def _spaced(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _runs(words: list[str], size: int) -> set[str]:
    """Runs of so many words, each with spaces around its words."""
    return {_spaced(run) for run in zip(*(words[at:] for at in range(size)), strict=False)}
