"""Counts over words and lines behind the Gopher and FineWeb signals.

Kernels return int64 counts a document; the signal families divide. Batch layout and the
meaning of words and lines are those of `corpus_assets.text.split`.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.split import CHARS, END, START, Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, last_code_point

Points = npt.NDArray[np.int32]

(
    WORD_CHARS,
    ALPHABETIC_WORDS,
    STOP_WORDS_COUNTED,
    STOP_WORDS_DISTINCT,
    HASHES,
    ELLIPSES,
    BULLET_LINES,
    ELLIPSIS_LINES,
) = range(8)
TERMINAL_LINES, SHORT_LINES, REPEATED_LINE_CHARS = range(3)

_HASH = 0x23
_DOT = 0x2E
_ELLIPSIS = 0x2026


@kernel
def contains(points: Points, point: int) -> bool:
    """Whether a sorted int32 array holds a code point; binary search."""
    low, high = 0, points.shape[0]
    while low < high:
        middle = (low + high) // 2
        if points[middle] < point:
            low = middle + 1
        else:
            high = middle
    return low < points.shape[0] and bool(points[low] == point)


@kernel
def _find_stop_word(data: Bytes, start: int, end: int, stops: Bytes, stop_offsets: Ints) -> int:
    """Index of the stop word that equals [start, end) without regard to ASCII case, or -1."""
    for s in range(stop_offsets.shape[0] - 1):
        low = stop_offsets[s]
        if stop_offsets[s + 1] - low != end - start:
            continue
        same = True
        for k in range(end - start):
            byte = data[start + k]
            if 65 <= byte <= 90:
                byte += 32
            if byte != stops[low + k]:
                same = False
                break
        if same:
            return s
    return -1


@kernel
def _count_symbols(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """Return number signs and ellipses; works on bytes, since UTF-8 never hides one in another."""
    hashes = 0
    ellipses = 0
    dots = 0
    for at in range(start, end):
        byte = data[at]
        if byte == _DOT:
            dots += 1
            if dots == 3:
                ellipses += 1
                dots = 0
            continue
        dots = 0
        if byte == _HASH:
            hashes += 1
        elif byte == 0xE2 and at + 2 < end and data[at + 1] == 0x80 and data[at + 2] == 0xA6:
            ellipses += 1
    return hashes, ellipses


@kernel
def _has_letter(data: Bytes, start: int, end: int, letters: Bytes) -> bool:
    at = start
    while at < end:
        if data[at] < 0x80:
            if letters[data[at]]:
                return True
            at += 1
        else:
            point, width = decode(data, at, end)
            if letters[point]:
                return True
            at += width
    return False


@kernel
def have_letters(data: Bytes, words: Ints, letters: Bytes) -> npt.NDArray[np.bool_]:
    """bool[w]: whether each word has a letter, with `letters: uint8[0x110000]`."""
    out = np.zeros(words.shape[0], dtype=np.bool_)
    for w in range(words.shape[0]):
        out[w] = _has_letter(data, words[w, START], words[w, END], letters)
    return out


@kernel
def gopher_counts(
    data: Bytes,
    offsets: Ints,
    words: Ints,
    word_rows: Ints,
    lines: Ints,
    line_rows: Ints,
    letters: Bytes,
    bullets: Points,
    stops: Bytes,
    stop_offsets: Ints,
) -> Ints:
    """int64[n, 8] in the order of the constants above.

    `letters: uint8[0x110000]`, `bullets`: sorted code points, `stops` and `stop_offsets`:
    lower-case stop words in the layout of a batch. An ellipsis is U+2026 or three full stops;
    a run of k full stops holds k // 3.
    """
    n = word_rows.shape[0] - 1
    n_stops = stop_offsets.shape[0] - 1
    longest_stop = 0
    for s in range(n_stops):
        longest_stop = max(longest_stop, stop_offsets[s + 1] - stop_offsets[s])
    met = np.full(n_stops, -1, dtype=np.int64)  # last document that had the stop word
    out = np.zeros((n, 8), dtype=np.int64)
    for d in range(n):
        out[d, HASHES], out[d, ELLIPSES] = _count_symbols(data, offsets[d], offsets[d + 1])
        for w in range(word_rows[d], word_rows[d + 1]):
            start, end = words[w, START], words[w, END]
            out[d, WORD_CHARS] += words[w, CHARS]
            if _has_letter(data, start, end, letters):
                out[d, ALPHABETIC_WORDS] += 1
            if end - start <= longest_stop:
                stop = _find_stop_word(data, start, end, stops, stop_offsets)
                if stop >= 0:
                    out[d, STOP_WORDS_COUNTED] += 1
                    if met[stop] != d:
                        met[stop] = d
                        out[d, STOP_WORDS_DISTINCT] += 1
        for k in range(line_rows[d], line_rows[d + 1]):
            start, end = lines[k, START], lines[k, END]
            point, _ = decode(data, start, end)
            if contains(bullets, point):
                out[d, BULLET_LINES] += 1
            if _ends_in_ellipsis(data, start, end):
                out[d, ELLIPSIS_LINES] += 1
    return out


@kernel
def _ends_in_ellipsis(data: Bytes, start: int, end: int) -> bool:
    if last_code_point(data, start, end) == _ELLIPSIS:
        return True
    return (
        end - start >= 3
        and data[end - 1] == _DOT
        and data[end - 2] == _DOT
        and data[end - 3] == _DOT
    )


@kernel
def line_counts(
    data: Bytes,
    lines: Ints,
    line_rows: Ints,
    line_repeats: Bytes,
    terminals: Points,
    short_chars: int,
) -> Ints:
    """int64[n, 3]: lines that end in a terminal mark, lines of at most `short_chars`
    characters, and the characters of lines that stood earlier in the document."""
    n = line_rows.shape[0] - 1
    out = np.zeros((n, 3), dtype=np.int64)
    for d in range(n):
        for k in range(line_rows[d], line_rows[d + 1]):
            if contains(terminals, last_code_point(data, lines[k, START], lines[k, END])):
                out[d, TERMINAL_LINES] += 1
            if lines[k, CHARS] <= short_chars:
                out[d, SHORT_LINES] += 1
            if line_repeats[k]:
                out[d, REPEATED_LINE_CHARS] += lines[k, CHARS]
    return out
