"""UTF-8 and Arrow, at the level of bytes and code points.

Bytes that are not UTF-8 read as U+FFFD, one byte each, never beyond the text's end.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.text.bytes import byte_kernel
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
def code_point(data: Any, pos: int, end: int) -> tuple[Any, int]:
    """Code point and byte width at `pos` of uint8 `data`; (U+FFFD, 1) where it is not UTF-8."""
    lead = np.int64(data[pos])
    if lead < 0x80:
        return lead, 1
    if 0xC2 <= lead < 0xE0:
        width, code = 2, lead & 0x1F
    elif 0xE0 <= lead < 0xF0:
        width, code = 3, lead & 0x0F
    elif 0xF0 <= lead < 0xF5:
        width, code = 4, lead & 0x07
    else:
        return 0xFFFD, 1
    if pos + width > end:
        return 0xFFFD, 1
    for i in range(pos + 1, pos + width):
        tail = np.int64(data[i])
        if tail & 0xC0 != 0x80:
            return 0xFFFD, 1
        code = (code << 6) | (tail & 0x3F)
    if code > 0x10FFFF:
        return 0xFFFD, 1
    return code, width


@kernel(inline="always")
def is_pair(data: Any, pos: int, end: int) -> bool:
    """Whether a character of two bytes stands at `pos`. With `pair`, and the same for three, what
    `code_point` says in a fifth of the time: the next place does not wait for the decoding."""
    return 0xC2 <= data[pos] < 0xE0 and pos + 1 < end and data[pos + 1] & 0xC0 == 0x80


@kernel(inline="always")
def pair(data: Any, pos: int) -> Any:
    """The code point of two bytes."""
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
    """The code point of three bytes."""
    high = ((np.int64(data[pos]) & 0x0F) << 12) | ((np.int64(data[pos + 1]) & 0x3F) << 6)
    return high | (np.int64(data[pos + 2]) & 0x3F)
