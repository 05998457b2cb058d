"""Which bytes of a text are surplus white space."""

import numpy as np

from corpus_assets.text.split import NEWLINE, Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space


@kernel
def surplus(data: Bytes, offsets: Ints) -> tuple[Bytes, Ints]:
    """`gone: uint8[bytes]` with 1 for each byte to cut, and int64[n]: characters to cut.

    Of a run of white space its first character stays; where it holds line ends, two of them at
    most and what follows the last, which is indentation. Runs at the ends of a text go.
    """
    n = offsets.shape[0] - 1
    gone = np.zeros(data.shape[0], dtype=np.uint8)
    counts = np.zeros(n, dtype=np.int64)
    for d in range(n):
        low, end = offsets[d], offsets[d + 1]
        at = low
        has_ink = False
        while at < end:
            point, width = decode(data, at, end)
            if not is_space(point):
                has_ink = True
                at += width
                continue
            start, last_newline = at, -1
            while at < end and is_space(point):
                if point == NEWLINE:
                    last_newline = at
                at += width
                if at < end:
                    point, width = decode(data, at, end)
            newlines = 0
            place = start
            while place < at:
                point, width = decode(data, place, at)
                stays = False
                if not has_ink or at == end:
                    pass
                elif last_newline < 0:
                    stays = place == start
                elif point == NEWLINE:
                    newlines += 1
                    stays = newlines <= 2
                else:
                    stays = place > last_newline
                if not stays:
                    gone[place : place + width] = 1
                    counts[d] += 1
                place += width
    return gone, counts


@kernel
def kept_pieces(gone: Bytes, offsets: Ints) -> tuple[Ints, Ints]:
    """`pieces: int64[k, 2]` of the bytes that stay, and `rows: int64[n + 1]`."""
    n = offsets.shape[0] - 1
    rows = np.zeros(n + 1, dtype=np.int64)
    for d in range(n):
        rows[d + 1] = rows[d]
        for at in range(offsets[d], offsets[d + 1]):
            if not gone[at] and (at == offsets[d] or gone[at - 1]):
                rows[d + 1] += 1
    pieces = np.empty((rows[n], 2), dtype=np.int64)
    for d in range(n):
        k = rows[d] - 1
        for at in range(offsets[d], offsets[d + 1]):
            if gone[at]:
                continue
            if at == offsets[d] or gone[at - 1]:
                k += 1
                pieces[k, 0] = at
            pieces[k, 1] = at + 1
    return pieces, rows
