"""Which attributes of an element are kept where `trim_markup` cuts a page down.

Kept are those that resiliparse's rules for main content read, and of these only what could make a
difference: `hidden` and marks of advertisements always, `role`, `rel` and some others with the
values that a rule names, `style` where something in it could be hidden, `class` and `id` with names
that a rule could match (`class_names`). The rules are tried on elements that have a class or an id,
at some microseconds each, and an element without a match is kept, whatever it has. Only `div` is
treated otherwise without any name, and some attributes are read beside one only: there a name
stays that does as much. An id does that at half the cost of a class, since fewer rules read it.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.class_names import has_double, has_early_stem, has_late_stem
from corpus_assets.ingest.kernels.markup import (
    _CLASSES,
    _ENDS_ATTRIBUTE,
    _ENDS_VALUE,
    _SPACE,
    name_hash,
)
from corpus_assets.text.bytes import append_bytes, byte_kernel, find_near_byte
from corpus_assets.text.hashing import FNV_OFFSET, FNV_PRIME

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]

MARKS_OF_ADS = ("data-ad", "data-advertisement", "data-text-ad")
"""They, `role` and `style` are looked at only where an element has a class or an id; but a `main`
role is looked for on its own."""

VALUES_READ = {
    "aria-expanded": ("false",),
    "aria-hidden": ("true",),
    "itemprop": ("author", "datepublished", "url"),
    "rel": ("author", "icon", "main", "next", "prev", "search", "tag"),
    "role": (
        "alert", "banner", "checkbox", "comment", "complementary", "contentinfo", "dialog", "img",
        "main", "menu", "menubar", "menuitem", "navigation", "presentation", "radio", "search",
        "searchbox", "separator", "tab", "toolbar", "tooltip",
    ),
}  # fmt: skip

NAME_SLOTS = 2048
_HIDDEN, _AD, _CLASS_NAME, _ID, _STYLE = range(1, 6)
_VALUED = {name: _STYLE + 1 + place for place, name in enumerate(VALUES_READ)}
_ROLE = _VALUED["role"]
ARTICLE_ID = np.frombuffer(b" id=_", dtype=np.uint8)
"""An id that passes for an article."""
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
        (("hidden",), _HIDDEN),
        (MARKS_OF_ADS, _AD),
        (("class",), _CLASS_NAME),
        (("id",), _ID),
        (("style",), _STYLE),
        *(((name,), kind) for name, kind in _VALUED.items()),
    )
)
_READ, _IS_READ = name_table(
    tuple((tuple(f"{name}={value}" for value in values), 1) for name, values in VALUES_READ.items())
)
_READ_START = np.zeros(_STYLE + 1 + len(_VALUED), dtype=np.uint64)
"""For each kind of attribute with values, the hash of its name and '='."""
for _name, _kind in _VALUED.items():
    _READ_START[_kind] = name_hash(f"{_name}=")
_ALL_KEPT = ("hidden", *MARKS_OF_ADS, "class", "id", "style", *VALUES_READ)
_INITIALS = np.zeros(max(map(len, _ALL_KEPT)) + 1, dtype=np.int64)
"""For each length of a name, a bit for each letter that a kept one of it begins with."""
for _name in _ALL_KEPT:
    _INITIALS[len(_name)] |= 1 << (ord(_name[0]) & 31)


@byte_kernel
def _attribute_kind(data: Bytes, start: int, end: int) -> int:
    """What kind of attribute has this name; 0: one that is not kept."""
    if end - start >= len(_INITIALS) or not (_INITIALS[end - start] >> (data[start] & 31)) & 1:
        return 0
    value = FNV_OFFSET
    for place in range(start, end):
        byte = data[place]
        if 65 <= byte <= 90:
            byte |= 32
        value = (value ^ np.uint64(byte)) * FNV_PRIME
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
    met = 0
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
        if kind == 0 or (met >> kind & 1 and kind != _AD):  # of two, the first counts
            continue
        met |= 1 << kind
        if kind == _CLASS_NAME:
            class_start, class_value, class_end = start, value, end
        elif kind == _ID:
            id_start, id_value, id_end = start, value, end
        elif kind <= _AD or _is_read(data, kind, value, end):
            is_named_for |= kind in (_AD, _STYLE, _ROLE)
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
    class_start, class_end = _inside(data, classes[1], classes[2])
    id_start, id_end = _inside(data, ids[1], ids[2])
    has_class, has_id = class_end > class_start, id_end > id_start
    could_match = has_class and has_early_stem(data, class_start, class_end)
    is_article = True
    if has_id and not could_match:
        could_match = has_early_stem(data, id_start, id_end)
        is_article = has_double(data, id_start, id_end)
        if has_class:
            is_article |= has_double(data, class_start, class_end)
        if not is_article:
            could_match |= has_late_stem(data, id_start, id_end)
            could_match |= has_class and has_late_stem(data, class_start, class_end)
    if could_match:
        for start, end in ((classes[0], classes[2]), (ids[0], ids[2])):
            if end > 0:
                out[size] = 32
                size = append_bytes(data, start, end, out, size + 1)
    elif is_named_for and (has_class or has_id):
        name = ARTICLE_ID if is_article else _PLAIN_ID
        size = append_bytes(name, 0, len(name), out, size)
    return size


@byte_kernel
def _is_read(data: Bytes, kind: int, start: int, end: int) -> bool:
    """Whether a rule could name this value, in its quotes or without, of such an attribute."""
    start, end = _inside(data, start, end)
    if kind == _STYLE:
        return _could_hide(data, start, end)
    value = _READ_START[kind]
    for place in range(start, end):
        byte = data[place] | 32
        if byte < 97 or byte > 122:
            return True  # blanks around it, a character reference
        value = (value ^ np.uint64(byte)) * FNV_PRIME
    slot = value % np.uint64(NAME_SLOTS)
    while _IS_READ[slot] and _READ[slot] != value:
        slot = (slot + np.uint64(1)) % np.uint64(NAME_SLOTS)
    return bool(_IS_READ[slot])


@byte_kernel
def _could_hide(data: Bytes, start: int, end: int) -> bool:
    """Whether a style has something like "none" or "hidden" in it, or what could be read as that."""
    for place in range(start, end):
        byte = data[place]
        if byte == 38 or byte >= 128:
            return True
        byte |= 32
        is_none = byte == 110 and place + 4 <= end and data[place + 1] | 32 == 111
        is_hidden = byte == 104 and place + 6 <= end and data[place + 5] | 32 == 110
        if is_none or is_hidden:
            return True
    return False


@byte_kernel
def _inside(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """Where a value begins and ends inside of its quotes, if it has any."""
    if end - start >= 2 and (data[start] == 34 or data[start] == 39):
        return start + 1, end - 1
    return start, end
