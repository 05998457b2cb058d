"""Digits of every script as ASCII digits, so that the rules know one way to write a number.

Folded are decimal digits (Unicode's general category Nd: Arabic-Indic, Devanagari, Thai, full
width ...) and, where they touch a digit, the full-width forms of what stands in numbers: （）＋－．／.
All else stays, byte by byte, also what is not UTF-8. Findings go back by `Folded.unfold`.

1. Of 64 bytes at once, find those that begin a character that may be folded, and look at each.
2. Copy what stands between them.

Cost: .1 ns a byte, and a few ns for each character with such a first byte (half of those of Arabic,
all of Devanagari and Thai, none of Latin, Cyrillic and most of Chinese). Positions are int64.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from corpus_assets.text.unicode import decimal_table
from textkernels.byte_search import byte_kernel, copy_bytes
from textkernels.bytes import BLOCK_BYTES, above64, zeros_below
from textkernels.compiled import kernel
from textkernels.utf8 import decode

_SIGNS = {0xFF08: "(", 0xFF09: ")", 0xFF0B: "+", 0xFF0D: "-", 0xFF0E: ".", 0xFF0F: "/"}
_POINTS = 0x20000
_FIRST = 0xD9  # no character that is folded begins with a lower byte


class Folded(NamedTuple):
    """A batch with ASCII digits only, and where it is shorter than the batch it was made from."""

    data: Bytes
    offsets: Ints
    places: Ints  # int64[k], sorted: positions in `data` of what was folded
    saved: Ints  # int64[k + 1]: bytes saved by the first i of them

    def unfold(self, position: int) -> int:
        """Return where the bytes before a position of `data` end in the batch it was made from."""
        return position + int(self.saved[np.searchsorted(self.places, position)])


class _Tables(NamedTuple):
    points: Bytes  # uint8[0x20000]: what a code point is folded to, 0 for itself
    pairs: Bytes  # uint8[39 * 64]: 1 where some such character begins with this byte and the next


def fold_digits(data: Bytes, offsets: Ints) -> Folded | None:
    """Return the batch `data`, `offsets: int64[n + 1]` with ASCII digits; None where nothing changes."""
    tables = _tables()
    chars = np.empty((1 << 12, 3), dtype=np.int64)
    n = _find(data, offsets, tables, chars)
    if n > len(chars):
        chars = np.empty((n, 3), dtype=np.int64)
        _find(data, offsets, tables, chars)
    n = _keep(data, offsets, chars[:n])
    if n == 0:
        return None
    out = np.empty(len(data), dtype=np.uint8)
    starts = np.empty_like(offsets)
    places = np.empty(n, dtype=np.int64)
    size = _write(data, offsets, chars[:n], out, starts, places)
    saved = np.concatenate((np.zeros(1, np.int64), np.cumsum(chars[:n, 1] - 1)))
    return Folded(out[:size], starts, places, saved)


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    points = decimal_table().copy()
    points[:0x80] = 0
    for point, sign in _SIGNS.items():
        points[point] = ord(sign)
    pairs = np.zeros(39 << 6, dtype=np.uint8)
    for point in np.flatnonzero(points).tolist():
        first, second = chr(point).encode()[:2]
        pairs[(first - _FIRST) << 6 | second & 63] = 1
    return _Tables(points, pairs)


@byte_kernel
def _look(data: Bytes, at: int, end: int, tables: _Tables, chars: Ints, n: int) -> int:
    """Note the character that begins at `at` (place, width, ASCII byte), if it may be folded."""
    if at + 1 >= end or not tables.pairs[(np.int64(data[at]) - _FIRST) << 6 | data[at + 1] & 63]:
        return n
    point, width = decode(data, at, end)
    if point >= _POINTS or not tables.points[point]:
        return n
    if n < chars.shape[0]:
        chars[n, 0], chars[n, 1], chars[n, 2] = at, width, tables.points[point]
    return n + 1


@kernel
def _find(data: Bytes, offsets: Ints, tables: _Tables, chars: Ints) -> int:
    """Write the characters that may be folded to `chars`, as many as it holds; how many there are."""
    n = 0
    at, end = offsets[0], offsets[-1]
    while at + BLOCK_BYTES <= end:
        high = above64(data, at, _FIRST - 1)
        if high:  # of D9 to F0 those that begin no digit go, E2 to E9 and EB to EE: most of Chinese
            high &= ~above64(data, at, 0xE1) | above64(data, at, 0xE9)
            high &= ~above64(data, at, 0xEA) | above64(data, at, 0xEE)
            high &= ~above64(data, at, 0xF0)
            while high:
                n = _look(data, at + np.int64(zeros_below(high)), end, tables, chars, n)
                high &= high - np.uint64(1)
        at += BLOCK_BYTES
    while at < end:
        if _FIRST <= data[at] <= 0xF0:
            n = _look(data, at, end, tables, chars, n)
        at += 1
    return n


@byte_kernel
def _is_digit(byte: int) -> bool:
    return 0x30 <= byte <= 0x39


@kernel
def _keep(data: Bytes, offsets: Ints, chars: Ints) -> int:
    """Keep of `chars` the digits, and the signs that touch a digit of their document; how many."""
    kept = 0
    d = 0
    digit_end = np.int64(-1)  # where the last folded digit ends
    for k in range(chars.shape[0]):
        at, width, byte = chars[k, 0], chars[k, 1], chars[k, 2]
        end = at + width
        while offsets[d + 1] <= at:
            d += 1
        if end > offsets[d + 1]:  # only where texts are no UTF-8
            continue
        if _is_digit(byte):
            digit_end = end
        else:
            is_behind = at > offsets[d] and (digit_end == at or _is_digit(data[at - 1]))
            is_before = end < offsets[d + 1] and (
                _is_digit(data[end])
                or (
                    k + 1 < chars.shape[0] and chars[k + 1, 0] == end and _is_digit(chars[k + 1, 2])
                )
            )
            if not is_behind and not is_before:
                continue
        chars[kept, 0], chars[kept, 1], chars[kept, 2] = at, width, byte
        kept += 1
    return kept


@kernel
def _write(data: Bytes, offsets: Ints, chars: Ints, out: Bytes, starts: Ints, places: Ints) -> int:
    """Write the folded batch, its offsets and the places of what was folded; its size."""
    at = size = offsets[0]
    k = 0
    for d in range(offsets.shape[0]):
        while k < chars.shape[0] and chars[k, 0] < offsets[d]:
            size = copy_bytes(data, at, chars[k, 0], out, size)
            out[size] = chars[k, 2]
            places[k] = size
            size += 1
            at = chars[k, 0] + chars[k, 1]
            k += 1
        size = copy_bytes(data, at, offsets[d], out, size)
        at = offsets[d]
        starts[d] = size
    return int(size)
