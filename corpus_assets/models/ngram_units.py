"""Text into the units that an n-gram model counts: words, marks, single characters, line ends.

* a word is a run of characters that are neither white space nor punctuation nor symbols; an
  apostrophe between two of them belongs to it;
* punctuation and symbols are units of their own, a run of the same one is one unit;
* letters of scripts that are written without spaces are one unit each;
* where a line with units ends there is one empty unit, the boundary, and one at the text's end.

So no language needs a tokenizer of its own, and every text has a finite number of known units.
Layout and positions are those of `text.split`. Text is folded before (`fold_units`): small letters,
every ASCII digit 0, as CCNet does before it scores (Wenzek et al. 2020).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.split import CHARS, END, NEWLINE, START, Bytes, Ints
from corpus_assets.text.unicode import (
    MATHEMATICS,
    N_CODE_POINTS,
    PUNCTUATION,
    SCRIPTS,
    SYMBOL,
    class_table,
    script_table,
)
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

SPACE, WORD, MARK, ALONE = 0, 1, 2, 3
WITHOUT_SPACES = ("han", "hiragana", "katakana", "thai", "lao", "khmer", "myanmar", "tibetan")
_STRAIGHT, _CURLY = 0x27, 0x2019
_ZERO, _NINE = 0x30, 0x39


@lru_cache(maxsize=1)
def unit_kinds() -> npt.NDArray[np.uint8]:
    """uint8[0x110000]: what a code point does to the units around it."""
    kinds = np.full(N_CODE_POINTS, WORD, dtype=np.uint8)
    kinds[(class_table()[:N_CODE_POINTS] & (PUNCTUATION | SYMBOL | MATHEMATICS)) != 0] = MARK
    apart = [place for place, name in enumerate(SCRIPTS, 1) if name in WITHOUT_SPACES]
    kinds[np.isin(script_table()[:N_CODE_POINTS], apart)] = ALONE
    kinds[[point for point in range(0x3001) if is_space(point)]] = SPACE
    return kinds


def fold_units(texts: pa.LargeStringArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return `data` and `offsets` of the texts in small letters with every ASCII digit 0."""
    lowered = pc.utf8_lower(texts)
    _, offsets, data = lowered.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[lowered.offset :][: len(texts) + 1].copy()
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8).copy()
    content[(content >= _ZERO) & (content <= _NINE)] = _ZERO
    return content, places


@kernel
def _joins(data: Bytes, at: int, high: int, point: int, kinds: Bytes) -> bool:
    """Whether an apostrophe at `at`, after a character of a word, has another one behind it."""
    width = 1 if point == _STRAIGHT else 3
    if (point != _STRAIGHT and point != _CURLY) or at + width >= high:
        return False
    after, _ = decode(data, at + width, high)
    return bool(kinds[after] == WORD)


@kernel
def _walk(data: Bytes, low: int, high: int, kinds: Bytes, out: Ints, k: int, store: bool) -> int:
    """Units of one text from place `k` on; returns the place after them. Counting and storing
    are one function, so that they cannot disagree."""
    in_line = 0
    at = low
    while at < high:
        if data[at] == 0x20:
            at += 1
            continue
        point, width = decode(data, at, high)
        kind = kinds[point]
        if point == NEWLINE:
            if in_line:
                if store:
                    out[k, START], out[k, END], out[k, CHARS] = at, at, 0
                k += 1
                in_line = 0
            at += width
            continue
        if kind == SPACE:
            at += width
            continue
        start = at
        chars = 1
        at += width
        if kind == MARK:
            while at < high:
                next_point, next_width = decode(data, at, high)
                if next_point != point:
                    break
                at += next_width
                chars += 1
        elif kind == WORD:
            while at < high:
                byte = data[at]
                if byte < 0x80 and kinds[byte] == WORD:  # most of most texts
                    at += 1
                    chars += 1
                    continue
                next_point, next_width = decode(data, at, high)
                if kinds[next_point] != WORD and not _joins(data, at, high, next_point, kinds):
                    break
                at += next_width
                chars += 1
        if store:
            out[k, START], out[k, END], out[k, CHARS] = start, at, chars
        k += 1
        in_line += 1
    if in_line:
        if store:
            out[k, START], out[k, END], out[k, CHARS] = high, high, 0
        k += 1
    return k


@kernel
def split_units(data: Bytes, offsets: Ints, kinds: Bytes) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` and `rows: int64[n + 1]`; a boundary's span is empty."""
    n = offsets.shape[0] - 1
    rows = np.zeros(n + 1, dtype=np.int64)
    none = np.zeros((0, 3), dtype=np.int64)
    for d in range(n):
        rows[d + 1] = _walk(data, offsets[d], offsets[d + 1], kinds, none, rows[d], False)
    spans = np.empty((rows[n], 3), dtype=np.int64)
    for d in range(n):
        _walk(data, offsets[d], offsets[d + 1], kinds, spans, rows[d], True)
    return spans, rows
