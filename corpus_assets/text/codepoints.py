"""UTF-8 and Arrow, at the level of bytes and code points.

Bytes that are not UTF-8 read as U+FFFD, one byte each, never beyond the text's end.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.text.byte_search import byte_kernel
from corpus_assets.text.compiled import kernel


def text_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """UTF-8 bytes and offsets of a large_string array without nulls, shared and read-only."""
    _, offsets, data = texts.buffers()
    if offsets is None or len(texts) == 0:
        none = np.zeros(1, np.int64)
        none.flags.writeable = False
        return np.frombuffer(b"", np.uint8), none
    at = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data is None:
        return np.frombuffer(b"", np.uint8), at
    start, stop = int(at[0]), int(at[-1])
    if start == 0:
        return np.frombuffer(data, np.uint8)[:stop], at
    moved = at - start
    moved.flags.writeable = False
    return np.frombuffer(data, np.uint8)[start:stop], moved


def each_of(codes: npt.NDArray[np.uint32]) -> pa.Array:
    """Strings of one character each."""
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    ends = np.concatenate([[0], np.cumsum(widths)])
    data = codes.astype("<u4").tobytes().decode("utf-32-le").encode()
    return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(ends), pa.py_buffer(data))


def code_points(texts: pa.Array) -> npt.NDArray[np.uint32]:
    data, _ = text_buffers(texts)
    return np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)


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
