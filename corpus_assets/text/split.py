"""UTF-8 text into words, lines and paragraphs, without a Python object for any of them.

A batch is `data: uint8[bytes]` and `offsets: int64[n + 1]`; document d is
`data[offsets[d]:offsets[d + 1]]`. All positions are int64 byte positions in `data`, all
lengths of text are code points. Nothing overflows below 2**63 bytes a batch.

The definitions, each equal to a line of Python:

* word: an item of `text.split()`, that is, a run without Unicode white space;
* line: a piece of `text.split("
")`, stripped, where something is left after stripping;
* paragraph: a run of such lines without a blank line between them, from the first
  character of its first line to the last character of its last line.

Malformed UTF-8 never reads outside its document: a byte that cannot start or complete a
character counts as one character of its own.
"""

import numpy as np
import numpy.typing as npt

from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, splitmix64
from textkernels.utf8 import decode, is_space

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

NEWLINE = 10
START, END, CHARS = 0, 1, 2  # the columns of a span table


@kernel
def _scan(
    data: Bytes,
    low: int,
    high: int,
    words: Ints,
    lines: Ints,
    paragraphs: Ints,
    counts: Ints,
    store: bool,
) -> tuple[int, int]:
    """Walk one document; advance `counts` (words, lines, paragraphs) and maybe store spans.

    Returns the document's characters and line ends. Counting and storing are one function,
    so that they cannot disagree.
    """
    n_words, n_lines, n_paragraphs = counts[0], counts[1], counts[2]
    chars = 0
    newlines = 0
    word_start = -1
    word_char = 0
    line_start = -1
    line_char = 0
    ink_end = low  # end of the last character that is no white space, in bytes and characters
    ink_char = 0
    paragraph_start = -1
    paragraph_char = 0
    paragraph_end = low
    paragraph_end_char = 0
    at = low
    while at <= high:
        if at < high and 32 < data[at] < 0x80:
            # The common case, a run of ASCII that is no white space: bytes are characters.
            if word_start < 0:
                word_start = at
                word_char = chars
                if line_start < 0:
                    line_start = at
                    line_char = chars
            run = at
            while at < high and 32 < data[at] < 0x80:
                at += 1
            chars += at - run
            ink_end = at
            ink_char = chars
            continue
        # One more turn at `high` closes whatever is open.
        if at == high:
            point, width = NEWLINE, 1
        else:
            point, width = decode(data, at, high)
        if is_space(point):
            if word_start >= 0:
                if store:
                    words[n_words, START] = word_start
                    words[n_words, END] = at
                    words[n_words, CHARS] = chars - word_char
                n_words += 1
                word_start = -1
            if point == NEWLINE:
                if at < high:
                    newlines += 1
                if line_start >= 0:
                    if store:
                        lines[n_lines, START] = line_start
                        lines[n_lines, END] = ink_end
                        lines[n_lines, CHARS] = ink_char - line_char
                    n_lines += 1
                    if paragraph_start < 0:
                        paragraph_start = line_start
                        paragraph_char = line_char
                    paragraph_end = ink_end
                    paragraph_end_char = ink_char
                    line_start = -1
                    blank = False
                else:
                    blank = True
                if paragraph_start >= 0 and (blank or at == high):
                    if store:
                        paragraphs[n_paragraphs, START] = paragraph_start
                        paragraphs[n_paragraphs, END] = paragraph_end
                        paragraphs[n_paragraphs, CHARS] = paragraph_end_char - paragraph_char
                    n_paragraphs += 1
                    paragraph_start = -1
        else:
            if word_start < 0:
                word_start = at
                word_char = chars
                if line_start < 0:
                    line_start = at
                    line_char = chars
            ink_end = at + width
            ink_char = chars + 1
        if at < high:
            chars += 1
        at += width
    counts[0], counts[1], counts[2] = n_words, n_lines, n_paragraphs
    return chars, newlines


@kernel
def count_spans(data: Bytes, offsets: Ints) -> tuple[Ints, Ints, Ints]:
    """First pass: where each document's words, lines and paragraphs will lie.

    Returns `rows: int64[3, n + 1]` (row k of document d is `rows[k, d]:rows[k, d + 1]`, with
    k = 0 words, 1 lines, 2 paragraphs), `chars: int64[n]` and `newlines: int64[n]`.
    """
    n = offsets.shape[0] - 1
    rows = np.zeros((3, n + 1), dtype=np.int64)
    chars = np.zeros(n, dtype=np.int64)
    newlines = np.zeros(n, dtype=np.int64)
    nothing = np.empty((0, 3), dtype=np.int64)
    counts = np.zeros(3, dtype=np.int64)
    for d in range(n):
        low, high = offsets[d], offsets[d + 1]
        chars[d], newlines[d] = _scan(data, low, high, nothing, nothing, nothing, counts, False)
        for k in range(3):
            rows[k, d + 1] = counts[k]
    return rows, chars, newlines


@kernel
def fill_spans(data: Bytes, offsets: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Second pass: words, lines and paragraphs as int64[k, 3] of (start, end, characters)."""
    n = offsets.shape[0] - 1
    words = np.empty((rows[0, n], 3), dtype=np.int64)
    lines = np.empty((rows[1, n], 3), dtype=np.int64)
    paragraphs = np.empty((rows[2, n], 3), dtype=np.int64)
    counts = np.zeros(3, dtype=np.int64)
    for d in range(n):
        _scan(data, offsets[d], offsets[d + 1], words, lines, paragraphs, counts, True)
    return words, lines, paragraphs


@kernel
def hash_spans(data: Bytes, spans: Ints) -> Hashes:
    """uint64[k]: FNV-1a of each span's bytes, mixed; arithmetic wraps modulo 2**64.

    Two different spans of a document share a hash with probability 2**-64; among m distinct
    spans some two do with probability below m**2 / 2**65, which is 3e-10 for 100,000 words.
    Only statistics of that one document would then be off, by one repeated item.
    """
    out = np.empty(spans.shape[0], dtype=np.uint64)
    for k in range(spans.shape[0]):
        value = FNV_OFFSET
        for at in range(spans[k, START], spans[k, END]):
            value = (value ^ np.uint64(data[at])) * FNV_PRIME
        out[k] = splitmix64(value)
    return out


@kernel
def table_size(items: int) -> int:
    """Return a power of two that leaves an open-addressing table of `items` at most half full."""
    size = 8
    while size < 2 * items:
        size *= 2
    return size


@kernel
def mark_repeats(hashes: Hashes, rows: Ints) -> Bytes:
    """uint8[k]: 1 where the same hash stood earlier in the same document.

    `rows: int64[n + 1]` delimits the documents. Linear time; the table is reused.
    """
    repeats = np.zeros(hashes.shape[0], dtype=np.uint8)
    largest = 0
    for d in range(rows.shape[0] - 1):
        largest = max(largest, rows[d + 1] - rows[d])
    table = np.empty(table_size(largest), dtype=np.int64)
    for d in range(rows.shape[0] - 1):
        size = table_size(rows[d + 1] - rows[d])
        table[:size] = -1
        for k in range(rows[d], rows[d + 1]):
            slot = np.int64(hashes[k] & np.uint64(size - 1))
            while table[slot] >= 0 and hashes[table[slot]] != hashes[k]:
                slot = (slot + 1) & (size - 1)
            if table[slot] >= 0:
                repeats[k] = 1
            else:
                table[slot] = k
    return repeats
