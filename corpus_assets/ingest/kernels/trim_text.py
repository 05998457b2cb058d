"""Text of a page as it is kept: up to the next tag with its white space collapsed, or cut."""

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.markup import _CLASSES, _SPACE
from corpus_assets.text.bytes import (
    BLOCK_BYTES,
    above64,
    append_bytes,
    byte_kernel,
    copy64,
    copy_bytes,
    equal64,
    find_byte,
    ones_in,
    zeros_below,
)

Bytes = npt.NDArray[np.uint8]

KEPT_CONTENT_BYTES = 1536


@byte_kernel
def write_text(
    data: Bytes, at: int, out: Bytes, size: int, collapses: bool
) -> tuple[int, int, bool]:
    """Write text up to the next '<'; whether it is all white space comes with it."""
    n = len(data)
    if not collapses:
        end = find_byte(data, 60, at)
        return end, copy_bytes(data, at, end, out, size), False
    is_blank = True
    after_space = False
    while at < n and data[at] != 60:
        if at + BLOCK_BYTES <= n:
            here, is_plain, is_empty = _plain_text(data, at, after_space)
            if is_plain or is_empty:
                if is_plain:
                    copy64(data, at, out, size)
                    size += here
                elif not after_space:
                    out[size] = 32
                    size += 1
                at += here
                is_blank &= is_empty
                after_space = is_empty or data[at - 1] == 32
                continue
        end = min(at + BLOCK_BYTES, n)
        while at < end and data[at] != 60:
            byte = data[at]
            if _CLASSES[byte] & _SPACE:
                if not after_space:
                    out[size] = 32
                    size += 1
                after_space = True
            else:
                out[size] = byte
                size += 1
                after_space = is_blank = False
            at += 1
    return at, size, is_blank


@byte_kernel
def _plain_text(data: Bytes, at: int, after_space: bool) -> tuple[int, bool, bool]:
    """How many of 64 bytes come before a '<', at least one; whether their white space is single
    spaces, none of them first after another; whether they are nothing but white space."""
    here = int(zeros_below(equal64(data, at, 60)))
    inside = ~np.uint64(0) >> np.uint64(BLOCK_BYTES - here)
    spaces = equal64(data, at, 32) & inside
    others = equal64(data, at, 9) | equal64(data, at, 10)
    others = (others | equal64(data, at, 12) | equal64(data, at, 13)) & inside
    doubles = spaces & ((spaces << np.uint64(1)) | np.uint64(after_space))
    return here, others | doubles == 0, spaces | others == inside


@byte_kernel
def write_beginning(data: Bytes, at: int, end: int, out: Bytes, size: int) -> int:
    """Write as much of a text as counts, up to the end of a character."""
    start = at
    kept = 0
    while kept < KEPT_CONTENT_BYTES and at + BLOCK_BYTES <= end:
        kept += int(ones_in(above64(data, at, 32)))
        at += BLOCK_BYTES
    if at + BLOCK_BYTES > end:
        at = end
    while at < end and data[at] & 0xC0 == 0x80:
        at += 1
    return append_bytes(data, start, at, out, size)
