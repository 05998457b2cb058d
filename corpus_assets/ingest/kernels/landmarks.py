"""Where a page may say something of itself: its `<meta` tags, Creative Commons links, dates, terms.

Pairs of bytes are compared 64 places at once; only where one can begin, hardly anywhere, is the
rest compared.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from textkernels.byte_search import byte_kernel, find_byte, find_near_byte
from textkernels.bytes import BLOCK_BYTES, equal64, zeros_below

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

HOST = b"creativecommons.org"
RSL_TYPE = b"application/rsl+xml"
"""Of the terms that Really Simple Licensing links to."""
MAX_HOSTS = 256
MAX_DATES = 200
MAX_LONGER_TAGS = 256
_FEW = 1024
_METAS = MAX_HOSTS + MAX_DATES  # where theirs begin among the places, after hosts and dates

_HOST = np.frombuffer(HOST, dtype=np.uint8)
_JSON_NAME = np.frombuffer(b'"datePublished"', dtype=np.uint8)
_PUBDATE = np.frombuffer(b"pubdate", dtype=np.uint8)
_HOST_ANCHOR = HOST.index(b"vecom")
_JSON_ANCHOR = b'"datePublished"'.index(b"ubl")
_PUBDATE_ANCHOR = b"pubdate".index(b"ubd")
_RSL = np.frombuffer(RSL_TYPE, dtype=np.uint8)
_RSL_ANCHOR = RSL_TYPE.index(b"+x")


class Landmarks(NamedTuple):
    """Byte positions, ascending."""

    metas: list[int]  # `<meta` in either case
    hosts: list[int]  # the licences' host in either case: the first 256
    dates: list[int]  # `"datePublished"` in its quotes: the first 200
    is_dated: bool  # `datePublished`, `datepublished` or `pubdate` stands somewhere
    has_terms: bool  # `application/rsl+xml` does


def find_landmarks(markup: bytes) -> Landmarks:
    """All of them in one pass, about 0.1 ns a byte."""
    data = np.frombuffer(markup, dtype=np.uint8)
    places = np.empty(_METAS + _FEW, dtype=np.int64)
    n_metas, n_hosts, n_dates, is_dated, has_terms = _find(data, places)
    if n_metas > _FEW:
        places = np.empty(_METAS + n_metas, dtype=np.int64)
        _find(data, places)
    return Landmarks(
        places[_METAS : _METAS + n_metas].tolist(),
        places[:n_hosts].tolist() if n_hosts else [],
        places[MAX_HOSTS : MAX_HOSTS + n_dates].tolist() if n_dates else [],
        bool(is_dated),
        bool(has_terms),
    )


def tags_with(
    markup: bytes, places: Sequence[int], words: tuple[bytes, ...], max_bytes: int
) -> list[int]:
    """Those of the tags that begin at `places` (ascending) in which one of the words stands.

    Words of two letters or more are given in small ones and found in either case. A tag ends at
    its first '>', at latest after `max_bytes`.
    """
    if not places or not words:
        return []
    where = np.array(places, dtype=np.int64)
    letters, ends = _joined(words)
    n = _select(np.frombuffer(markup, dtype=np.uint8), where, letters, ends, max_bytes)
    selected: list[int] = where[:n].tolist()
    return selected


def quoted_tags_with(
    markup: bytes, places: Sequence[int], words: tuple[bytes, ...], max_bytes: int
) -> list[tuple[int, int]]:
    """As `tags_with`, begin and end of each, where a '>' in a quoted value ends no tag.

    A tag that begins before the first '>' of another is passed over. The first 256 tags that have
    a '>' in quotes are read past it: more would take time in proportion to the square of a page.
    """
    if not places or not words:
        return []
    begins = np.array(places, dtype=np.int64)
    stops = np.empty_like(begins)
    letters, ends = _joined(words)
    data = np.frombuffer(markup, dtype=np.uint8)
    n = _select_quoted(data, begins, stops, letters, ends, max_bytes)
    if not n:
        return []
    return list(zip(begins[:n].tolist(), stops[:n].tolist(), strict=True))


@lru_cache(maxsize=16)
def _joined(words: tuple[bytes, ...]) -> tuple[Bytes, Places]:
    """Return the words one after the other, and where each ends."""
    ends = np.cumsum(np.array([len(word) for word in words], dtype=np.int64))
    return np.frombuffer(b"".join(words), dtype=np.uint8), ends


@byte_kernel
def _stands(data: Bytes, at: int, word: Bytes) -> bool:
    if at < 0 or at + len(word) > len(data):
        return False
    place = 0
    while place < len(word) and data[at + place] == word[place]:
        place += 1
    return place == len(word)


@byte_kernel
def _likely(data: Bytes, at: int) -> np.uint64:
    """Where among 64 places, which two bytes follow, `<m`, `v.c`, `ubl`, `ubd` or `+x` begins; the
    first two in either case."""
    small, capital = equal64(data, at + 1, 109), equal64(data, at + 1, 77)
    ends = equal64(data, at + 2, 108) | equal64(data, at + 2, 100)
    v = equal64(data, at, 118) | equal64(data, at, 86)
    c = equal64(data, at + 2, 99) | equal64(data, at + 2, 67)
    found: np.uint64 = (
        (equal64(data, at, 60) & (small | capital))
        | (v & c)
        | (equal64(data, at, 117) & equal64(data, at + 1, 98) & ends)
        | (equal64(data, at, 43) & equal64(data, at + 1, 120))
    )
    return found


@byte_kernel
def _is_meta(data: Bytes, at: int) -> bool:
    """Letters are folded by setting bit 5."""
    return (
        at + 4 < len(data)
        and data[at + 1] | 32 == 109
        and data[at + 2] | 32 == 101
        and data[at + 3] | 32 == 116
        and data[at + 4] | 32 == 97
    )


@byte_kernel
def _is_host(data: Bytes, at: int) -> bool:
    n = len(_HOST)
    return at >= 0 and at + n <= len(data) and _is_word(data, at, _HOST, 0, n)


@byte_kernel
def _find(data: Bytes, places: Places) -> tuple[int, int, int, bool, bool]:
    n = len(data)
    n_metas = n_hosts = n_dates = 0
    is_dated = has_terms = False
    base, likely = -BLOCK_BYTES, np.uint64(0)
    while True:
        while likely == 0:
            base += BLOCK_BYTES
            if base >= n:
                return n_metas, n_hosts, n_dates, is_dated, has_terms
            is_whole = base + BLOCK_BYTES + 2 <= n
            likely = _likely(data, base) if is_whole else ~np.uint64(0)
        at = base + int(zeros_below(likely))
        likely &= likely - np.uint64(1)
        if at >= n:
            continue
        byte = data[at]
        if byte == 60 and _is_meta(data, at):
            if _METAS + n_metas < len(places):
                places[_METAS + n_metas] = at
            n_metas += 1
        elif byte | 32 == 118 and n_hosts < MAX_HOSTS and _is_host(data, at - _HOST_ANCHOR):
            places[n_hosts] = at - _HOST_ANCHOR
            n_hosts += 1
        elif byte == 117:
            place = at - _JSON_ANCHOR
            if n_dates < MAX_DATES and _stands(data, place, _JSON_NAME):
                places[MAX_HOSTS + n_dates] = place
                n_dates += 1
            is_dated = is_dated or _is_dated(data, at)
        elif byte == 43:
            has_terms = has_terms or _stands(data, at - _RSL_ANCHOR, _RSL)


@byte_kernel
def _is_dated(data: Bytes, at: int) -> bool:
    """Whether the 'u' at `at` is that of `datePublished`, `datepublished` or `pubdate`."""
    if _stands(data, at - _PUBDATE_ANCHOR, _PUBDATE):
        return True
    place = at - _JSON_ANCHOR + 1
    capital = 4  # of `datePublished`, the one letter that may be small
    if place < 0 or place + len(_JSON_NAME) - 2 > len(data):
        return False
    for index in range(len(_JSON_NAME) - 2):
        byte = data[place + index]
        if byte != _JSON_NAME[index + 1] and (index != capital or byte != 112):
            return False
    return True


@byte_kernel
def _select(data: Bytes, places: Places, letters: Bytes, ends: Places, max_bytes: int) -> int:
    selected = 0
    for at in places:
        end = find_byte(data[: at + max_bytes], 62, at)
        if _holds(data, at, end, letters, ends):
            places[selected] = at
            selected += 1
    return selected


@byte_kernel
def _select_quoted(
    data: Bytes, begins: Places, stops: Places, letters: Bytes, ends: Places, max_bytes: int
) -> int:
    first = selected = n_longer = 0
    for at in begins:
        if at < first:
            continue
        until = data[: at + max_bytes]
        first = find_near_byte(until, 62, at)
        stop = _past_quotes(until, at, first) if n_longer < MAX_LONGER_TAGS else first
        n_longer += stop > first
        if _holds(data, at, stop, letters, ends):
            begins[selected], stops[selected] = at, stop
            selected += 1
    return selected


@byte_kernel
def _past_quotes(data: Bytes, at: int, end: int) -> int:
    """Where a tag ends whose first '>' is at `end`: there, or at the first outside of quotes.

    A quote counts after '=' only. One that is not closed in `data` is none.
    """
    place = at
    while True:
        place = find_near_byte(data[:end], 61, place) + 1
        while place < end and data[place] <= 32:
            place += 1
        if place >= end:
            return end
        if data[place] == 34 or data[place] == 39:
            close = find_near_byte(data, data[place], place + 1)
            if close == len(data):
                return end
            place = close + 1
            if close > end:
                end = find_byte(data, 62, place)


@byte_kernel
def _holds(data: Bytes, start: int, end: int, letters: Bytes, ends: Places) -> bool:
    """Whether a word stands in data[start:end]; places where one may begin are found 64 at once."""
    base = start
    while base + BLOCK_BYTES + 1 <= len(data) and base < end:
        first = 0
        for last in ends:
            likely = _either_case(data, base, letters[first])
            likely &= _either_case(data, base + 1, letters[first + 1])
            while likely:
                at = base + int(zeros_below(likely))
                likely &= likely - np.uint64(1)
                if at + last - first <= end and _is_word(data, at, letters, first, last):
                    return True
            first = last
        base += BLOCK_BYTES
    for at in range(base, end):
        first = 0
        for last in ends:
            if at + last - first <= end and _is_word(data, at, letters, first, last):
                return True
            first = last
    return False


@byte_kernel
def _either_case(data: Bytes, at: int, letter: int) -> np.uint64:
    found: np.uint64 = equal64(data, at, letter)
    if 97 <= letter <= 122:
        found |= equal64(data, at, letter - 32)
    return found


@byte_kernel
def _is_word(data: Bytes, at: int, letters: Bytes, first: int, last: int) -> bool:
    for place in range(first, last):
        byte = data[at + place - first]
        if 65 <= byte <= 90:
            byte |= 32
        if byte != letters[place]:
            return False
    return True
