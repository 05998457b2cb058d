"""Token counts behind RedPajama-V2's signals, and its normalised text."""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.exact_math import log
from corpus_assets.text.phrases import is_word, lower
from corpus_assets.text.split import Bytes, Ints
from corpus_assets.text.unicode import LETTER, LOWER, NUMERIC, UPPER
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

TOKENS, CAPITALS, ALPHABETIC, UPPER_CHARS, NUMERIC_CHARS, BRACKETS, PARENTHESES = range(7)


@kernel
def token_counts(data: Bytes, offsets: Ints, classes: Bytes) -> Ints:
    """int64[n, 7]: tokens of `\\w+|[^\\w\\s]+`, those all in capitals, those with an ASCII letter;
    characters that are upper case, numeric, curly brackets, parentheses."""
    n = offsets.shape[0] - 1
    out = np.zeros((n, 7), dtype=np.int64)
    for d in range(n):
        at, end = offsets[d], offsets[d + 1]
        kind = 0  # of the open token: 0 none, 1 word, 2 other
        has_upper = has_lower = has_ascii = False
        while at <= end:
            if at < end:
                point, width = decode(data, at, end)
                now = 1 if is_word(classes, point) else (0 if is_space(point) else 2)
            else:
                point, width, now = 0, 1, 0
            at += width
            if now != kind:
                if kind:
                    out[d, TOKENS] += 1
                    out[d, CAPITALS] += has_upper and not has_lower
                    out[d, ALPHABETIC] += has_ascii
                kind = now
                has_upper = has_lower = has_ascii = False
            if now == 0:
                continue
            bits = classes[point]
            if bits & UPPER:
                has_upper = True
                out[d, UPPER_CHARS] += 1
            has_lower = has_lower or bits & LOWER != 0
            has_ascii = has_ascii or (point < 0x80 and bits & LETTER != 0)
            if bits & NUMERIC:
                out[d, NUMERIC_CHARS] += 1
            if point == 0x7B or point == 0x7D:
                out[d, BRACKETS] += 1
            elif point == 0x28 or point == 0x29:
                out[d, PARENTHESES] += 1
    return out


@kernel
def without_punctuation(data: Bytes, offsets: Ints) -> tuple[Bytes, Ints]:
    """Return the texts without ASCII punctuation and with small ASCII letters, as a new batch."""
    n = offsets.shape[0] - 1
    out = np.empty(offsets[n] - offsets[0], dtype=np.uint8)
    places = np.zeros(n + 1, dtype=np.int64)
    place = 0
    for d in range(n):
        for at in range(offsets[d], offsets[d + 1]):
            byte = data[at]
            if 33 <= byte <= 47 or 58 <= byte <= 64 or 91 <= byte <= 96 or 123 <= byte <= 126:
                continue
            out[place] = lower(int(byte))
            place += 1
        places[d + 1] = place
    return out[:place], places


@kernel
def entropies(rows: Ints, repeats: Bytes, count: Ints) -> npt.NDArray[np.float64]:
    """float64[n]: entropy (natural logarithm) of the words of each document.

    `repeats` marks words that stood earlier, `count` says how often a word stands in its
    document. Added up in the order of first occurrence, so that the result is one number.
    """
    out = np.zeros(rows.shape[0] - 1, dtype=np.float64)
    for d in range(rows.shape[0] - 1):
        total = rows[d + 1] - rows[d]
        for k in range(rows[d], rows[d + 1]):
            if not repeats[k]:
                share = count[k] / total
                out[d] -= share * log(share)
    return out


@kernel
def sentence_counts(data: Bytes, offsets: Ints, classes: Bytes) -> Ints:
    """int64[n]: matches of `\\b[^.!?]+[.!?]*`: runs without end marks that hold a word."""
    out = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for d in range(out.shape[0]):
        at, end = offsets[d], offsets[d + 1]
        has_word = False
        while at < end:
            point, width = decode(data, at, end)
            at += width
            if point == 0x2E or point == 0x21 or point == 0x3F:
                out[d] += has_word
                has_word = False
            elif not has_word:
                has_word = is_word(classes, point)
        out[d] += has_word
    return out
