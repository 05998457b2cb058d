"""Paragraphs as `re.split("\\n{2,}", text.strip())` gives them: only empty lines separate."""

import numpy as np

from corpus_assets.kernels.compiled import kernel
from corpus_assets.kernels.line_dialects import stripped_end
from corpus_assets.kernels.text import NEWLINE, Bytes, Ints, decode, is_space


@kernel
def split_paragraphs(data: Bytes, offsets: Ints) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` and `rows: int64[n + 1]`; a text of white space has one, empty."""
    n = offsets.shape[0] - 1
    rows = np.zeros(n + 1, dtype=np.int64)
    room = n
    for at in range(offsets[0], offsets[n]):
        room += data[at] == NEWLINE
    spans = np.empty((room, 3), dtype=np.int64)
    free = 0
    for d in range(n):
        start = offsets[d]
        end = stripped_end(data, start, offsets[d + 1])
        while start < end:
            point, width = decode(data, start, end)
            if not is_space(point):
                break
            start += width
        at, chars = start, 0
        while at < end:
            if data[at] == NEWLINE and at + 1 < end and data[at + 1] == NEWLINE:
                spans[free, 0], spans[free, 1], spans[free, 2] = start, at, chars
                free += 1
                while data[at] == NEWLINE:
                    at += 1
                start, chars = at, 0
            else:
                chars += (data[at] & 0xC0) != 0x80
                at += 1
        spans[free, 0], spans[free, 1], spans[free, 2] = start, end, chars
        free += 1
        rows[d + 1] = free
    return spans[:free], rows
