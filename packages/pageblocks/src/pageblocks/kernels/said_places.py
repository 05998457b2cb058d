"""Where a page says what type it is: tags of its head, `"@type"` of its data, addresses of schema.org.

One pass that stops at three bytes which are rare, and looks around each: expressions over the whole page
take ten times as long.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.markup import is_letter
from pageblocks.kernels.start_tags import holds_word
from textkernels.byte_search import byte_kernel, find_byte, find_near_byte

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]

MAX_TAG, MAX_SPACES, MIN_NAME, MAX_NAME = 600, 9, 3, 40
"""Bytes of a tag that are read; of white space between signs; of a type's name."""

_META, _LINK, _AT_TYPE = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"meta", b"link", b'"@type"')
)
_SCHEMA_ORG = np.frombuffer(b"schema.org/", dtype=np.uint8)
_DOT = 6  # its place in it
_RELEVANT = tuple(
    np.frombuffer(word, dtype=np.uint8)
    for word in (b"og:type", b"og:url", b"generator", b"canonical")
)


class SaidPlaces(NamedTuple):
    """Starts and ends, int32 (n, 2): of `meta` and `link` tags that hold `og:type`, `og:url`,
    `generator` or `canonical`; of names behind `"@type"`; of names behind `schema.org/`."""

    tags: Places
    typed: Places
    items: Places


def said_places(page: bytes, most: int) -> SaidPlaces:
    """The first places of each kind, at most so many; of tags the relevant ones of the first so many."""
    found = np.empty((3, most, 2), dtype=np.int32)
    counts = np.zeros(3, dtype=np.int32)
    data = np.frombuffer(page, dtype=np.uint8)
    _find_tags(data, found[0], counts)
    _find_typed(data, found[1], counts)
    _find_items(data, found[2], counts)
    tags, typed, items = (its[:count] for its, count in zip(found, counts.tolist(), strict=True))
    return SaidPlaces(tags, typed, items)


@byte_kernel
def _stands(data: Bytes, at: int, word: Bytes) -> bool:
    """Whether a word stands at a place, in its own case."""
    if at < 0 or at + len(word) > len(data):
        return False
    place = 0
    while place < len(word) and data[at + place] == word[place]:
        place += 1
    return place == len(word)


@byte_kernel
def _is_named(data: Bytes, at: int, word: Bytes) -> bool:
    """Whether data[at:] begins with a lower-case word in either case, and no word goes on after it."""
    after = at + len(word)
    if after > len(data):
        return False
    for place in range(len(word)):
        if data[at + place] | 32 != word[place]:
            return False
    if after == len(data):
        return True
    byte = data[after]
    return not (is_letter(byte) or 48 <= byte <= 57 or byte == 95)


@byte_kernel
def _find_tags(data: Bytes, found: Places, counts: Places) -> None:
    n, n_tags = len(data), 0
    at = find_near_byte(data, 60, 0)
    while at < n and n_tags < len(found):
        begin = at
        at += 1
        if _is_named(data, at, _META) or _is_named(data, at, _LINK):
            n_tags += 1
            end = min(find_near_byte(data, 62, at + 4), at + 4 + MAX_TAG)
            if (
                holds_word(data, begin, end, _RELEVANT[0])
                or holds_word(data, begin, end, _RELEVANT[1])
                or holds_word(data, begin, end, _RELEVANT[2])
                or holds_word(data, begin, end, _RELEVANT[3])
            ):
                found[counts[0], 0], found[counts[0], 1] = begin, end
                counts[0] += 1
            at = end
        at = find_near_byte(data, 60, at)


@byte_kernel
def _after_spaces(data: Bytes, at: int) -> int:
    end = min(at + MAX_SPACES, len(data))
    while at < end and (data[at] == 32 or 9 <= data[at] <= 13):
        at += 1
    return at


@byte_kernel
def _after_name(data: Bytes, at: int) -> int:
    """Place after the letters at `at`; -1 where they are fewer or more than a name has."""
    start = at
    while at < len(data) and at - start <= MAX_NAME and is_letter(data[at]):
        at += 1
    return at if MIN_NAME <= at - start <= MAX_NAME else -1


@byte_kernel
def _find_typed(data: Bytes, found: Places, counts: Places) -> None:
    n = len(data)
    at = find_byte(data, 64, 0)
    after = 0  # the last one found
    while at < n and counts[1] < len(found):
        if at - 1 >= after and _stands(data, at - 1, _AT_TYPE):
            place = _after_spaces(data, at - 1 + len(_AT_TYPE))
            if place < n and data[place] == 58:
                place = _after_spaces(data, place + 1)
                if place < n and data[place] == 91:
                    place = _after_spaces(data, place + 1)
                if place < n and data[place] == 34:
                    end = _after_name(data, place + 1)
                    if 0 <= end < n and data[end] == 34:
                        found[counts[1], 0], found[counts[1], 1] = place + 1, end
                        counts[1] += 1
                        after = end + 1
        at = find_byte(data, 64, at + 1)


@byte_kernel
def _find_items(data: Bytes, found: Places, counts: Places) -> None:
    n = len(data)
    at = find_near_byte(data, 46, 0)
    while at < n and counts[2] < len(found):
        if _stands(data, at - _DOT, _SCHEMA_ORG):
            start = at - _DOT + len(_SCHEMA_ORG)
            end = _after_name(data, start)
            if 0 <= end < n and (data[end] in (34, 39, 62, 32) or 9 <= data[end] <= 13):
                found[counts[2], 0], found[counts[2], 1] = start, end
                counts[2] += 1
        at = find_near_byte(data, 46, at + 1)
