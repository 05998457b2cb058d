"""Lines as they stand in the text: neither stripped nor without the blank ones.

Most published rules strip lines and leave blank ones out, and so does `text.split`; some of
the code that corpora were made with does not, and these spans are for its dialects.
"""

import numpy as np

from corpus_assets.text.split import CHARS, END, NEWLINE, START, Bytes, Hashes, Ints, table_size
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space


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
def line_break(data: Bytes, at: int, end: int) -> int:
    """Bytes of the line end at `at` as `str.splitlines` knows them, or 0: besides LF and CR these are
    VT, FF, FS, GS, RS, U+0085, U+2028 and U+2029; CR with LF is one."""
    first = data[at]
    if first >= 0xE0:
        is_separator = at + 2 < end and first == 0xE2 and data[at + 1] == 0x80
        return 3 if is_separator and (data[at + 2] == 0xA8 or data[at + 2] == 0xA9) else 0
    if first == 0x0D and at + 1 < end and data[at + 1] == NEWLINE:
        return 2
    if NEWLINE <= first <= 0x0D or 0x1C <= first <= 0x1E:
        return 1
    return 2 if first == 0xC2 and at + 1 < end and data[at + 1] == 0x85 else 0


@kernel
def python_lines(data: Bytes, offsets: Ints, strip: bool) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` and `rows: int64[n + 1]`: the items of `text.splitlines()`; with `strip`
    stripped ones, where something is left."""
    n = offsets.shape[0] - 1
    rows = np.zeros(n + 1, dtype=np.int64)
    room = n
    for at in range(offsets[0], offsets[n]):
        room += line_break(data, at, offsets[n]) > 0
    spans = np.empty((room, 3), dtype=np.int64)
    free = 0
    for d in range(n):
        at, end = offsets[d], offsets[d + 1]
        start, chars = at, 0
        while start < end:
            width = line_break(data, at, end) if at < end else 1
            if not width:
                chars += (data[at] & 0xC0) != 0x80
                at += 1
                continue
            spans[free, START], spans[free, END], spans[free, CHARS] = start, at, chars
            if strip:
                _strip(data, spans, free)
            free += not strip or spans[free, CHARS] > 0
            at += width
            start, chars = at, 0
        rows[d + 1] = free
    return spans[:free], rows


@kernel
def _strip(data: Bytes, spans: Ints, k: int) -> None:
    """Take white space off both ends of a span."""
    start, end, chars = spans[k, START], spans[k, END], spans[k, CHARS]
    while start < end:
        point, width = decode(data, start, end)
        if not is_space(point):
            break
        start += width
        chars -= 1
    while end > start:
        at = end - 1
        while at > start and at > end - 4 and data[at] & 0xC0 == 0x80:
            at -= 1
        point, _ = decode(data, at, end)
        if not is_space(point):
            break
        end = at
        chars -= 1
    spans[k, START], spans[k, END], spans[k, CHARS] = start, end, chars


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
