"""How deep a page nests and how many attributes one element has, before any parser sees it.

HTML parsers and extractors need time that grows with the square of either; a page of 0.65 MB
with 60,000 attributes on one element holds them for a minute. One pass over the bytes finds
such pages in a millisecond.

The scan follows a tolerant parser: an end tag closes back to its nearest open namesake and is
ignored where there is none; void elements, `<x/>` and elements that close themselves by a
sibling (`p`, `li`, `td` ...) do not nest; comments, scripts and styles hold no tags.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)

FLAT_ELEMENTS = (
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
    "isindex", "keygen", "link", "meta", "param", "source", "track", "wbr", "p", "li", "td", "th",
    "tr", "dt", "dd", "option", "optgroup", "tbody", "thead", "tfoot", "colgroup", "caption", "rt",
    "rp", "rb", "rtc", "html", "head", "body",
)  # fmt: skip
RAW_ELEMENTS = ("script", "style", "textarea", "title", "xmp")


def name_hash(name: str) -> int:
    """FNV-1a, 64 bits, of a lower-case ASCII name: how the kernel knows elements."""
    value = 0xCBF29CE484222325
    for byte in name.encode("ascii"):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


_FLAT = np.array(sorted(name_hash(name) for name in FLAT_ELEMENTS), dtype=np.uint64)
_RAW = np.array([name_hash(name) for name in RAW_ELEMENTS], dtype=np.uint64)


def markup_extent(markup: bytes, max_depth: int, max_attributes: int) -> tuple[int, int]:
    """Deepest nesting and most attributes of one element; stops one past either limit.

    About 3 ns a byte; at worst `max_depth` steps for each end tag.
    """
    data = np.frombuffer(markup, dtype=np.uint8)
    stack = np.empty(max_depth + 1, dtype=np.uint64)
    depth, attributes = _extent(data, stack, max_attributes, _FLAT, _RAW)
    return int(depth), int(attributes)


@njit(cache=True)
def _is_space(byte: int) -> bool:
    return byte == 32 or (9 <= byte <= 13 and byte != 11)


@njit(cache=True)
def _is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@njit(cache=True)
def _read_name(data: Bytes, at: int) -> tuple[int, np.uint64]:
    """End of the element name at `at` and its hash, upper case folded."""
    value = _FNV_OFFSET
    while at < len(data):
        byte = data[at]
        if _is_space(byte) or byte == 47 or byte == 62:  # '/' or '>'
            break
        if 65 <= byte <= 90:
            byte |= 32
        value = (value ^ np.uint64(byte)) * _FNV_PRIME
        at += 1
    return at, value


@njit(cache=True)
def _read_attributes(data: Bytes, at: int, limit: int) -> tuple[int, int, bool]:
    """Place after the tag's '>', its attributes (up to limit + 1), whether it ends in '/>'."""
    n = len(data)
    count = 0
    while at < n:
        byte = data[at]
        if byte == 62:
            return at + 1, count, data[at - 1] == 47
        if _is_space(byte) or byte == 47:
            at += 1
            continue
        count += 1
        if count > limit:
            return n, count, False
        at += 1  # a name has at least one byte, '=' included
        while at < n and not (_is_space(data[at]) or data[at] in (47, 61, 62)):
            at += 1
        value = at
        while value < n and _is_space(data[value]):
            value += 1
        if value >= n or data[value] != 61:
            continue
        at = value + 1
        while at < n and _is_space(data[at]):
            at += 1
        if at < n and (data[at] == 34 or data[at] == 39):
            quote = data[at]
            at += 1
            while at < n and data[at] != quote:
                at += 1
            at += 1
        else:
            while at < n and not _is_space(data[at]) and data[at] != 62:
                at += 1
    return n, count, False


@njit(cache=True)
def _after_comment(data: Bytes, at: int) -> int:
    """Place after the comment whose two dashes begin at `at`; -1 where it never ends."""
    n = len(data)
    if at + 2 < n and data[at + 2] == 62:  # "<!-->"
        return at + 3
    place = at + 2
    while place + 2 < n:
        if data[place] == 45 and data[place + 1] == 45 and data[place + 2] == 62:
            return place + 3
        place += 1
    return -1


@njit(cache=True)
def _after_raw(data: Bytes, at: int, name: np.uint64) -> int:
    """Place of the end tag that closes a raw element, or the end of the page."""
    n = len(data)
    while at + 2 < n:
        if data[at] == 60 and data[at + 1] == 47 and _is_letter(data[at + 2]):
            _, found = _read_name(data, at + 2)
            if found == name:
                return at
        at += 1
    return n


@njit(cache=True)
def _extent(
    data: Bytes,
    stack: npt.NDArray[np.uint64],
    max_attributes: int,
    flat: npt.NDArray[np.uint64],
    raw: npt.NDArray[np.uint64],
) -> tuple[int, int]:
    n = len(data)
    at = depth = deepest = most = 0
    comments_end = True
    while at + 1 < n:
        if data[at] != 60:
            at += 1
            continue
        following = data[at + 1]
        if following == 33 and at + 3 < n and data[at + 2] == 45 and data[at + 3] == 45:
            place = _after_comment(data, at + 2) if comments_end else -1
            comments_end = place >= 0  # asked once only: else "<!--<!--<!--" takes for ever
            at = place if comments_end else at + 4
        elif following == 47 and at + 2 < n and _is_letter(data[at + 2]):
            at, name = _read_name(data, at + 2)
            place = depth - 1
            while place >= 0 and stack[place] != name:
                place -= 1
            if place >= 0:
                depth = place
        elif _is_letter(following):
            at, name = _read_name(data, at + 1)
            at, count, is_closed = _read_attributes(data, at, max_attributes)
            most = max(most, count)
            if count > max_attributes:
                return deepest, most
            is_raw = False
            for other in raw:
                is_raw = is_raw or other == name
            if is_raw:
                if not is_closed:
                    at = _after_raw(data, at, name)
                continue
            if is_closed:
                continue
            nearest = np.searchsorted(flat, name)
            if nearest < len(flat) and flat[nearest] == name:
                continue
            stack[depth] = name
            depth += 1
            deepest = max(deepest, depth)
            if depth >= len(stack):
                return deepest, most
        else:
            at += 1
    return deepest, most
