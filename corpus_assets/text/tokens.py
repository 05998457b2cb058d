"""Words with punctuation apart, near to what linguistic tokenizers for English make of a text.

Each run between white space is taken apart, without a dictionary:

1. marks (punctuation and symbols) are peeled off its front and its end, each a token; a run of full
   stops is one token. One full stop at the front stays (`.log`), and one at the end where the rest
   holds another (`U.S.`, `e.g.`). What belongs to the word stays: `@`, the tsheg, and hyphens,
   slashes, bars, `~`, `^` and the pilcrow, as in `-v`, `/etc/` and `|---|`; mathematical signs but
   `<`, `>`, `=` and `+`; at the end `=`, and `+`, `%` and signs of currencies behind anything but a
   digit (`C++`, `end=`);
2. then an English ending is peeled off: `n't`, or `'s`, `'re`, `'ve`, `'ll`, `'d`, `'m`;
3. what is left is cut at marks between two characters, which become tokens: a comma, `~`, a dash or
   one to three hyphens between letters, `-`, `+`, `*` and `^` between digits, `:`, `<`, `>`, `=` or
   `/` before a letter, a full stop between a small and a capital letter, an ellipsis or several full
   stops anywhere.

Layout and positions are those of `text.split`.
"""

import numpy as np

from corpus_assets.text.phrases import lower
from corpus_assets.text.split import CHARS, END, START, Bytes, Ints
from corpus_assets.text.unicode import (
    DIGIT,
    LETTER,
    LOWER,
    MATHEMATICS,
    NUMERIC,
    PUNCTUATION,
    SYMBOL,
    UPPER,
)
from textkernels.compiled import kernel
from textkernels.utf8 import decode

_MARKS = PUNCTUATION | SYMBOL | MATHEMATICS
_DOT, _HYPHEN, _COMMA, _AT = 0x2E, 0x2D, 0x2C, 0x40
_ELLIPSIS, _STAR, _PLUS, _EQUALS, _LESS, _MORE = 0x2026, 0x2A, 0x2B, 0x3D, 0x3C, 0x3E
_DOLLAR, _PERCENT, _BAHT = 0x24, 0x25, 0xE3F
_TSHEG, _TSHEG_BSTAR = 0x0F0B, 0x0F0C  # end Tibetan syllables and belong to them
_STRAIGHT, _CURLY = 0x27, 0x2019
_EN_DASH, _EM_DASH = 0x2013, 0x2014
_SLASH, _BACKSLASH, _BAR, _TILDE, _CARET, _PILCROW = 0x2F, 0x5C, 0x7C, 0x7E, 0x5E, 0xB6


@kernel
def _is_mark(point: int, classes: Bytes) -> bool:
    if point in (_AT, _TSHEG, _TSHEG_BSTAR, _HYPHEN, _SLASH):
        return False
    if point in (_BACKSLASH, _BAR, _TILDE, _CARET, _PILCROW):
        return False
    if classes[point] & MATHEMATICS and point not in (_PLUS, _EQUALS, _LESS, _MORE):
        return False
    return bool(classes[point] & _MARKS)


@kernel
def _closes(before: int, point: int, classes: Bytes) -> bool:
    """Whether a mark at the end of a word, behind `before`, is none of the word's."""
    if point == _EQUALS:
        return False
    is_currency = point in (_DOLLAR, _BAHT) or 0xA2 <= point <= 0xA5 or 0x20A0 <= point <= 0x20CF
    if is_currency or point in (_PLUS, _PERCENT):
        return bool(classes[before] & DIGIT)
    return _is_mark(point, classes)


@kernel
def _last(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """Return the character that ends at `end`, and where it begins; a stray byte is one of its own."""
    place = end - 1
    while place > start and place > end - 4 and data[place] & 0xC0 == 0x80:
        place -= 1
    point, width = decode(data, place, end)
    if place + width != end:
        return 0xFFFD, end - 1
    return point, place


@kernel
def _ending(data: Bytes, start: int, end: int) -> int:
    """Where an English ending of [start, end) begins, or `end`; something must stand before it."""
    for letters in (1, 2):
        place = end - letters
        if place - 1 <= start:
            continue
        point, apostrophe = _last(data, start, place)
        if (point != _STRAIGHT and point != _CURLY) or apostrophe <= start:
            continue
        first = lower(int(data[place]))
        if letters == 1:
            if first == 0x73 or first == 0x64 or first == 0x6D:  # s, d, m
                return apostrophe
            if first == 0x74 and lower(int(data[apostrophe - 1])) == 0x6E:  # n't
                return apostrophe - 1 if apostrophe - 1 > start else end
        else:
            second = lower(int(data[place + 1]))
            if second == 0x65 and (first == 0x72 or first == 0x76):  # re, ve
                return apostrophe
            if first == 0x6C and second == 0x6C:  # ll
                return apostrophe
    return end


@kernel
def _is_cut(before: int, point: int, width: int, after: int, classes: Bytes) -> bool:
    """Whether a mark, or a run of `width` hyphens or full stops, between two characters is a token
    of its own."""
    left, right = classes[before], classes[after]
    if point == _ELLIPSIS or (point == _DOT and width > 1):
        return True
    if point in (_STAR, _PLUS, _CARET):
        return bool(left & DIGIT) and bool(right & DIGIT)
    if point in (_HYPHEN, _EN_DASH, _EM_DASH, _TILDE):
        if left & LETTER and right & LETTER:
            return point != _HYPHEN or width <= 3
        return point == _HYPHEN and width == 1 and bool(left & DIGIT) and bool(right & DIGIT)
    if point == _COMMA:
        return bool(left & LETTER) and bool(right & LETTER)
    if point == 0x3A or point == 0x2F or 0x3C <= point <= 0x3E:  # : / < = >
        return bool(left & (LETTER | NUMERIC)) and bool(right & LETTER)
    return point == _DOT and bool(left & LOWER) and bool(right & UPPER)


@kernel
def _put(out: Ints, k: int, start: int, end: int, chars: int) -> int:
    out[k, 0], out[k, 1], out[k, 2] = start, end, chars
    return k + 1


@kernel
def _chars(data: Bytes, start: int, end: int) -> int:
    n = 0
    for at in range(start, end):
        n += (data[at] & 0xC0) != 0x80
    return n


@kernel
def _run_end(data: Bytes, at: int, end: int, byte: int) -> int:
    while at < end and data[at] == byte:
        at += 1
    return at


@kernel
def _run_start(data: Bytes, start: int, at: int, byte: int) -> int:
    while at > start and data[at - 1] == byte:
        at -= 1
    return at


@kernel
def _holds_dot(data: Bytes, start: int, end: int) -> bool:
    at = start
    while at < end and data[at] != _DOT:
        at += 1
    return at < end


@kernel
def _is_plain(data: Bytes, start: int, end: int, classes: Bytes) -> bool:
    """No mark in it, as in most words: nothing to take apart."""
    at = start
    while at < end:
        byte = int(data[at])
        if byte < 0x80:
            if classes[byte] & _MARKS:
                break
            at += 1
        else:
            point, width = decode(data, at, end)
            if classes[point] & _MARKS:
                break
            at += width
    return at == end


@kernel
def _take_apart(
    data: Bytes, start: int, end: int, classes: Bytes, tail: Ints, out: Ints, k: int
) -> int:
    """Tokens of one run without white space; `tail: int64[m, 2]` has room for its end marks."""
    while start < end:
        point, width = decode(data, start, end)
        if not _is_mark(point, classes):
            break
        stop = start + width
        if point == _DOT:
            stop = _run_end(data, start, end, point)
            if stop - start == 1 and stop < end:
                break
        k = _put(out, k, start, stop, _chars(data, start, stop))
        start = stop
    n_tail = 0
    while start < end:
        point, place = _last(data, start, end)
        if place > start:
            before, _ = _last(data, start, place)
            if not _closes(before, point, classes):
                break
        elif not _is_mark(point, classes):
            break
        if point == _DOT:
            place = _run_start(data, start, end, point)
            if end - place == 1 and _holds_dot(data, start, place):
                break
        tail[n_tail, 0], tail[n_tail, 1] = place, end
        n_tail += 1
        end = place
    core_end = _ending(data, start, end)
    piece, at, before, chars = start, start, 0, 0
    while at < core_end:
        point, width = decode(data, at, core_end)
        is_token = False
        if classes[point] & _MARKS and at > start and at + width < core_end:
            if point in (_DOT, _HYPHEN):
                width = _run_end(data, at, core_end, point) - at
            if at + width < core_end:
                after, _ = decode(data, at + width, core_end)
                is_token = _is_cut(before, point, width, after, classes)
        if is_token:
            if at > piece:
                k = _put(out, k, piece, at, chars)
            n_chars = _chars(data, at, at + width)
            k = _put(out, k, at, at + width, n_chars)
            piece, chars = at + width, 0
        else:
            chars += _chars(data, at, at + width)
        before = point
        at += width
    if piece < core_end:
        k = _put(out, k, piece, core_end, chars)
    if core_end < end:
        k = _put(out, k, core_end, end, _chars(data, core_end, end))
    for t in range(n_tail - 1, -1, -1):
        k = _put(out, k, tail[t, 0], tail[t, 1], _chars(data, tail[t, 0], tail[t, 1]))
    return k


@kernel
def split_tokens(data: Bytes, words: Ints, rows: Ints, classes: Bytes) -> tuple[Ints, Ints]:
    """`spans: int64[k, 3]` and `rows: int64[n + 1]` from the batch's words."""
    longest = 0
    for w in range(words.shape[0]):
        longest = max(longest, words[w, END] - words[w, START])
    tail = np.empty((longest, 2), dtype=np.int64)
    new_rows = np.zeros_like(rows)
    spans = np.empty((2 * words.shape[0] + longest, 3), dtype=np.int64)
    k = 0
    for d in range(rows.shape[0] - 1):
        for w in range(rows[d], rows[d + 1]):
            start, end = words[w, START], words[w, END]
            if k + end - start > spans.shape[0]:  # a byte makes one token at most
                wider = np.empty((2 * spans.shape[0] + longest, 3), dtype=np.int64)
                wider[:k] = spans[:k]
                spans = wider
            if _is_plain(data, start, end, classes):
                k = _put(spans, k, start, end, words[w, CHARS])
            else:
                k = _take_apart(data, start, end, classes, tail, spans, k)
        new_rows[d + 1] = k
    return spans[:k].copy(), new_rows
