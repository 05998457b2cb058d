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
* runs of white space in text, as extraction collapses them anyway; none after a `pre`;
* a `div` that passes for an article by its name becomes a `main`, which passes without a look,
  where it is certain which end tag closes it (`nesting`): the two are not told apart by the rules
  for what is closed inside of them, and otherwise only where a list item closes the one before it.

The scan is a tokenizer by the same standard. What decides how it would go on and only a tree
builder can tell (frames, templates, MathML, HTML inside of SVG, raw text inside of `select`,
scripts that hold a script in a comment, a tag cut off at the end) ends it: from there on the page
is left as it is.

It also notes which of the elements that extraction skips it met (`skipped_elements`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.html_tokens import comment_end, declaration_end, raw_end, text_end
from corpus_assets.ingest.kernels.markup import _is_letter, _read_name, name_hash
from corpus_assets.ingest.kernels.nesting import (
    Open,
    forget_open,
    note_end,
    note_start,
    nothing_open,
)
from corpus_assets.ingest.kernels.skipped_elements import ANY_SKIPPED
from corpus_assets.ingest.kernels.trim_attributes import ARTICLE_ID, write_attributes
from corpus_assets.ingest.kernels.trim_elements import (
    AS_IT_IS_KIND,
    DRAWING_KIND,
    ELEMENT_KINDS,
    ENCLOSING_KIND,
    METADATA_KIND,
    NESTING_CODES,
    NOTED_KIND,
    PRE_KIND,
    RAW_KIND,
    SKIPPED_BITS,
    UNFORESEEABLE_KIND,
    slot_of,
)
from corpus_assets.ingest.kernels.trim_text import write_beginning, write_text
from corpus_assets.text.bytes import append_bytes, byte_kernel, copy_bytes

Bytes = npt.NDArray[np.uint8]
State = npt.NDArray[np.int64]

_DRAWINGS, _IN_SELECT, _IN_HEAD, _IS_BEGUN, _COLLAPSES = range(5)  # what a scan keeps in mind
_LISTS, _FOOTERS, _MAY_BE_OPEN = range(5, 8)  # how many at most; whether nobody knows any more
_SKIPPED = 8  # which of these elements were met

_SCRIPT, _STYLE, _TITLE, _DESC, _SVG, _SELECT, _HTML, _HEAD, _DIV, _UL, _FOOTER = (
    np.uint64(name_hash(name))
    for name in (
        "script", "style", "title", "desc", "svg", "select", "html", "head", "div", "ul", "footer",
    )
)  # fmt: skip
_EMPTY_COMMENT = np.frombuffer(b"<!---->", dtype=np.uint8)
_MAIN_END = np.frombuffer(b"</main>", dtype=np.uint8)
_NAMED_DIV_BYTES = len("<div>") + len(ARTICLE_ID)
_MAIN_START = np.frombuffer(b"<main".ljust(_NAMED_DIV_BYTES - 1) + b">", dtype=np.uint8)


class TrimmedPage(NamedTuple):
    """What is left of a page; a bit for each of SKIPPED that may be in it."""

    markup: bytes
    skipped: int


def trim_markup(page: bytes) -> TrimmedPage:
    """The page, in UTF-8 and without NUL, in about a third of its bytes; a nanosecond a byte.

    A tag grows by a space for each attribute that had none before it, and the end tag of a renamed
    `div` by a byte: a byte in five at most.
    """
    data = np.frombuffer(page, dtype=np.uint8)
    out = np.empty(len(data) + len(data) // 4 + 64, dtype=np.uint8)
    state = np.array([0, 0, 1, 0, 1, 0, 0, 0, 0], dtype=np.int64)
    size = _trim(data, out, state, nothing_open())
    return TrimmedPage(out[:size].tobytes(), int(state[_SKIPPED]))


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
def _end_tag(
    data: Bytes, at: int, out: Bytes, size: int, state: State, opened: Open
) -> tuple[int, int]:
    place, name = _read_name(data, at + 2)
    end, _, _ = _attributes(data, place, out, size, False)
    if end < 0:
        return -1, size
    slot = slot_of(name)
    start = -1
    if NESTING_CODES[slot] and state[_IN_SELECT]:
        forget_open(opened)
    elif NESTING_CODES[slot]:
        start = note_end(opened, NESTING_CODES[slot])
    if name == _SVG:
        state[_DRAWINGS] = max(state[_DRAWINGS] - 1, 0)
    elif state[_DRAWINGS]:
        if ELEMENT_KINDS[slot] != DRAWING_KIND and name not in (_TITLE, _DESC, _STYLE):
            return -1, size
    elif name == _SELECT:
        state[_IN_SELECT] = 0
    elif name == _UL:
        state[_LISTS] = max(state[_LISTS] - 1, 0)
    elif name == _FOOTER:
        state[_FOOTERS] = max(state[_FOOTERS] - 1, 0)
    if name != _HEAD:
        state[_IN_HEAD] = 0
    if start >= 0 and name == _DIV and _is_named_div(out, start):
        copy_bytes(_MAIN_START, 0, len(_MAIN_START), out, start)
        return end, append_bytes(_MAIN_END, 0, len(_MAIN_END), out, size)
    return end, append_bytes(data, at, end, out, size)


@byte_kernel
def _is_named_div(out: Bytes, start: int) -> bool:
    """Whether the tag written there, of a `div`, has the name that passes for an article and no
    other attribute."""
    is_named = bool(out[start + _NAMED_DIV_BYTES - 1] == 62)
    for place in range(len(ARTICLE_ID)):
        is_named &= bool(out[start + 4 + place] == ARTICLE_ID[place])
    return is_named


@byte_kernel
def _start_tag(
    data: Bytes, at: int, out: Bytes, begin: int, state: State, opened: Open
) -> tuple[int, int]:
    place, name = _read_name(data, at + 1)
    slot = slot_of(name)
    kind = int(ELEMENT_KINDS[slot])
    size = append_bytes(data, at, place, out, begin)
    end, size, is_closed = _attributes(data, place, out, size, name == _DIV)
    if end < 0 or _is_unforeseeable(name, kind, state):
        return -1, begin
    state[_SKIPPED] |= SKIPPED_BITS[slot]
    if NESTING_CODES[slot] and state[_IN_SELECT]:
        forget_open(opened)
    elif NESTING_CODES[slot]:
        note_start(opened, NESTING_CODES[slot], begin)
    if kind <= NOTED_KIND:
        state[_IN_HEAD] = 0
        return end, _close(out, size, is_closed, end == place + 2)
    if kind == AS_IT_IS_KIND:
        size = append_bytes(data, at, end, out, begin)
    else:
        size = _close(out, size, is_closed, end == place + 2)
    close = _content_end(data, end, name, kind, is_closed, state)
    if close < 0:
        return -1, begin
    is_metadata = kind == METADATA_KIND or name in (_SCRIPT, _STYLE, _TITLE)
    if name in (_HTML, _HEAD):
        state[_IS_BEGUN] = 1
    elif not is_metadata:
        state[_IN_HEAD] = 0
    if is_metadata and state[_IN_HEAD] and state[_IS_BEGUN]:
        if kind == RAW_KIND:  # its end tag goes too
            place, _ = _read_name(data, close + 2)
            close, _, _ = write_attributes(data, place, out, begin, False)
        return close, begin
    if name == _SVG and not is_closed:
        state[_DRAWINGS] += 1
    elif name == _SELECT:
        state[_IN_SELECT] = 1
    elif kind == PRE_KIND:
        state[_COLLAPSES] = 0
    is_in_list = _is_in_list(name, kind, state)
    if name in (_SCRIPT, _STYLE) and not is_in_list:
        return close, write_beginning(data, end, close, out, size)
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
    if kind == ENCLOSING_KIND and is_in_list:
        state[_MAY_BE_OPEN] = 1
    return is_in_list or bool(state[_MAY_BE_OPEN] == 1)


@byte_kernel
def _is_unforeseeable(name: np.uint64, kind: int, state: State) -> bool:
    """Whether only a tree builder knows how the tokenizer goes on after this start tag."""
    if state[_IN_SELECT] and (kind == RAW_KIND or name == _SVG) and name != _SCRIPT:
        return True
    if state[_DRAWINGS] and kind != DRAWING_KIND and name not in (_SVG, _TITLE, _DESC, _STYLE):
        return True
    return kind == UNFORESEEABLE_KIND


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
    return raw_end(data, at, name, name == _SCRIPT) if kind == RAW_KIND else at


@byte_kernel
def _trim(data: Bytes, out: Bytes, state: State, opened: Open) -> int:
    n = len(data)
    at = size = 0
    while at + 1 < n:
        following = data[at + 1]
        if data[at] != 60:
            end, size, is_blank = write_text(data, at, out, size, state[_COLLAPSES] == 1)
            if not is_blank:
                state[_IN_HEAD] = 0
        elif following == 33 and at + 3 < n and data[at + 2] == 45 and data[at + 3] == 45:
            end, size = _comment(data, at, out, size, state)
        elif _is_letter(following):
            end, size = _start_tag(data, at, out, size, state, opened)
        elif following == 47 and at + 2 < n and _is_letter(data[at + 2]):
            end, size = _end_tag(data, at, out, size, state, opened)
        elif following == 33 or following == 47 or following == 63:
            end, size = _declaration(data, at, out, size, state)
        else:
            out[size] = 60
            end, size = at + 1, size + 1
            state[_IN_HEAD] = 0
        if end < 0:
            state[_SKIPPED] = ANY_SKIPPED
            break
        at = end
    return copy_bytes(data, at, n, out, size)
