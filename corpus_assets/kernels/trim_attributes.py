"""Which attributes of an element are kept where `trim_markup` cuts a page down.

Kept are `class`, `id`, `style`, `role`, `rel` and the few others that resiliparse's rules for main
content read; but names in `class` and `id` that no rule could match go too (`class_names`). The
rules are tried on elements that have either, at some microseconds each, and an element without a
match is kept, whatever it has. Only `div` is treated otherwise without any name, and some
attributes are read beside one only: there a name stays that matches as little.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.kernels.byte_search import append_bytes, byte_kernel, find_near_byte
from corpus_assets.kernels.class_names import HAS_DOUBLE, HAS_STEM, name_flags
from corpus_assets.kernels.markup import (
    _CLASSES,
    _ENDS_ATTRIBUTE,
    _ENDS_VALUE,
    _FNV_OFFSET,
    _FNV_PRIME,
    _SPACE,
    name_hash,
)

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]

KEPT_ATTRIBUTES = ("aria-expanded", "aria-hidden", "hidden", "itemprop", "rel")
READ_BESIDE_NAMES = ("data-ad", "data-advertisement", "data-text-ad", "role", "style")
"""Looked at only where an element has a class or an id."""

NAME_SLOTS = 2048
_KEPT, _BESIDE, _CLASS_NAME, _ID = 1, 2, 3, 4
_PLAIN_CLASS = np.frombuffer(b" class=x", dtype=np.uint8)
_PLAIN_ID = np.frombuffer(b" id=x", dtype=np.uint8)


def name_table(groups: tuple[tuple[tuple[str, ...], int], ...]) -> tuple[Hashes, Bytes]:
    """Hashes of names and what they are, each in its slot or the next free one."""
    hashes, kinds = np.zeros(NAME_SLOTS, dtype=np.uint64), np.zeros(NAME_SLOTS, dtype=np.uint8)
    for names, kind in groups:
        for value in map(name_hash, names):
            slot = value % NAME_SLOTS
            while kinds[slot]:
                slot = (slot + 1) % NAME_SLOTS
            hashes[slot], kinds[slot] = value, kind
    return hashes, kinds


_ATTRIBUTES, _ATTRIBUTE_KINDS = name_table(
    (
        (KEPT_ATTRIBUTES, _KEPT),
        (READ_BESIDE_NAMES, _BESIDE),
        (("class",), _CLASS_NAME),
        (("id",), _ID),
    )
)
_ALL_KEPT = (*KEPT_ATTRIBUTES, *READ_BESIDE_NAMES, "class", "id")
_INITIALS = np.zeros(max(map(len, _ALL_KEPT)) + 1, dtype=np.int64)
"""For each length of a name, a bit for each letter that a kept one of it begins with."""
for _name in _ALL_KEPT:
    _INITIALS[len(_name)] |= 1 << (ord(_name[0]) & 31)


@byte_kernel
def _attribute_kind(data: Bytes, start: int, end: int) -> int:
    """What kind of attribute has this name; 0: one that is not kept."""
    if end - start >= len(_INITIALS) or not (_INITIALS[end - start] >> (data[start] & 31)) & 1:
        return 0
    value = _FNV_OFFSET
    for place in range(start, end):
        byte = data[place]
        if 65 <= byte <= 90:
            byte |= 32
        value = (value ^ np.uint64(byte)) * _FNV_PRIME
    slot = value % np.uint64(NAME_SLOTS)
    while _ATTRIBUTE_KINDS[slot] and _ATTRIBUTES[slot] != value:
        slot = (slot + np.uint64(1)) % np.uint64(NAME_SLOTS)
    return int(_ATTRIBUTE_KINDS[slot])


@byte_kernel
def write_attributes(
    data: Bytes, at: int, out: Bytes, size: int, is_div: bool
) -> tuple[int, int, bool]:
    """Go through a tag from the end of its name on, writing the attributes that are kept.

    Place after its '>' (-1: it has none), size of what is written, whether it closes itself.
    """
    n = len(data)
    class_start = class_value = class_end = id_start = id_value = id_end = 0
    is_named_for = is_div
    while at < n:
        byte = data[at]
        is_closed = byte == 47 and at + 1 < n and data[at + 1] == 62
        if byte == 62 or is_closed:
            classes = (class_start, class_value, class_end)
            size = _names(data, classes, (id_start, id_value, id_end), is_named_for, out, size)
            return at + 1 + is_closed, size, is_closed
        if byte == 47 or _CLASSES[byte] & _SPACE:
            at += 1
            continue
        start = at
        at += 1  # a name has at least one byte, '=' included
        while at < n and not _CLASSES[data[at]] & _ENDS_ATTRIBUTE:
            at += 1
        end = value = at
        kind = _attribute_kind(data, start, end)
        while at < n and _CLASSES[data[at]] & _SPACE:
            at += 1
        if at < n and data[at] == 61:
            at += 1
            while at < n and _CLASSES[data[at]] & _SPACE:
                at += 1
            value = at
            if at < n and (data[at] == 34 or data[at] == 39):
                at = find_near_byte(data, data[at], at + 1) + 1
            else:
                while at < n and not _CLASSES[data[at]] & _ENDS_VALUE:
                    at += 1
            end = at
        else:
            at = end
        if end >= n:
            return -1, size, False
        if kind == _CLASS_NAME:
            if class_end == 0:  # of two, the first counts
                class_start, class_value, class_end = start, value, end
        elif kind == _ID:
            if id_end == 0:
                id_start, id_value, id_end = start, value, end
        elif kind:
            is_named_for |= kind == _BESIDE
            out[size] = 32
            size = append_bytes(data, start, end, out, size + 1)
    return -1, size, False


@byte_kernel
def _names(
    data: Bytes,
    classes: tuple[int, int, int],
    ids: tuple[int, int, int],
    is_named_for: bool,
    out: Bytes,
    size: int,
) -> int:
    """Write what is kept of a class and an id, each given as where it, its value and both end.

    Names that match nothing go, or where having any makes a difference, become one that does as
    much: a class alone always passes for an article, since a blank follows it.
    """
    of_class = _value_flags(data, classes[1], classes[2])
    of_id = _value_flags(data, ids[1], ids[2])
    if (max(of_class, 0) | max(of_id, 0)) & HAS_STEM:
        for start, end in ((classes[0], classes[2]), (ids[0], ids[2])):
            if end > 0:
                out[size] = 32
                size = append_bytes(data, start, end, out, size + 1)
        return size
    if not is_named_for or (of_class < 0 and of_id < 0):
        return size
    if of_id < 0 or of_class == HAS_DOUBLE or of_id == HAS_DOUBLE:
        return append_bytes(_PLAIN_CLASS, 0, len(_PLAIN_CLASS), out, size)
    return append_bytes(_PLAIN_ID, 0, len(_PLAIN_ID), out, size)


@byte_kernel
def _value_flags(data: Bytes, start: int, end: int) -> int:
    """`name_flags` of a value in its quotes or without; -1 for none."""
    if end - start >= 2 and (data[start] == 34 or data[start] == 39):
        start, end = start + 1, end - 1
    return name_flags(data, start, end) if end > start else -1
