"""Which start tag an end tag closes, where HTML's tree construction leaves no doubt.

A tree builder (WHATWG HTML, section 13.2.6.4.7) closes elements for many reasons. Told here is only
what holds whatever came before: that between a start tag and the end tag stands nothing that could
close the element, and that everything of the kind that ends with "pop until" is closed inside.
What may stand between them:

* text, comments, void elements and raw text;
* elements that are not special (`span`, `em`, unknown ones): their end tags stop at a special
  element, and formatting elements that end inside of it leave it open;
* `p`, since what is open is never inside of a `p` that could still be closed: start tags of these
  elements close it;
* special elements of `BLOCKS`, headings, list items and buttons, each closed in turn. A list item
  closes the one before it, back through any `div`: so it has to come right inside of a list or
  another item. A button closes one that is open anywhere: so none may be.

Everything else (tables, objects, ruby, what belongs in a `select`) makes all that is open doubtful.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.bytes import byte_kernel

Open = npt.NDArray[np.int64]

BLOCKS = (
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div",
    "fieldset", "figcaption", "figure", "footer", "header", "hgroup", "listing", "main", "menu",
    "nav", "pre", "search", "section", "summary",
)  # fmt: skip
LISTS = ("dl", "ol", "ul")
ITEMS = ("dd", "dt", "li")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
DOUBTFUL = (
    "applet", "body", "caption", "col", "colgroup", "frame", "frameset", "head", "html", "marquee",
    "object", "rb", "rp", "rt", "rtc", "table", "tbody", "td", "template", "tfoot", "th", "thead",
    "tr",
)  # fmt: skip
_DOUBT, _FORM, _BUTTON, _HEADING = 1, 2, 3, 4
_ITEM = _HEADING + 1
_LIST = _ITEM + len(ITEMS)
_BLOCK = _LIST + len(LISTS)
NESTING: dict[str, int] = {
    "form": _FORM,
    "button": _BUTTON,
    **dict.fromkeys(DOUBTFUL, _DOUBT),
    **dict.fromkeys(HEADINGS, _HEADING),
    **{name: _ITEM + place for place, name in enumerate(ITEMS)},
    **{name: _LIST + place for place, name in enumerate(LISTS)},
    **{name: _BLOCK + place for place, name in enumerate(BLOCKS)},
}
"""A code for each element that counts here; 0 is for all others."""

MAX_OPEN = 600
_DEPTH, _BUTTONS, _FIRST = 0, 1, 2
_CODE_BITS = 8


def nothing_open() -> Open:
    """How many are open for certain, how many buttons at most; then places and codes of those."""
    return np.zeros(_FIRST + MAX_OPEN, dtype=np.int64)


@byte_kernel
def note_start(opened: Open, code: int, place: int) -> None:
    """A start tag of an element with this code stands at `place`, and not inside of a `select`."""
    if code == _FORM:
        return
    if code == _DOUBT:
        opened[_DEPTH] = 0
        return
    depth = opened[_DEPTH]
    top = _top(opened, depth)
    is_doubtful = depth == MAX_OPEN
    if code == _BUTTON:
        is_doubtful |= opened[_BUTTONS] > 0
        opened[_BUTTONS] += 1
    elif code == _HEADING:
        is_doubtful |= top == _HEADING
    elif _ITEM <= code < _LIST:
        is_doubtful |= depth > 0 and not _ITEM <= top < _BLOCK
        depth -= top == code or (_is_term(top) and _is_term(code))
    if is_doubtful:
        depth = 0
    opened[_FIRST + depth] = place << _CODE_BITS | code
    opened[_DEPTH] = depth + 1


@byte_kernel
def note_end(opened: Open, code: int) -> int:
    """Place of the start tag that an end tag of this code closes for certain, or -1."""
    depth = opened[_DEPTH]
    top = _top(opened, depth)
    if code == _FORM:
        if _ITEM <= top < _LIST:
            opened[_DEPTH] = 0
        return -1
    if code >= _LIST or code == _HEADING:
        while _ITEM <= top < _LIST:  # their end is implied
            depth -= 1
            top = _top(opened, depth)
    if code == _DOUBT or top != code:
        opened[_DEPTH] = 0
        return -1
    opened[_BUTTONS] -= code == _BUTTON
    opened[_DEPTH] = depth - 1
    return int(opened[_FIRST + depth - 1] >> _CODE_BITS)


@byte_kernel
def forget_open(opened: Open) -> None:
    """Nothing that is open is certain any more."""
    opened[_DEPTH] = 0


@byte_kernel
def _top(opened: Open, depth: int) -> int:
    return int(opened[_FIRST + depth - 1] & ((1 << _CODE_BITS) - 1)) if depth > 0 else 0


@byte_kernel
def _is_term(code: int) -> bool:
    """Whether it is a `dd` or `dt`, which close each other."""
    return code == _ITEM or code == _ITEM + 1
