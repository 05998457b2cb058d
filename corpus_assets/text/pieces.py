"""Texts cut down to pieces of themselves, and where each piece lay.

`pieces: int64[k, 2]` are (start, end) byte positions in a batch's data, in order and without
overlap; document d keeps `pieces[rows[d]:rows[d + 1]]`.
"""

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space, last_code_point


@kernel
def copy_pieces(data: Bytes, pieces: Ints, rows: Ints) -> tuple[Bytes, Ints]:
    """Return the kept bytes as a new batch: `data` and `offsets: int64[n + 1]`."""
    n = rows.shape[0] - 1
    offsets = np.zeros(n + 1, dtype=np.int64)
    for d in range(n):
        size = 0
        for k in range(rows[d], rows[d + 1]):
            size += pieces[k, 1] - pieces[k, 0]
        offsets[d + 1] = offsets[d] + size
    out = np.empty(offsets[n], dtype=np.uint8)
    place = 0
    for k in range(rows[0], rows[n]):
        for at in range(pieces[k, 0], pieces[k, 1]):
            out[place] = data[at]
            place += 1
    return out, offsets


@kernel
def count_chars(data: Bytes, offsets: Ints) -> Ints:
    """int64[n]: characters of each text, without splitting it."""
    out = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for d in range(out.shape[0]):
        n = 0
        for at in range(offsets[d], offsets[d + 1]):
            n += (data[at] & 0xC0) != 0x80
        out[d] = n
    return out


@kernel
def stripped(data: Bytes, offsets: Ints) -> Ints:
    """int64[n]: `len(text.strip())` of each text."""
    out = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for d in range(out.shape[0]):
        low, high = offsets[d], offsets[d + 1]
        while low < high:
            point, width = decode(data, low, high)
            if not is_space(point):
                break
            low += width
        while low < high and is_space(last_code_point(data, low, high)):
            high -= 1
            while high > low and data[high] & 0xC0 == 0x80:
                high -= 1
        n = 0
        for at in range(low, high):
            n += (data[at] & 0xC0) != 0x80
        out[d] = n
    return out


@kernel
def pieces_in_chars(data: Bytes, offsets: Ints, pieces: Ints, rows: Ints) -> Ints:
    """Return the same pieces as (start, end) in characters of their own document."""
    out = np.empty_like(pieces)
    for d in range(rows.shape[0] - 1):
        at = offsets[d]
        chars = 0
        for k in range(rows[d], rows[d + 1]):
            for side in range(2):
                while at < pieces[k, side]:
                    # Characters are counted by the bytes that begin one.
                    chars += (data[at] & 0xC0) != 0x80
                    at += 1
                out[k, side] = chars
    return out
