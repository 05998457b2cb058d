"""Characters of a page: entities, and which are words, marks and blanks. Kernels only."""

from html.entities import html5

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.markup import is_letter
from pageblocks.kernels.page_names import Words, find_slot, signed
from textkernels.byte_search import byte_kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

Bytes = npt.NDArray[np.uint8]

_WINDOWS = np.array(
    [ord(bytes([byte]).decode("cp1252", "replace")) for byte in range(128, 160)], dtype=np.int64
)
"""What `&#128;` to `&#159;` mean."""
_MAX_BARE = 1 + max(len(name) for name in html5 if not name.endswith(";"))
"""Bytes of `&` and the longest name that needs no semicolon."""


@byte_kernel
def read_entity(data: Bytes, at: int, hashes: Words, codes: Words) -> tuple[int, int, int]:
    """Place after the entity whose '&' is at `at`, its code point and a second or 0; (at, 0, 0)
    where it is none."""
    n = len(data)
    place = at + 1
    if place < n and data[place] == 35:
        place += 1
        base = 10
        if place < n and data[place] | 32 == 120:
            base = 16
            place += 1
        first = place
        code = 0
        while place < n and place - first < 12:
            byte = signed(data[place])
            if 48 <= byte <= 57:
                digit = byte - 48
            elif base == 16 and 97 <= byte | 32 <= 102:
                digit = (byte | 32) - 87
            else:
                break
            code = min(code * base + digit, 0x110000)
            place += 1
        if place == first:
            return at, 0, 0
        if place < n and data[place] == 59:
            place += 1
        if 128 <= code < 160:
            code = _WINDOWS[code - 128]
        if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
            code = 0xFFFD
        return place, code, 0
    value = FNV_OFFSET
    slot, end = -1, at  # of the longest name that needs no semicolon
    while place < n and place - at < 33 and (is_letter(data[place]) or 48 <= data[place] <= 57):
        value = (value ^ np.uint64(data[place])) * FNV_PRIME
        place += 1
        if place - at <= _MAX_BARE:
            found = find_slot(hashes, value)
            if found >= 0:
                slot, end = found, place
    if place > at + 1 and place < n and data[place] == 59:
        found = find_slot(hashes, (value ^ np.uint64(59)) * FNV_PRIME)
        if found >= 0:
            slot, end = found, place + 1
    if slot < 0:
        return at, 0, 0
    return (
        end,
        signed(codes[slot] & np.uint64(0xFFFFFFFF)),
        signed(codes[slot] >> np.uint64(32)),
    )


@byte_kernel
def is_blank(code: int) -> bool:
    return (
        code <= 32 or code == 0xA0 or code == 0x3000 or 0x2000 <= code <= 0x200B or code == 0xFEFF
    )


@byte_kernel
def is_word(code: int) -> bool:
    """Letters and digits, roughly `\\w` of Python's `re`."""
    if code < 128:
        return 48 <= code <= 57 or 97 <= (code | 32) <= 122 or code == 95
    if code < 0xC0:
        return code == 0xAA or code == 0xB5 or code == 0xBA
    if 0x2000 <= code < 0x2C00:
        return 0x2070 <= code < 0x20A0 or 0x2100 <= code < 0x2190
    if (
        code == 0x387
        or 0x5BE <= code <= 0x5C6
        or code in (0x60C, 0x61B, 0x61F, 0x6D4, 0x964, 0x965)
    ):
        return False
    return not (
        0x3000 <= code < 0x3005 or 0x3008 <= code <= 0x3020 or 0xFF00 <= code < 0xFF10
        or 0xFF1A <= code < 0xFF21 or 0xFE10 <= code < 0xFE70 or code == 0x30FB
    )  # fmt: skip


@byte_kernel
def is_sign(code: int) -> bool:
    """Neither letter nor digit: punctuation, symbols, icons and characters of private use."""
    return not is_word(code) or 0xE000 <= code < 0xF900 or 0x1F000 <= code < 0x1FB00


@byte_kernel
def is_mark(code: int) -> bool:
    """Punctuation of sentences: comma, full stop, colon, semicolon, question and exclamation."""
    if code < 128:
        return code in (33, 44, 46, 58, 59, 63)
    return code in (
        0x3001, 0x3002, 0xFF01, 0xFF0C, 0xFF0E, 0xFF1A, 0xFF1B, 0xFF1F, 0x60C, 0x61B, 0x61F, 0x6D4,
        0x964, 0x2026, 0x55D, 0x589, 0x1362,
    )  # fmt: skip


@byte_kernel
def ends_sentence(code: int) -> bool:
    return code in (33, 46, 63, 0x3002, 0xFF01, 0xFF1F, 0x61F, 0x6D4, 0x964, 0x2026, 0x589, 0x1362)
