"""Texts as classifiers read them: ASCII punctuation set apart, words by single spaces.

Equal to `" ".join(re.sub(r"([!-/:-@\\[-`{-~])", r" \\1 ", text.replace("\\0", " ")).split())`, for a
batch in one pass; text is UTF-8, white space is Unicode's.
"""

import numpy as np

from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

PLAIN, BLANK, MARK, WIDE = 0, 1, 2, 3  # kinds of bytes
SPACE = np.uint8(32)


def spaced_words(data: Bytes, offsets: Ints) -> tuple[Bytes, Ints]:
    """Write the texts so, as `uint8[bytes]` and `int64[n + 1]`; a byte becomes at most three."""
    written = np.empty(3 * int(offsets[-1] - offsets[0]), dtype=np.uint8)
    ends = np.zeros(len(offsets), dtype=np.int64)
    _spaced_words(data, offsets, _kinds(), written, ends)
    return written[: ends[-1]], ends


def _kinds() -> Bytes:
    """Return the kind of each byte: ASCII marks, white space with NUL, and bytes of longer
    characters."""
    kinds = np.full(256, PLAIN, dtype=np.uint8)
    kinds[[0, *range(9, 14), *range(28, 33)]] = BLANK
    kinds[[*range(33, 48), *range(58, 65), *range(91, 97), *range(123, 127)]] = MARK
    kinds[128:] = WIDE
    return kinds


@kernel
def _spaced_words(data: Bytes, offsets: Ints, kinds: Bytes, written: Bytes, ends: Ints) -> None:
    one, put = np.uint64(1), np.uint64(0)  # unsigned: no check for being negative at each byte
    for d in range(len(offsets) - 1):
        at, end, first = np.uint64(offsets[d]), np.uint64(offsets[d + 1]), put
        in_word = False
        while at < end:
            byte = data[at]
            kind = kinds[byte]
            width = one
            if kind == WIDE:
                point, size = decode(data, int(at), int(end))
                width = np.uint64(size)
                kind = np.uint8(BLANK) if is_space(point) else np.uint8(PLAIN)
            if kind == BLANK:
                in_word = False
                at += width
                continue
            if put > first and (kind == MARK or not in_word):
                written[put] = SPACE
                put += one
            written[put] = byte
            put += one
            at += one
            for _ in range(width - one):
                written[put] = data[at]
                put += one
                at += one
            in_word = kind == PLAIN
        ends[d + 1] = put
