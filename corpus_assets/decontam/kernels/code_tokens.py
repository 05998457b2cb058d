"""Source code as tokens, and n-grams of tokens that do not change when names are changed.

1. White space and comments are nothing; so are strings in three quotes (docstrings).
2. Numbers, strings, punctuation, words of control flow, and names behind a dot stand for
   themselves. A string's quotes may be of either kind.
3. Every other name stands for how many tokens ago it was last seen inside the n-gram, 0 where it
   was not: two n-grams are alike if and only if one becomes the other by renaming names one to
   one (Baker 1993, parameterized pattern matching). Names that an item does not bind are compared
   by spelling as well, when an n-gram of it is found (`code_grams`).

Because a place is counted from inside the n-gram, a rolling hash changes in at most two of its
terms when the n-gram moves on: that of the token that enters, and that of the next place of the
name that leaves. So an n-gram costs O(1) hashing, and a look back over at most n tokens for each
name. Memory: the last n tokens, whatever the length of the text.

Tokens are found by a scan that suits most languages; only how comments begin differs (`HASH`:
Python, Ruby, shell; `SLASH`: C, Java, JavaScript and their like). A quote that is not closed on
its line is punctuation, and so is a comment that is never closed: both are remembered, so that
hostile text is scanned a few times at most.

Hashes are uint64 modulo 2^64 on purpose; positions are int64.
"""

from typing import Any

import numpy as np

from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, GOLDEN, fnv1a, murmur64

HASH, SLASH = 0, 1
NAME, PLAIN, STRING, END, KEPT = 0, 1, 2, 3, 4
"""Kinds of tokens: renamed; spelled as it is; a string, spelled without its quotes; no token; a
name of an item that is hashed like others but not renamed."""

MAX_TOKENS = 256
"""Longest n-gram, in tokens, that settings may ask for."""

_NAME_STEP = np.uint64(0xA0761D6478BD642F)
_STRING_MARK = np.uint64(0x8EBC6AF09C88C6E3)
_NEWLINE, _HASH_SIGN, _SLASH_SIGN, _STAR, _BACKSLASH = 10, 35, 47, 42, 92
_QUOTE, _APOSTROPHE, _DOT = 34, 39, 46
_N_MEMO = 5  # no closing ", no closing ' before here; no closing triple of either; no closing */


@kernel
def token_memo() -> Any:
    """Make the state that `next_token` keeps while it reads one text."""
    return np.full(_N_MEMO, -1, np.int64)


@kernel
def _is_name_byte(byte: int) -> bool:
    return (
        97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte in (95, 36) or byte >= 128
    )


@kernel
def _line_end(data: Any, pos: Any, end: Any) -> Any:
    while pos < end and data[pos] != _NEWLINE:
        pos += 1
    return pos


@kernel
def _closing_triple(data: Any, pos: Any, end: Any, quote: int) -> Any:
    """Behind the three quotes that close, or -1."""
    while pos + 2 < end:
        if data[pos] == _BACKSLASH:
            pos += 2
            continue
        if data[pos] == quote and data[pos + 1] == quote and data[pos + 2] == quote:
            return pos + 3
        pos += 1
    return np.int64(-1)


@kernel
def _closing_quote(data: Any, pos: Any, end: Any, quote: int) -> Any:
    """Behind the quote that closes on this line, or minus the line's end and one."""
    while pos < end and data[pos] != _NEWLINE:
        if data[pos] == _BACKSLASH and pos + 1 < end and data[pos + 1] != _NEWLINE:
            pos += 2
            continue
        if data[pos] == quote:
            return pos + 1
        pos += 1
    return -pos - 1


@kernel
def _after_comment(data: Any, pos: Any, end: Any, style: int, memo: Any) -> Any:
    """Behind the comment that begins at `pos`, or `pos` where none does."""
    byte = data[pos]
    if style == HASH:
        return _line_end(data, pos, end) if byte == _HASH_SIGN else pos
    if byte != _SLASH_SIGN or pos + 1 >= end:
        return pos
    if data[pos + 1] == _SLASH_SIGN:
        return _line_end(data, pos, end)
    if data[pos + 1] == _STAR and memo[4] < 0:
        at = pos + 2
        while at + 1 < end:
            if data[at] == _STAR and data[at + 1] == _SLASH_SIGN:
                return at + 2
            at += 1
        memo[4] = 0
    return pos


@kernel
def _after_string(data: Any, pos: Any, end: Any, memo: Any) -> tuple[Any, Any]:
    """(behind the string that begins at `pos`, whether it has three quotes); `pos`: it is none."""
    quote = data[pos]
    which = 0 if quote == _QUOTE else 1
    if pos + 2 < end and data[pos + 1] == quote and data[pos + 2] == quote and memo[2 + which] < 0:
        stop = _closing_triple(data, pos + 3, end, quote)
        if stop >= 0:
            return stop, True
        memo[2 + which] = 0
    if pos < memo[which]:
        return pos, False
    stop = _closing_quote(data, pos + 1, end, quote)
    if stop < 0:
        memo[which] = -stop - 1
        return pos, False
    return stop, False


@kernel
def _is_prefix(data: Any, pos: Any, stop: Any) -> bool:
    """Whether a name is what may stand before a string: r, b, u, f, in either case, or two."""
    if stop - pos > 2:
        return False
    for i in range(pos, stop):  # noqa: SIM110 - no generators in a kernel
        if data[i] | 32 not in (114, 98, 117, 102):
            return False
    return True


@kernel
def next_token(
    data: Any, pos: Any, end: Any, style: int, fixed: Any, after_dot: bool, memo: Any
) -> tuple[Any, Any, Any, Any]:
    """(kind, start, stop, hash) of the first token of data[pos:end]; kind END where none is left.

    `fixed` is a table from `name_table`; `after_dot`: the token before this one was a dot.
    """
    value = FNV_OFFSET
    while pos < end:
        byte = data[pos]
        if byte <= 32 or byte == 127:
            pos += 1
            continue
        stop = _after_comment(data, pos, end, style, memo)
        if stop > pos:
            pos = stop
            continue
        if byte in (_QUOTE, _APOSTROPHE):
            stop, is_triple = _after_string(data, pos, end, memo)
            if is_triple:
                pos = stop
                continue
            if stop > pos:
                for i in range(pos + 1, stop - 1):
                    value = (value ^ np.uint64(data[i])) * FNV_PRIME
                return STRING, pos, stop, murmur64(value ^ _STRING_MARK)
        if not _is_name_byte(byte):
            return PLAIN, pos, pos + 1, murmur64((value ^ np.uint64(byte)) * FNV_PRIME)
        is_number = 48 <= byte <= 57
        stop = pos
        while stop < end and (_is_name_byte(data[stop]) or (is_number and data[stop] == _DOT)):
            value = (value ^ np.uint64(data[stop])) * FNV_PRIME
            stop += 1
        if (
            stop < end
            and data[stop] in (_QUOTE, _APOSTROPHE)
            and _is_prefix(data, pos, stop)
            and _after_string(data, stop, end, memo)[0] > stop
        ):
            pos = stop
            value = FNV_OFFSET
            continue
        key = murmur64(value)
        plain = is_number or after_dot or is_fixed(key, fixed)
        return (PLAIN if plain else NAME), pos, stop, key
    return END, end, end, np.uint64(0)


@kernel
def is_fixed(key: Any, fixed: Any) -> bool:
    """Whether a name's hash is in the table."""
    slot = np.int64(key & np.uint64(fixed.size - 1))
    while fixed[slot] != 0:
        if fixed[slot] == key:
            return True
        slot = (slot + 1) & (fixed.size - 1)
    return False


def name_table(names: frozenset[str]) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """Return the table that `is_fixed` looks into: open addressing, half empty at least."""
    size = 1 << max(4, (2 * len(names)).bit_length())
    table = np.zeros(size, np.uint64)
    for name in sorted(names):
        key = int(murmur64(np.uint64(fnv1a(name.encode()))))
        slot = key & (size - 1)
        while table[slot]:
            slot = (slot + 1) & (size - 1)
        table[slot] = key
    return table


@kernel
def name_value(distance: Any) -> Any:
    """Return what a name last seen `distance` tokens ago is in a hash; 0: not seen."""
    return murmur64(np.uint64(distance) * _NAME_STEP + np.uint64(1))


@kernel
def window_room(length: int) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    """Rings for the last tokens, their size a power of two: hash of a name (0: it is none), what
    the token counts for at the front of a window, next place of the name, kind, start, stop; and
    the weights of places."""
    size = 1
    while size < length:
        size *= 2
    powers = np.ones(length + 1, np.uint64)
    for i in range(length):
        powers[i + 1] = powers[i] * GOLDEN
    return (
        np.zeros(size, np.uint64),
        np.zeros(size, np.uint64),
        np.full(size, -1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        powers,
    )


@kernel
def push_token(
    ring: Any, window: Any, count: Any, length: int, kind: Any, start: Any, stop: Any, key: Any
) -> Any:
    """Move a window's hash (uint64) on by token number `count`; all that is older than `length`
    tokens is forgotten."""
    names, values, nexts, kinds, starts, stops, powers = ring
    mask = names.size - 1
    if count >= length:
        leaving = (count - length) & mask
        window -= values[leaving] * powers[length - 1]
        later = nexts[leaving]
        if later >= 0:
            change = name_value(0) - name_value(later - (count - length))
            window += change * powers[count - 1 - later]
    entering = key
    front = key
    if kind == NAME:
        distance = 0
        for back in range(1, min(count, length - 1) + 1):
            if names[(count - back) & mask] == key:
                distance = back
                nexts[(count - back) & mask] = count
                break
        entering = name_value(distance)
        front = name_value(0)
    place = count & mask
    names[place] = key if kind == NAME else np.uint64(0)
    values[place], nexts[place], kinds[place] = front, -1, kind
    starts[place], stops[place] = start, stop
    return window * powers[1] + entering
