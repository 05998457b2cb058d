"""Lines as they stand in the text: neither stripped nor without the blank ones.

Most published rules strip lines and leave blank ones out, and so does `text.split`; some of
the code that corpora were made with does not, and these spans are for its dialects.
"""

import numpy as np

from corpus_assets.text.split import CHARS, END, NEWLINE, START, Bytes, Hashes, Ints, table_size
from textkernels.compiled import kernel


@kernel
def raw_lines(data: Bytes, offsets: Ints, newlines: Ints) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` and `rows: int64[n + 1]`: the pieces of `text.split("\\n")`."""
    n = offsets.shape[0] - 1
    rows = np.zeros(n + 1, dtype=np.int64)
    for d in range(n):
        rows[d + 1] = rows[d] + newlines[d] + 1
    spans = np.empty((rows[n], 3), dtype=np.int64)
    for d in range(n):
        k = rows[d]
        start = offsets[d]
        chars = 0
        for at in range(offsets[d], offsets[d + 1]):
            if data[at] == NEWLINE:
                spans[k, START], spans[k, END], spans[k, CHARS] = start, at, chars
                k += 1
                start, chars = at + 1, 0
            elif data[at] & 0xC0 != 0x80:
                chars += 1
        spans[k, START], spans[k, END], spans[k, CHARS] = start, offsets[d + 1], chars
    return spans, rows


@kernel
def occurrences(hashes: Hashes, rows: Ints) -> Ints:
    """int64[k]: how often the same hash stands in the same document."""
    count = np.zeros(hashes.shape[0], dtype=np.int64)
    largest = 0
    for d in range(rows.shape[0] - 1):
        largest = max(largest, rows[d + 1] - rows[d])
    table = np.empty(table_size(largest), dtype=np.int64)
    first = np.empty(largest, dtype=np.int64)
    for d in range(rows.shape[0] - 1):
        low, high = rows[d], rows[d + 1]
        size = table_size(high - low)
        table[:size] = -1
        for k in range(low, high):
            slot = np.int64(hashes[k] & np.uint64(size - 1))
            while table[slot] >= 0 and hashes[table[slot]] != hashes[k]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = k
            first[k - low] = table[slot]
            count[table[slot]] += 1
        for k in range(low, high):
            count[k] = count[first[k - low]]
    return count
