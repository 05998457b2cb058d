"""Kinds of places where personal data could begin, and the tables that tell them apart.

What a place is called is all that `corpus_assets.scrub` has to know of the pass that finds it.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

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
    """Encode the detail of a NUMBER: digits of its first group and the byte after them.

    A number that begins with + or ( has no first group and that byte.
    """
    return n_digits * 256 + following
