"""Marks of mathematics in text: LaTeX commands, formulas between dollars, environments."""

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel

COMMANDS, ENVIRONMENTS, FORMULAS, FORMULA_CHARS = range(4)
MAX_FORMULA_BYTES = 1_000

_BACKSLASH, _DOLLAR, _NEWLINE = 0x5C, 0x24, 0x0A
_BEGIN = np.frombuffer(b"\\begin{", dtype=np.uint8)


@kernel
def _is_letter(byte: int) -> bool:
    return 97 <= byte <= 122 or 65 <= byte <= 90


@kernel
def _formula_end(data: Bytes, at: int, end: int) -> int:
    """End of the formula that the dollar at `at` opens, or `at`.

    `$$...$$` may hold line ends; `$...$` may not, holds no white space behind the first and
    before the last dollar, and no digit follows it (so that prices are no formulas).
    """
    is_display = at + 1 < end and data[at + 1] == _DOLLAR
    body = at + 2 if is_display else at + 1
    if body >= end or (not is_display and data[body] <= 32):
        return at
    stop = min(end, body + MAX_FORMULA_BYTES)
    place = body
    while place < stop:
        byte = data[place]
        if byte == _BACKSLASH:
            place += 2
            continue
        if byte == _NEWLINE and not is_display:
            return at
        if byte == _DOLLAR:
            if place == body:
                return at
            if is_display:
                return place + 2 if place + 1 < end and data[place + 1] == _DOLLAR else at
            follows_digit = place + 1 < end and 48 <= data[place + 1] <= 57
            return at if data[place - 1] <= 32 or follows_digit else place + 1
        place += 1
    return at


@kernel
def formula_counts(data: Bytes, offsets: Ints) -> Ints:
    """int64[n, 4]: commands (`\\\\` and letters), `\\\\begin{`, formulas between dollars, and the
    characters of those formulas. A dollar behind a backslash opens nothing."""
    n = offsets.shape[0] - 1
    out = np.zeros((n, 4), dtype=np.int64)
    for d in range(n):
        at, end = offsets[d], offsets[d + 1]
        formula_end = at
        while at < end:
            byte = data[at]
            if byte == _BACKSLASH:
                if at + 1 < end and _is_letter(data[at + 1]):
                    out[d, COMMANDS] += 1
                    is_begin = at + _BEGIN.shape[0] <= end
                    for k in range(_BEGIN.shape[0]):
                        is_begin = is_begin and data[at + k] == _BEGIN[k]
                    out[d, ENVIRONMENTS] += is_begin
                at += 2
                continue
            if byte == _DOLLAR and at >= formula_end:
                formula_end = _formula_end(data, at, end)
                if formula_end > at:
                    out[d, FORMULAS] += 1
                    for k in range(at, formula_end):
                        out[d, FORMULA_CHARS] += data[k] & 0xC0 != 0x80
            at += 1
    return out
