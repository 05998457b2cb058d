"""Sentences of a line, found and counted by their end marks.

A sentence ends at a run of terminal marks, with any closing quotes and brackets behind it, when
white space or the end of the line follows; marks outside ASCII (the ideographic full stop, the
danda ...) end one without white space too, because their scripts write none. What is left at
the end of the line counts as a sentence. No abbreviation is known: "Mr. Hale" ends one.
"""

from functools import lru_cache

import numpy as np

from corpus_assets.text.split import END, START, Bytes, Ints
from corpus_assets.text.unicode import N_CODE_POINTS, sentence_terminals
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

CLOSING_MARKS = "\"')]”’»›」』）】"
OPEN, PENDING, COUNT = 0, 1, 2
_NARROW, _WIDE, _CLOSING = 1, 2, 3


@lru_cache(maxsize=1)
def sentence_marks() -> Bytes:
    """uint8[0x110000]: 1 for an ASCII end mark, 2 for another, 3 for a closing mark, else 0."""
    table = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    table[sentence_terminals()] = _WIDE
    table[:0x80][table[:0x80] > 0] = _NARROW
    table[[ord(mark) for mark in CLOSING_MARKS]] = _CLOSING
    return table


@kernel
def feed_sentences(data: Bytes, start: int, end: int, marks: Bytes, state: Ints) -> None:
    """Read [start, end) of a line; `state: int64[3]` (OPEN, PENDING, COUNT) goes on."""
    is_open, pending, count = state[OPEN], state[PENDING], state[COUNT]
    at = start
    while at < end:
        point, width = decode(data, at, end)
        at += width
        kind = marks[point]
        if kind == _NARROW or kind == _WIDE:  # noqa: SIM109
            pending = max(pending, np.int64(kind))
            is_open = 1
        elif pending == 0:
            if not is_open and not is_space(point):
                is_open = 1
        elif is_space(point):
            count += 1
            is_open = 0
            pending = 0
        elif kind != _CLOSING:
            if pending == _WIDE:
                count += 1
            pending = 0
            is_open = 1
    state[OPEN], state[PENDING], state[COUNT] = is_open, pending, count


@kernel
def close_sentences(state: Ints) -> int:
    """End the line: returns its sentences and makes `state` ready for the next one."""
    count = state[COUNT] + (1 if state[OPEN] or state[PENDING] else 0)
    state[:] = 0
    return int(count)


@kernel
def count_sentences(data: Bytes, lines: Ints, marks: Bytes) -> Ints:
    """int64[k]: sentences of each line of `lines: int64[k, >= 2]`."""
    out = np.zeros(lines.shape[0], dtype=np.int64)
    state = np.zeros(3, dtype=np.int64)
    for k in range(lines.shape[0]):
        feed_sentences(data, lines[k, START], lines[k, END], marks, state)
        out[k] = close_sentences(state)
    return out


@kernel
def find_sentences(data: Bytes, lines: Ints, marks: Bytes) -> tuple[Ints, Ints]:
    """The sentences of each line of `lines: int64[k, >= 2]`, which begin and end without white
    space: `spans: int64[n, 2]` of (start, end), those of line i `spans[rows[i]:rows[i + 1]]`."""
    rows = np.zeros(lines.shape[0] + 1, dtype=np.int64)
    rows[1:] = np.cumsum(count_sentences(data, lines, marks))
    spans = np.empty((rows[-1], 2), dtype=np.int64)
    for k in range(lines.shape[0]):
        found, at, end = rows[k], lines[k, START], lines[k, END]
        begin, pending = at, 0
        is_open = False
        while at < end:
            point, width = decode(data, at, end)
            kind = marks[point]
            is_mark = _NARROW <= kind <= _WIDE
            if is_open and pending and not is_mark:
                if is_space(point) or (kind != _CLOSING and pending == _WIDE):
                    spans[found, START], spans[found, END] = begin, at
                    found += 1
                    is_open = False
                if kind != _CLOSING:
                    pending = 0
            if not is_open and not is_space(point):
                begin, is_open, pending = at, True, 0
            if is_mark:
                pending = max(pending, int(np.int64(kind)))
            at += width
        if is_open:
            spans[found, START], spans[found, END] = begin, end
    return spans, rows
