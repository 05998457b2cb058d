"""Places where personal data could begin, found in one pass over a batch's UTF-8 bytes.

Regular expressions cost tens of nanoseconds a byte and rule; nearly no byte of a text begins an
address, a number or a key. This pass walks runs of letters, digits and underscores and reports
the places worth a closer look, each with what kind of place it is (its trigger). It promises to
miss none: wherever a rule of `corpus_assets.scrub` can match, its place is reported. It does not
promise to be right.

Cost: about a nanosecond a byte. Every look ahead or back is bounded, so the pass is linear on any
input. Positions are int64 and cannot overflow below 2**63 bytes a batch.
"""

import numpy as np

from corpus_assets.scrub.kernels.shapes import (
    digits_ahead,
    of_at,
    of_digits,
    of_letters,
    of_mark,
    of_value,
    put,
)
from corpus_assets.scrub.kernels.triggers import (
    DIGIT,
    LETTER,
    MAX_WORD,
    MIN_DIGITS,
    NUMBER,
    SIGN,
    WORD,
    Marks,
)
from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel


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
