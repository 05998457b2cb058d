"""Raw lines and paragraphs, for the dialects that do not strip lines first."""

import numpy as np

from corpus_assets.signals.kernels.text_counts import Points, contains
from corpus_assets.text.split import END, NEWLINE, START, Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space, last_code_point

_DOT, _SPACE, _ELLIPSIS = 0x2E, 0x20, 0x2026


@kernel
def starts_with(data: Bytes, spans: Ints, marks: Points, strip: bool) -> Bytes:
    """uint8[k]: 1 where a span begins with one of the sorted code points.

    With `strip`, white space before it is passed over.
    """
    out = np.zeros(spans.shape[0], dtype=np.uint8)
    for k in range(spans.shape[0]):
        at, end = spans[k, START], spans[k, END]
        while at < end:
            point, width = decode(data, at, end)
            if not (strip and is_space(point)):
                out[k] = contains(marks, point)
                break
            at += width
    return out


@kernel
def stripped_end(data: Bytes, start: int, end: int) -> int:
    """Where a span ends without the white space behind it."""
    while end > start:
        at = end - 1
        while at > start and at > end - 4 and data[at] & 0xC0 == 0x80:
            at -= 1
        point, _ = decode(data, at, end)
        if not is_space(point):
            break
        end = at
    return end


@kernel
def ends_with(data: Bytes, spans: Ints, marks: Points, strip: bool) -> Bytes:
    """uint8[k]: 1 where a span ends with one of the sorted code points; `strip` as above."""
    out = np.zeros(spans.shape[0], dtype=np.uint8)
    for k in range(spans.shape[0]):
        start, end = spans[k, START], spans[k, END]
        if strip:
            end = stripped_end(data, start, end)
        if end > start:
            out[k] = contains(marks, last_code_point(data, start, end))
    return out


@kernel
def ends_in_dots(data: Bytes, spans: Ints, spaced: bool) -> Bytes:
    """uint8[k]: 1 where a span ends in U+2026 or three full stops, white space behind ignored.

    With `spaced`, full stops with one space between them count as well.
    """
    out = np.zeros(spans.shape[0], dtype=np.uint8)
    for k in range(spans.shape[0]):
        start = spans[k, START]
        end = stripped_end(data, start, spans[k, END])
        if end == start:
            continue
        if last_code_point(data, start, end) == _ELLIPSIS:
            out[k] = 1
        elif end - start >= 3 and data[end - 1] == _DOT and data[end - 2] == _DOT:
            out[k] = data[end - 3] == _DOT
        elif spaced and end - start >= 5:
            is_spaced = True
            for j in range(1, 6):
                is_spaced = is_spaced and data[end - j] == (_DOT if j % 2 else _SPACE)
            out[k] = is_spaced
    return out


@kernel
def words_with(data: Bytes, words: Ints, marks: Points) -> Bytes:
    """uint8[k]: 1 where a word holds one of the sorted code points."""
    out = np.zeros(words.shape[0], dtype=np.uint8)
    for k in range(words.shape[0]):
        at, end = words[k, START], words[k, END]
        while at < end:
            point, width = decode(data, at, end)
            if contains(marks, point):
                out[k] = 1
                break
            at += width
    return out


@kernel
def words_within(data: Bytes, words: Ints, table: Bytes) -> Bytes:
    """uint8[k]: 1 where a word consists of code points marked in `table: uint8[0x110000]`."""
    out = np.ones(words.shape[0], dtype=np.uint8)
    for k in range(words.shape[0]):
        at, end = words[k, START], words[k, END]
        while at < end:
            point, width = decode(data, at, end)
            if not table[point]:
                out[k] = 0
                break
            at += width
    return out


@kernel
def words_of_class(data: Bytes, words: Ints, classes: Bytes, bits: int) -> Bytes:
    """uint8[k]: 1 where a word holds a character of one of the classes in `bits`."""
    out = np.zeros(words.shape[0], dtype=np.uint8)
    for k in range(words.shape[0]):
        at, end = words[k, START], words[k, END]
        while at < end:
            point, width = decode(data, at, end)
            if classes[point] & bits:
                out[k] = 1
                break
            at += width
    return out


@kernel
def equal_to(data: Bytes, words: Ints, listed: Bytes, offsets: Ints) -> Ints:
    """int64[k]: which of the listed words a word is, byte for byte, or -1."""
    out = np.full(words.shape[0], -1, dtype=np.int64)
    longest = 0
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    for k in range(words.shape[0]):
        start = words[k, START]
        length = words[k, END] - start
        if length > longest:
            continue
        for s in range(offsets.shape[0] - 1):
            low = offsets[s]
            if offsets[s + 1] - low != length:
                continue
            same = True
            for j in range(length):
                if data[start + j] != listed[low + j]:
                    same = False
                    break
            if same:
                out[k] = s
                break
    return out


@kernel
def distinct_by_document(which: Ints, rows: Ints, n_listed: int) -> Ints:
    """int64[n]: how many different listed words each document has."""
    out = np.zeros(rows.shape[0] - 1, dtype=np.int64)
    met = np.full(n_listed, -1, dtype=np.int64)
    for d in range(rows.shape[0] - 1):
        for k in range(rows[d], rows[d + 1]):
            if which[k] >= 0 and met[which[k]] != d:
                met[which[k]] = d
                out[d] += 1
    return out


@kernel
def twice_the_median(values: Ints, rows: Ints) -> Ints:
    """int64[n]: twice the median of each document's values (so that it is whole), 0 for none."""
    out = np.zeros(rows.shape[0] - 1, dtype=np.int64)
    for d in range(rows.shape[0] - 1):
        n = rows[d + 1] - rows[d]
        if n:
            ordered = np.sort(values[rows[d] : rows[d + 1]])
            out[d] = ordered[(n - 1) // 2] + ordered[n // 2]
    return out


@kernel
def is_inked(data: Bytes, spans: Ints) -> Bytes:
    """uint8[k]: 1 where a span holds something that is no white space."""
    out = np.zeros(spans.shape[0], dtype=np.uint8)
    for k in range(spans.shape[0]):
        at, end = spans[k, START], spans[k, END]
        while at < end:
            point, width = decode(data, at, end)
            if not is_space(point):
                out[k] = 1
                break
            at += width
    return out


@kernel
def split_paragraphs(data: Bytes, offsets: Ints) -> tuple[Ints, Ints]:
    r"""Paragraphs as `re.split("\n{2,}", text.strip())` gives them: only empty lines separate.

    `spans: int64[k, 3]` and `rows: int64[n + 1]`; a text of white space has one, empty.
    """
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
