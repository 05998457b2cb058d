"""Kinds of places where personal data could begin, and the tables that tell them apart.

What a place is called is all that `corpus_assets.scrub` has to know of the pass that finds it.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corpus_assets.text.compiled import kernel
from corpus_assets.text.split import Bytes, Ints

AT = 0
"""An address: the place is where the characters before an @ begin."""
QUAD = 1
"""Four groups of one to three digits with dots between."""
HEX = 2
"""Four hexadecimal digits, the first 2 or 3, and a colon."""
NUMBER = 3
"""A digit, + or ( with at least seven digits ahead; detail: see `lead`."""
MIXED = 4
"""A word that begins with a letter and holds digits, or two letters before digits."""
MARK = 5
"""A listed prefix of keys; detail: its number."""
VALUE = 6
"""What follows = or : and could be a secret."""

DOC, PLACE, TRIGGER, DETAIL = 0, 1, 2, 3  # the columns of what is found

MIN_DIGITS = 7
MAX_WORD = 40  # longer runs of letters and digits are hashes or encoded data
MAX_LOCAL = 64  # characters before an @ (RFC 5321)
MIN_SECRET = 16

WORD = 3  # digits and letters
DIGIT, LETTER, LOCAL, HEXADECIMAL, SEPARATOR, SECRET, HOST, SIGN = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    128,
)


class Marks(NamedTuple):
    """Prefixes to look for at the start of words, by first byte."""

    data: Bytes
    offsets: Ints  # prefix p is data[offsets[p]:offsets[p + 1]]
    groups: Ints  # int64[257]: prefixes that begin with byte b are groups[b]:groups[b + 1]
    pairs: Bytes  # uint8[65536]: 1 where a prefix begins with these two bytes


@lru_cache(maxsize=4)
def marks_of(prefixes: tuple[bytes, ...]) -> Marks:
    """Prepare prefixes of two bytes or more, sorted by first byte, of each the longest first."""
    groups = np.zeros(257, dtype=np.int64)
    pairs = np.zeros(65536, dtype=np.uint8)
    for prefix in prefixes:
        groups[prefix[0] + 1] += 1
        pairs[prefix[0] << 8 | prefix[1]] = 1
    return Marks(
        np.frombuffer(b"".join(prefixes), dtype=np.uint8).copy(),
        np.cumsum([0, *map(len, prefixes)], dtype=np.int64),
        np.cumsum(groups, dtype=np.int64),
        pairs,
    )


@lru_cache(maxsize=1)
def byte_classes() -> Bytes:
    """uint8[256]: what a byte can be part of."""
    table = np.zeros(256, dtype=np.uint8)
    for byte in b"0123456789":
        table[byte] |= DIGIT | HEXADECIMAL | LOCAL | SECRET | HOST
    for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[byte] |= LETTER | LOCAL | SECRET | HOST
    for byte in b"abcdefABCDEF":
        table[byte] |= HEXADECIMAL
    table[ord("_")] |= LETTER | LOCAL | SECRET
    for byte in b".%+-":
        table[byte] |= LOCAL
    for byte in b" ().-/":
        table[byte] |= SEPARATOR
    for byte in b"+/=-.":
        table[byte] |= SECRET
    table[ord("-")] |= HOST
    for byte in b"@+(=:":
        table[byte] |= SIGN
    return table


def lead(n_digits: int, following: int) -> int:
    """Return the detail of a NUMBER: digits of its first group and the byte after them.

    A number that begins with + or ( has no first group and that byte.
    """
    return n_digits * 256 + following


# What a stop of the scan turns out to be: digits, letters, a prefix, an @, a value.
#
# Each of these writes the places it finds to `found` from `n` on and gives the new `n`. Every look
# ahead or back is bounded.


@kernel
def _digits_in(data: Bytes, at: int, end: int, classes: Bytes) -> int:
    digits = 0
    for k in range(at, end):
        digits += classes[data[k]] & DIGIT
    return digits


@kernel
def put(found: Ints, n: int, d: int, place: int, trigger: int, detail: int) -> int:
    found[n, DOC], found[n, PLACE], found[n, TRIGGER], found[n, DETAIL] = d, place, trigger, detail
    return n + 1


@kernel
def _gap(data: Bytes, at: int, high: int, classes: Bytes) -> int:
    """Bytes of one separator between digits at `at`, 0 where there is none."""
    byte = data[at]
    if byte < 0x80:
        return 1 if classes[byte] & SEPARATOR else 0
    if byte == 0xC2 and at + 1 < high and data[at + 1] == 0xA0:  # no-break space
        return 2
    if byte == 0xE2 and at + 2 < high and data[at + 1] == 0x80:
        last = data[at + 2]
        if last == 0xAF or 0x90 <= last <= 0x93:  # narrow no-break space, hyphens, dashes
            return 3
    return 0


@kernel
def digits_ahead(data: Bytes, at: int, high: int, classes: Bytes) -> int:
    """Digits from `at` on with at most three separators before each, MIN_DIGITS at most.

    A letter A or B after a 2 counts as a digit: so are the departments of Corsica written.
    """
    digits = 0
    gaps = 0
    while at < high and digits < MIN_DIGITS:
        if classes[data[at]] & DIGIT:
            digits += 1
            gaps = 0
            at += 1
            continue
        if (data[at] == 0x41 or data[at] == 0x42) and gaps == 0 and digits and data[at - 1] == 0x32:
            digits += 1
            at += 1
            continue
        width = _gap(data, at, high, classes)
        if width == 0 or gaps == 3:
            break
        gaps += 1
        at += width
    return digits


@kernel
def of_digits(
    data: Bytes,
    high: int,
    at: int,
    end: int,
    classes: Bytes,
    found: Ints,
    n: int,
    d: int,
) -> int:
    """Places that begin with the word at [at, end), which begins with a digit."""
    group = 1
    while group < end - at and classes[data[at + group]] & DIGIT:
        group += 1
    after = int(data[at + group]) if at + group < high else 0
    if group <= 3 and after == 0x2E and _is_quad(data, at, high, classes):
        n = put(found, n, d, at, QUAD, 0)
    if end - at == 4 and end < high and data[end] == 0x3A and 0x32 <= data[at] <= 0x33:
        hexadecimal = classes[data[at + 1]] & classes[data[at + 2]] & classes[data[at + 3]]
        if hexadecimal & HEXADECIMAL:
            n = put(found, n, d, at, HEX, 0)
    if (
        _digits_in(data, at, end, classes) >= MIN_DIGITS
        or digits_ahead(data, at, high, classes) >= MIN_DIGITS
    ):
        n = put(found, n, d, at, NUMBER, group * 256 + after)
    return n


@kernel
def _is_quad(data: Bytes, at: int, high: int, classes: Bytes) -> bool:
    for group in range(4):
        digits = 0
        while at < high and digits < 4 and classes[data[at]] & DIGIT:
            digits += 1
            at += 1
        if digits == 0 or digits > 3:
            return False
        if group < 3:
            if at >= high or data[at] != 0x2E:
                return False
            at += 1
    return True


@kernel
def of_letters(
    data: Bytes,
    high: int,
    at: int,
    end: int,
    classes: Bytes,
    found: Ints,
    n: int,
    d: int,
) -> int:
    """Return the place of a word that begins with a letter, where an id could stand in it."""
    length = end - at
    digits = _digits_in(data, at, end, classes) if length <= MAX_WORD else 0
    if digits >= 4 and length <= MAX_WORD:
        return put(found, n, d, at, MIXED, 0)
    if end + 1 >= high or (data[end] != 0x20 and data[end] != 0x2D):
        return n
    following = classes[data[end + 1]]
    if (
        (length == 4 and digits == 2 and following & (DIGIT | LETTER))
        or (length == 2 and following & DIGIT)
        or (length == 1 and following & DIGIT and data[end] == 0x2D)
    ):
        return put(found, n, d, at, MIXED, 0)
    return n


@kernel
def of_mark(data: Bytes, high: int, at: int, marks: Marks, found: Ints, n: int, d: int) -> int:
    """Return the longest prefix that stands at `at` (longer ones are listed first)."""
    first = data[at]
    for p in range(marks.groups[first], marks.groups[first + 1]):
        begin = marks.offsets[p]
        length = marks.offsets[p + 1] - begin
        if at + length > high:
            continue
        same = True
        for k in range(1, length):
            if data[at + k] != marks.data[begin + k]:
                same = False
                break
        if same:
            return put(found, n, d, at, MARK, p)
    return n


@kernel
def of_at(
    data: Bytes, low: int, high: int, at: int, classes: Bytes, found: Ints, n: int, d: int
) -> int:
    """Return the place where the characters before the @ at `at` begin, were it an address."""
    if at + 1 >= high or not (classes[data[at + 1]] & HOST or 0xC3 <= data[at + 1] <= 0xD3):
        return n
    start = at
    chars = 0
    while start > low and chars <= MAX_LOCAL:
        if classes[data[start - 1]] & LOCAL:
            start -= 1
        elif start - 1 > low and 0x80 <= data[start - 1] < 0xC0 and 0xC3 <= data[start - 2] <= 0xD3:
            start -= 2
        else:
            break
        chars += 1
    if 0 < chars <= MAX_LOCAL:
        n = put(found, n, d, start, AT, 0)
    return n


@kernel
def of_value(data: Bytes, high: int, at: int, classes: Bytes, found: Ints, n: int, d: int) -> int:
    """Return what stands after the = or : at `at`, where it is long and not only letters."""
    at += 1
    for _ in range(5):  # space, tab, quotes, >
        if at < high and (data[at] == 0x20 or data[at] == 9 or data[at] == 0x22 or data[at] == 0x27
                          or data[at] == 0x3E):  # fmt: skip
            at += 1
    if at + MIN_SECRET > high or data[at] == 0x3D:
        return n
    for k in range(MIN_SECRET):
        if not classes[data[at + k]] & SECRET:
            return n
    return put(found, n, d, at, VALUE, 0)


# Places where personal data could begin, found in one pass over a batch's UTF-8 bytes.
#
# Regular expressions cost tens of nanoseconds a byte and rule; nearly no byte of a text begins an
# address, a number or a key. This pass walks runs of letters, digits and underscores and reports
# the places worth a closer look, each with what kind of place it is (its trigger). It promises to
# miss none: wherever a rule of `corpus_assets.scrub` can match, its place is reported. It does not
# promise to be right.
#
# Cost: about a nanosecond a byte. Every look ahead or back is bounded, so the pass is linear on any
# input. Positions are int64 and cannot overflow below 2**63 bytes a batch.


def find_places(data: Bytes, offsets: Ints, classes: Bytes, marks: Marks, values: bool) -> Ints:
    """int64[k, 4]: (document, place, trigger, detail) in order of document and place.

    The place is a byte position in `data`. VALUE is reported only where `values` is set.
    """
    blocks = []
    stops = np.empty((_STOPS, 3), dtype=np.int64)
    document, at = 0, int(offsets[0])
    while document < offsets.shape[0] - 1:
        n, document, at = _stop(data, offsets, classes, marks.pairs, values, document, at, stops)
        found = np.empty((n * _MOST, 4), dtype=np.int64)
        k = _examine(data, offsets, stops[:n], classes, marks, found)
        blocks.append(found[:k].copy())
    return np.concatenate(blocks) if blocks else np.empty((0, 4), dtype=np.int64)


_STOPS = 1 << 15
_MOST = 3  # places that one stop can turn out to be, at most


@kernel
def _stop(
    data: Bytes,
    offsets: Ints,
    classes: Bytes,
    pairs: Bytes,
    values: bool,
    document: int,
    at: int,
    stops: Ints,
) -> tuple[int, int, int]:
    """Go on at byte `at` of a document and note where to look closer, until `stops` is full.

    A stop is (document, start, end): a word, or one other byte with `end` behind it. Returns how
    many there are and where to go on. Nothing is called here: a call for each word costs more
    than all the rest.
    """
    n = 0
    for d in range(document, offsets.shape[0] - 1):
        high = offsets[d + 1]
        if d > document:
            at = offsets[d]
        while at < high:
            if n == stops.shape[0]:
                return n, d, at
            byte = data[at]
            kind = classes[byte]
            start = at
            at += 1
            if kind & WORD:
                digits = np.int64(kind & DIGIT)
                while at < high and classes[data[at]] & WORD:
                    digits += classes[data[at]] & DIGIT
                    at += 1
                length = at - start
                is_stop = (
                    (kind & DIGIT and length <= MAX_WORD)
                    or (digits >= 2 and length <= MAX_WORD)
                    or (length > 1 and pairs[np.int64(byte) << 8 | data[start + 1]])
                    or (
                        length <= 2
                        and at + 1 < high
                        and (data[at] == 0x20 or data[at] == 0x2D)
                        and classes[data[at + 1]] & DIGIT
                    )
                )
            elif byte == 0x2D:
                while at < high and data[at] == 0x2D:
                    at += 1
                is_stop = at - start >= 5
            else:
                is_stop = kind & SIGN and (values or byte < 0x3A or byte == 0x40)
            if is_stop:
                stops[n, 0], stops[n, 1], stops[n, 2] = d, start, at
                n += 1
    return n, offsets.shape[0] - 1, at


@kernel
def _examine(
    data: Bytes, offsets: Ints, stops: Ints, classes: Bytes, marks: Marks, found: Ints
) -> int:
    """Write what the stops turn out to be into `found`; return how many places there are."""
    n = 0
    for k in range(stops.shape[0]):
        d, at, end = stops[k, 0], stops[k, 1], stops[k, 2]
        low, high = offsets[d], offsets[d + 1]
        byte = data[at]
        kind = classes[byte]
        if kind & DIGIT:
            n = of_digits(data, high, at, end, classes, found, n, d)
        elif kind & LETTER:
            n = of_letters(data, high, at, end, classes, found, n, d)
            n = of_mark(data, high, at, marks, found, n, d)
        elif byte == 0x40:  # @
            n = of_at(data, low, high, at, classes, found, n, d)
        elif byte == 0x2D:  # five - or more
            n = of_mark(data, high, end - 5, marks, found, n, d)
        elif byte == 0x2B or byte == 0x28:  # + (
            if digits_ahead(data, at + 1, high, classes) >= MIN_DIGITS:
                n = put(found, n, d, at, NUMBER, byte)
        else:  # = :
            n = of_value(data, high, at, classes, found, n, d)
    return n
