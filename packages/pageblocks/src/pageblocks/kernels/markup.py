"""Scan markup without a parser: names, comments, raw elements; how deep a page nests and how many
attributes one element has.

HTML parsers and extractors need time that grows with the square of either; a page of 0.65 MB
with 60,000 attributes on one element holds them for a minute. One pass over the bytes finds
such pages in a millisecond.

The scan follows a tolerant parser: an end tag closes back to its nearest open namesake and is
ignored where there is none; void elements, `<x/>` and elements that close themselves by a
sibling (`p`, `li`, `td` ...) do not nest; comments, scripts and styles hold no tags.
"""

import numpy as np
import numpy.typing as npt

from textkernels.byte_search import byte_kernel, find_byte, find_near_byte
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, fnv1a

Bytes = npt.NDArray[np.uint8]

FLAT_ELEMENTS = (
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
    "isindex", "keygen", "link", "meta", "param", "source", "track", "wbr", "p", "li", "td", "th",
    "tr", "dt", "dd", "option", "optgroup", "tbody", "thead", "tfoot", "colgroup", "caption", "rt",
    "rp", "rb", "rtc", "html", "head", "body",
)  # fmt: skip
RAW_ELEMENTS = ("script", "style", "textarea", "title", "xmp")


def name_hash(name: str) -> int:
    """FNV-1a, 64 bits, of a lower-case ASCII name: how the kernel knows elements."""
    return fnv1a(name.encode("ascii"))


_FLAT, _RAW = 1, 2
_SLOTS = 1024
_SPACE, _ENDS_NAME, _ENDS_ATTRIBUTE, _ENDS_VALUE = 1, 2, 4, 8


def _element_table() -> tuple[npt.NDArray[np.uint64], Bytes]:
    """Hashes of the elements that are flat or raw, each in its slot or the next free one."""
    hashes, kinds = np.zeros(_SLOTS, dtype=np.uint64), np.zeros(_SLOTS, dtype=np.uint8)
    for names, kind in ((FLAT_ELEMENTS, _FLAT), (RAW_ELEMENTS, _RAW)):
        for value in map(name_hash, names):
            slot = value % _SLOTS
            while kinds[slot]:
                slot = (slot + 1) % _SLOTS
            hashes[slot], kinds[slot] = value, kind
    return hashes, kinds


def _byte_classes() -> Bytes:
    """Return what each byte ends in a tag."""
    classes = np.zeros(256, dtype=np.uint8)
    for members, mark in (
        (b" \t\n\f\r", _SPACE),
        (b" \t\n\f\r/>", _ENDS_NAME),
        (b" \t\n\f\r/=>", _ENDS_ATTRIBUTE),
        (b" \t\n\f\r>", _ENDS_VALUE),
    ):
        for byte in members:
            classes[byte] |= mark
    return classes


_HASHES, _KINDS = _element_table()
_CLASSES = _byte_classes()


def markup_extent(markup: bytes, max_depth: int, max_attributes: int) -> tuple[int, int]:
    """Deepest nesting and most attributes of one element; stops one past either limit.

    About 1 ns a byte; at worst `max_depth` steps for each end tag.
    """
    data = np.frombuffer(markup, dtype=np.uint8)
    stack = np.empty(max_depth + 1, dtype=np.uint64)
    depth, attributes = _extent(data, stack, max_attributes)
    return int(depth), int(attributes)


@byte_kernel
def is_space(byte: int) -> bool:
    return byte == 32 or (9 <= byte <= 13 and byte != 11)


@byte_kernel
def is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@byte_kernel
def read_name(data: Bytes, at: int) -> tuple[int, np.uint64]:
    """End of the element name at `at` and its hash, upper case folded."""
    value = FNV_OFFSET
    while at < len(data):
        byte = data[at]
        if _CLASSES[byte] & _ENDS_NAME:
            break
        if 65 <= byte <= 90:
            byte |= 32
        value = (value ^ np.uint64(byte)) * FNV_PRIME
        at += 1
    return at, value


@byte_kernel
def _read_attributes(data: Bytes, at: int, limit: int) -> tuple[int, int, bool]:
    """Place after the tag's '>', its attributes (up to limit + 1), whether it ends in '/>'."""
    n = len(data)
    count = 0
    while at < n:
        byte = data[at]
        if byte == 62:
            return at + 1, count, data[at - 1] == 47
        if _CLASSES[byte] & _ENDS_NAME:
            at += 1
            continue
        count += 1
        if count > limit:
            return n, count, False
        at += 1  # a name has at least one byte, '=' included
        while at < n and not _CLASSES[data[at]] & _ENDS_ATTRIBUTE:
            at += 1
        value = at
        while value < n and _CLASSES[data[value]] & _SPACE:
            value += 1
        if value >= n or data[value] != 61:
            continue
        at = value + 1
        while at < n and _CLASSES[data[at]] & _SPACE:
            at += 1
        if at < n and (data[at] == 34 or data[at] == 39):
            at = find_near_byte(data, data[at], at + 1) + 1
        else:
            while at < n and not _CLASSES[data[at]] & _ENDS_VALUE:
                at += 1
    return n, count, False


@byte_kernel
def after_comment(data: Bytes, at: int) -> int:
    """Place after the comment whose two dashes begin at `at`; -1 where it never ends."""
    n = len(data)
    if at + 2 < n and data[at + 2] == 62:  # "<!-->"
        return at + 3
    place = find_byte(data, 62, at + 4)
    while place < n:
        if data[place - 1] == 45 and data[place - 2] == 45:
            return place + 1
        place = find_byte(data, 62, place + 1)
    return -1


@byte_kernel
def after_raw(data: Bytes, at: int, name: np.uint64) -> int:
    """Place of the end tag that closes a raw element, or the end of the page."""
    n = len(data)
    at = find_byte(data, 60, at)
    while at + 2 < n:
        if data[at + 1] == 47 and is_letter(data[at + 2]):
            _, found = read_name(data, at + 2)
            if found == name:
                return at
        at = find_byte(data, 60, at + 1)
    return n


@byte_kernel
def _kind(name: np.uint64) -> int:
    slot = name % np.uint64(_SLOTS)
    while _KINDS[slot] and _HASHES[slot] != name:
        slot = (slot + np.uint64(1)) % np.uint64(_SLOTS)
    return int(_KINDS[slot])


@byte_kernel
def _extent(data: Bytes, stack: npt.NDArray[np.uint64], max_attributes: int) -> tuple[int, int]:
    n = len(data)
    depth = deepest = most = 0
    comments_end = True
    at = find_byte(data, 60, 0)
    while at + 1 < n:
        following = data[at + 1]
        if following == 33 and at + 3 < n and data[at + 2] == 45 and data[at + 3] == 45:
            place = after_comment(data, at + 2) if comments_end else -1
            comments_end = place >= 0  # asked once only: else "<!--<!--<!--" takes for ever
            at = place if comments_end else at + 4
        elif following == 47 and at + 2 < n and is_letter(data[at + 2]):
            at, name = read_name(data, at + 2)
            place = depth - 1
            while place >= 0 and stack[place] != name:
                place -= 1
            if place >= 0:
                depth = place
        elif is_letter(following):
            at, name = read_name(data, at + 1)
            at, count, is_closed = _read_attributes(data, at, max_attributes)
            most = max(most, count)
            if count > max_attributes:
                return deepest, most
            kind = 0 if is_closed else _kind(name)
            if kind == _RAW:
                at = after_raw(data, at, name)
            elif kind == 0 and not is_closed:
                stack[depth] = name
                depth += 1
                deepest = max(deepest, depth)
                if depth >= len(stack):
                    return deepest, most
        else:
            at += 1
        at = find_near_byte(data, 60, at)
    return deepest, most
