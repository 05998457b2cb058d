"""UTF-8 read and written by code points, and the white space among them.

Bytes that are not UTF-8 read as U+FFFD, one byte each, never beyond the text's end. Surrogates,
and sequences longer than they need to be, are read; `is_strict` tells them.
"""

from typing import Any

import numpy as np

from textkernels.byte_search import byte_kernel
from textkernels.compiled import kernel


@byte_kernel
def decode(data: Any, at: int, end: int) -> tuple[Any, int]:
    """Code point at `at` and its width in bytes; (U+FFFD, 1) where it is not UTF-8."""
    first = np.int64(data[at])
    if first < 0x80:  # kept apart from the rest, so that this much is inlined everywhere
        return first, 1
    return _decode_wide(data, at, end, first)


@byte_kernel
def _decode_wide(data: Any, at: int, end: int, first: Any) -> tuple[Any, int]:
    if 0xC2 <= first < 0xE0:
        width, point = 2, first & 0x1F
    elif 0xE0 <= first < 0xF0:
        width, point = 3, first & 0x0F
    elif 0xF0 <= first < 0xF5:
        width, point = 4, first & 0x07
    else:
        return 0xFFFD, 1
    if at + width > end:
        return 0xFFFD, 1
    for k in range(1, width):
        byte = np.int64(data[at + k])
        if byte & 0xC0 != 0x80:
            return 0xFFFD, 1
        point = (point << 6) | (byte & 0x3F)
    if point > 0x10FFFF:
        return 0xFFFD, 1
    return point, width


@byte_kernel
def last_code_point(data: Any, start: int, end: int) -> Any:
    """Return the code point that ends the non-empty span [start, end)."""
    at = end - 1
    while at > start and at > end - 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    point, width = decode(data, at, end)
    return point if at + width == end else 0xFFFD


@byte_kernel
def is_strict(point: int, width: int) -> bool:
    """Whether a strict decoder takes what `decode` gave for a byte beyond ASCII: a sequence, no
    surrogate, and not longer than the code point needs."""
    if width == 3:
        return point >= 0x800 and not 0xD800 <= point < 0xE000
    return width == 2 or (width == 4 and point >= 0x10000)


@byte_kernel
def encode(out: Any, at: int, point: int) -> int:
    """Write a code point at `at` of `out`, which has room for it; the place after it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 63
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 63
        out[at + 2] = 0x80 | point & 63
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 63
    out[at + 2] = 0x80 | point >> 6 & 63
    out[at + 3] = 0x80 | point & 63
    return at + 4


@byte_kernel
def is_space(point: int) -> bool:
    """Whether `str.isspace` calls it white space (a closed list since Unicode 6.3)."""
    if point < 0x80:
        return 9 <= point <= 13 or 28 <= point <= 32
    if point < 0x1680:
        return point == 0x85 or point == 0xA0
    return (
        0x2000 <= point <= 0x200A
        or point == 0x1680
        or point == 0x2028
        or point == 0x2029
        or point == 0x202F
        or point == 0x205F
        or point == 0x3000
    )


@kernel(inline="always")
def is_pair(data: Any, pos: int, end: int) -> bool:
    """Whether a character of two bytes stands at `pos`. With `pair`, and the same for three, what
    `decode` says in a fifth of the time: the next place does not wait for the decoding."""
    return 0xC2 <= data[pos] < 0xE0 and pos + 1 < end and data[pos + 1] & 0xC0 == 0x80


@kernel(inline="always")
def pair(data: Any, pos: int) -> Any:
    """Return the code point of two bytes."""
    return ((np.int64(data[pos]) & 0x1F) << 6) | (np.int64(data[pos + 1]) & 0x3F)


@kernel(inline="always")
def is_triple(data: Any, pos: int, end: int) -> bool:
    """Whether a character of three bytes stands at `pos`."""
    return (
        0xE0 <= data[pos] < 0xF0
        and pos + 2 < end
        and data[pos + 1] & 0xC0 == 0x80
        and data[pos + 2] & 0xC0 == 0x80
    )


@kernel(inline="always")
def triple(data: Any, pos: int) -> Any:
    """Return the code point of three bytes."""
    high = ((np.int64(data[pos]) & 0x0F) << 12) | ((np.int64(data[pos + 1]) & 0x3F) << 6)
    return high | (np.int64(data[pos + 2]) & 0x3F)
