"""A page without what the extraction of its main content by resiliparse never looks at.

Parsing builds every attribute and extraction collapses every run of spaces, most of it for
nothing. What goes, and why the text that comes out is the same:

* attributes that no rule reads (`trim_attributes`). Tree construction (WHATWG HTML, section 13.2.6)
  reads none of them but those of `input` and of formatting elements (section 13.2.4.3), whose tags
  stay as they are; `a` is the one formatting element that is never in the list of active ones
  twice;
* metadata in the head, since extraction begins at `body`;
* scripts and styles but for their first 1,536 bytes that are not blank. They count as text where it
  is measured how much of an element is links, which matters in elements of up to 1,500 bytes, or
  of any size in `ul` and `footer`: so they stay whole where one of these may be open;
* what stands inside of comments;
* runs of white space in text, as extraction collapses them anyway; none after a `pre`.

The scan is a tokenizer by the same standard. What decides how it would go on and only a tree
builder can tell (frames, templates, MathML, HTML inside of SVG, raw text inside of `select`,
scripts that hold a script in a comment, a tag cut off at the end) ends it: from there on the page
is left as it is.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.kernels.byte_search import append_bytes, byte_kernel, copy_bytes, find_byte
from corpus_assets.kernels.html_tokens import comment_end, declaration_end, raw_end, text_end
from corpus_assets.kernels.markup import _CLASSES, _SPACE, _is_letter, _read_name, name_hash
from corpus_assets.kernels.trim_attributes import NAME_SLOTS, name_table, write_attributes
from corpus_assets.kernels.unaligned import (
    BLOCK_BYTES,
    above64,
    copy64,
    equal64,
    ones_in,
    zeros_below,
)

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
State = npt.NDArray[np.int64]

AS_THEY_ARE = (
    "b", "big", "code", "em", "font", "i", "input", "nobr", "s", "small", "strike", "strong", "tt",
    "u",
)  # fmt: skip
METADATA = ("base", "link", "meta")
RAW = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
DRAWING = (
    "circle", "clippath", "defs", "ellipse", "g", "line", "lineargradient", "mask", "path",
    "polygon", "polyline", "radialgradient", "rect", "stop", "symbol", "text", "tspan", "use",
)  # fmt: skip
UNFORESEEABLE = ("frameset", "math", "plaintext", "template")
PREFORMATTED = ("listing", "pre")
ENCLOSING = ("applet", "caption", "marquee", "object", "select", "table", "td", "th")
"""While one of these is open, the end tag of what was opened before it is ignored."""
OBSERVED = ("desc", "footer", "head", "html", "svg", "ul")
"""What comes after them is seen otherwise."""
KEPT_CONTENT_BYTES = 1536

_NORMAL, _AS_IT_IS, _METADATA, _RAW, _DRAWING, _UNFORESEEABLE, _PRE, _ENCLOSING, _OBSERVED = range(
    9
)
_DRAWINGS, _IN_SELECT, _IN_HEAD, _IS_BEGUN, _COLLAPSES = range(5)  # what a scan keeps in mind
_LISTS, _FOOTERS, _MAY_BE_OPEN = range(5, 8)  # how many at most; whether nobody knows any more


_ELEMENTS, _ELEMENT_KINDS = name_table(
    (
        (AS_THEY_ARE, _AS_IT_IS),
        (METADATA, _METADATA),
        (RAW, _RAW),
        (DRAWING, _DRAWING),
        (UNFORESEEABLE, _UNFORESEEABLE),
        (PREFORMATTED, _PRE),
        (ENCLOSING, _ENCLOSING),
        (OBSERVED, _OBSERVED),
    )
)
_SCRIPT, _STYLE, _TITLE, _DESC, _SVG, _SELECT, _HTML, _HEAD, _DIV, _UL, _FOOTER = (
    np.uint64(name_hash(name))
    for name in (
        "script", "style", "title", "desc", "svg", "select", "html", "head", "div", "ul", "footer",
    )
)  # fmt: skip
_EMPTY_COMMENT = np.frombuffer(b"<!---->", dtype=np.uint8)


def trim_markup(page: bytes) -> bytes:
    """The page, in UTF-8 and without NUL, in about two fifths of its bytes; a nanosecond a byte.

    A tag grows by a space for each attribute that had none before it, a byte in five at most.
    """
    data = np.frombuffer(page, dtype=np.uint8)
    out = np.empty(len(data) + len(data) // 4 + 64, dtype=np.uint8)
    state = np.array([0, 0, 1, 0, 1, 0, 0, 0], dtype=np.int64)
    return out[: _trim(data, out, state)].tobytes()


@byte_kernel
def _kind_of(name: np.uint64) -> int:
    slot = name % np.uint64(NAME_SLOTS)
    while _ELEMENT_KINDS[slot] and _ELEMENTS[slot] != name:
        slot = (slot + np.uint64(1)) % np.uint64(NAME_SLOTS)
    return int(_ELEMENT_KINDS[slot])


@byte_kernel
def _text(data: Bytes, at: int, out: Bytes, size: int, collapses: bool) -> tuple[int, int, bool]:
    """Write text up to the next '<'; whether it is all white space comes with it."""
    n = len(data)
    if not collapses:
        end = find_byte(data, 60, at)
        return end, copy_bytes(data, at, end, out, size), False
    is_blank = True
    after_space = False
    while at < n and data[at] != 60:
        if at + BLOCK_BYTES <= n:
            here, is_plain, is_empty = _plain_text(data, at, after_space)
            if is_plain or is_empty:
                if is_plain:
                    copy64(data, at, out, size)
                    size += here
                elif not after_space:
                    out[size] = 32
                    size += 1
                at += here
                is_blank &= is_empty
                after_space = is_empty or data[at - 1] == 32
                continue
        end = min(at + BLOCK_BYTES, n)
        while at < end and data[at] != 60:
            byte = data[at]
            if _CLASSES[byte] & _SPACE:
                if not after_space:
                    out[size] = 32
                    size += 1
                after_space = True
            else:
                out[size] = byte
                size += 1
                after_space = is_blank = False
            at += 1
    return at, size, is_blank


@byte_kernel
def _plain_text(data: Bytes, at: int, after_space: bool) -> tuple[int, bool, bool]:
    """How many of 64 bytes come before a '<', at least one; whether their white space is single
    spaces, none of them first after another; whether they are nothing but white space."""
    here = int(zeros_below(equal64(data, at, 60)))
    inside = ~np.uint64(0) >> np.uint64(BLOCK_BYTES - here)
    spaces = equal64(data, at, 32) & inside
    others = equal64(data, at, 9) | equal64(data, at, 10)
    others = (others | equal64(data, at, 12) | equal64(data, at, 13)) & inside
    doubles = spaces & ((spaces << np.uint64(1)) | np.uint64(after_space))
    return here, others | doubles == 0, spaces | others == inside


@byte_kernel
def _comment(data: Bytes, at: int, out: Bytes, size: int, state: State) -> tuple[int, int]:
    """Each of these writes what is kept of a token that begins at `at`, and gives the place after
    it (-1: only a tree builder knows) and the size of all that is written."""
    end = comment_end(data, at + 4)
    if end < 0:
        return -1, size
    if end - at <= len(_EMPTY_COMMENT):
        size = copy_bytes(data, at, end, out, size)
    elif not (state[_IN_HEAD] and state[_IS_BEGUN]):
        size = copy_bytes(_EMPTY_COMMENT, 0, len(_EMPTY_COMMENT), out, size)
    return end, size


@byte_kernel
def _declaration(data: Bytes, at: int, out: Bytes, size: int, state: State) -> tuple[int, int]:
    end = declaration_end(data, at)
    if end < 0 or state[_DRAWINGS]:
        return -1, size
    return end, copy_bytes(data, at, end, out, size)


@byte_kernel
def _attributes(data: Bytes, at: int, out: Bytes, size: int, is_div: bool) -> tuple[int, int, bool]:
    """As `write_attributes`, quicker for a tag that has none."""
    if at < len(data) and data[at] == 62:
        return at + 1, size, False
    return write_attributes(data, at, out, size, is_div)


@byte_kernel
def _end_tag(data: Bytes, at: int, out: Bytes, size: int, state: State) -> tuple[int, int]:
    place, name = _read_name(data, at + 2)
    end, _, _ = _attributes(data, place, out, size, False)
    if end < 0:
        return -1, size
    if name == _SVG:
        state[_DRAWINGS] = max(state[_DRAWINGS] - 1, 0)
    elif state[_DRAWINGS]:
        if _kind_of(name) != _DRAWING and name not in (_TITLE, _DESC, _STYLE):
            return -1, size
    elif name == _SELECT:
        state[_IN_SELECT] = 0
    elif name == _UL:
        state[_LISTS] = max(state[_LISTS] - 1, 0)
    elif name == _FOOTER:
        state[_FOOTERS] = max(state[_FOOTERS] - 1, 0)
    if name != _HEAD:
        state[_IN_HEAD] = 0
    return end, append_bytes(data, at, end, out, size)


@byte_kernel
def _start_tag(data: Bytes, at: int, out: Bytes, begin: int, state: State) -> tuple[int, int]:
    place, name = _read_name(data, at + 1)
    kind = _kind_of(name)
    size = append_bytes(data, at, place, out, begin)
    end, size, is_closed = _attributes(data, place, out, size, name == _DIV)
    if end < 0 or _is_unforeseeable(name, kind, state):
        return -1, begin
    if kind == _NORMAL:
        state[_IN_HEAD] = 0
        return end, _close(out, size, is_closed, end == place + 2)
    if kind == _AS_IT_IS:
        size = append_bytes(data, at, end, out, begin)
    else:
        size = _close(out, size, is_closed, end == place + 2)
    close = _content_end(data, end, name, kind, is_closed, state)
    if close < 0:
        return -1, begin
    is_metadata = kind == _METADATA or name in (_SCRIPT, _STYLE, _TITLE)
    if name in (_HTML, _HEAD):
        state[_IS_BEGUN] = 1
    elif not is_metadata:
        state[_IN_HEAD] = 0
    if is_metadata and state[_IN_HEAD] and state[_IS_BEGUN]:
        if kind == _RAW:  # its end tag goes too
            place, _ = _read_name(data, close + 2)
            close, _, _ = write_attributes(data, place, out, begin, False)
        return close, begin
    if name == _SVG and not is_closed:
        state[_DRAWINGS] += 1
    elif name == _SELECT:
        state[_IN_SELECT] = 1
    elif kind == _PRE:
        state[_COLLAPSES] = 0
    is_in_list = _is_in_list(name, kind, state)
    if name in (_SCRIPT, _STYLE) and not is_in_list:
        return close, _cut(data, end, close, out, size)
    return close, append_bytes(data, end, close, out, size)


@byte_kernel
def _is_in_list(name: np.uint64, kind: int, state: State) -> bool:
    """Whether a `ul` or `footer` may be open after this start tag.

    No more of them are open than were counted: an end tag closes the last that is open, if any,
    but where an element encloses it.
    """
    state[_LISTS] += name == _UL
    state[_FOOTERS] += name == _FOOTER
    is_in_list = bool(state[_LISTS] + state[_FOOTERS] > 0)
    if kind == _ENCLOSING and is_in_list:
        state[_MAY_BE_OPEN] = 1
    return is_in_list or bool(state[_MAY_BE_OPEN] == 1)


@byte_kernel
def _cut(data: Bytes, at: int, end: int, out: Bytes, size: int) -> int:
    """Write as much of a text as counts, up to the end of a character."""
    start = at
    kept = 0
    while kept < KEPT_CONTENT_BYTES and at + BLOCK_BYTES <= end:
        kept += int(ones_in(above64(data, at, 32)))
        at += BLOCK_BYTES
    if at + BLOCK_BYTES > end:
        at = end
    while at < end and data[at] & 0xC0 == 0x80:
        at += 1
    return append_bytes(data, start, at, out, size)


@byte_kernel
def _is_unforeseeable(name: np.uint64, kind: int, state: State) -> bool:
    """Whether only a tree builder knows how the tokenizer goes on after this start tag."""
    if state[_IN_SELECT] and (kind == _RAW or name == _SVG) and name != _SCRIPT:
        return True
    if state[_DRAWINGS] and kind != _DRAWING and name not in (_SVG, _TITLE, _DESC, _STYLE):
        return True
    return kind == _UNFORESEEABLE


@byte_kernel
def _close(out: Bytes, size: int, is_closed: bool, is_bare: bool) -> int:
    """End a tag; a slash is set apart from the attribute that it would belong to."""
    if is_closed and not is_bare:
        out[size] = 32
        size += 1
    if is_closed:
        out[size] = 47
        size += 1
    out[size] = 62
    return size + 1


@byte_kernel
def _content_end(
    data: Bytes, at: int, name: np.uint64, kind: int, is_closed: bool, state: State
) -> int:
    """Place of the end tag of an element that holds text only; `at` of all others; -1: unknown."""
    if state[_DRAWINGS]:
        if name in (_TITLE, _DESC, _STYLE) and not is_closed:
            return text_end(data, at, name)
        return at
    return raw_end(data, at, name, name == _SCRIPT) if kind == _RAW else at


@byte_kernel
def _trim(data: Bytes, out: Bytes, state: State) -> int:
    n = len(data)
    at = size = 0
    while at + 1 < n:
        following = data[at + 1]
        if data[at] != 60:
            end, size, is_blank = _text(data, at, out, size, state[_COLLAPSES] == 1)
            if not is_blank:
                state[_IN_HEAD] = 0
        elif following == 33 and at + 3 < n and data[at + 2] == 45 and data[at + 3] == 45:
            end, size = _comment(data, at, out, size, state)
        elif _is_letter(following):
            end, size = _start_tag(data, at, out, size, state)
        elif following == 47 and at + 2 < n and _is_letter(data[at + 2]):
            end, size = _end_tag(data, at, out, size, state)
        elif following == 33 or following == 47 or following == 63:
            end, size = _declaration(data, at, out, size, state)
        else:
            out[size] = 60
            end, size = at + 1, size + 1
            state[_IN_HEAD] = 0
        if end < 0:
            break
        at = end
    return copy_bytes(data, at, n, out, size)
