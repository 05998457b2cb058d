"""A page as blocks of text in a tree of elements, in one pass over its bytes.

A block is text between two tags that break it (`p`, `div`, `li`, `td` ...; two `br` as well). It
knows the innermost element it stands in and counts of what it holds; an element knows its parent
and what its class, id, role and itemprop hint at (`VOCABULARY`). Nothing is judged here.

What a tolerant parser does is done: an end tag closes back to its nearest open namesake, and is
ignored where there is none or a table cell lies between; `p`, `li`, `td` ... end by their sibling;
comments, CDATA, scripts, styles, templates, drawings and form fields hold no text, but for a template
that is a shadow root, which is shown; entities become characters. Elements beyond `MAX_DEPTH` count
as their ancestor there. Time is linear in the page.

What a reader sees is written: white space as one space, and as none where a line of the source ends
between two characters of Chinese or Japanese; no soft hyphens; `q` with its quotation marks; formulas
as TeX between dollar signs (`formulas`); `^` and `_` where raised and lowered text needs them
(`raised`). What the style of an inline element hides, numbers of lines
of code, and links to a place of the page that are one sign (`#`, a pilcrow) are left out. What
`hidden` or a style says of whole blocks is a hint: scripts may show them.

A page with formulas is read twice: the first time finds them, then they are converted, and the second
time writes them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.formulas import write_formulas
from pageblocks.kernels.markup import (
    after_comment,
    after_raw,
    is_letter,
    name_hash,
    read_name,
)
from pageblocks.kernels.page_chars import (
    ends_sentence,
    is_blank,
    is_mark,
    is_sign,
    is_word,
    read_entity,
)
from pageblocks.kernels.page_names import (
    HINTS,
    IS_A,
    IS_BR,
    IS_BREAKING,
    IS_HR,
    IS_INLINE,
    IS_LEFT_OUT,
    IS_MATH,
    IS_QUOTE,
    IS_RAW,
    IS_SPAN,
    IS_SUP,
    IS_VOID,
    TAGS,
    NameTables,
    Words,
    find_slot,
    name_tables,
    signed,
)
from pageblocks.kernels.raised import AS_IS, BRACED, SPACED, how_written
from pageblocks.kernels.scripts import is_southeast_asian, is_wide, weight
from pageblocks.kernels.start_tags import (
    HAS_HREF,
    HAS_MATHML,
    IS_CLOSED,
    IS_JSON_LD,
    IS_KATEX_DRAWING,
    IS_LEFT_OUT_SPAN,
    IS_MATHJAX,
    IS_SHADOW_ROOT,
    IS_TEX,
    ITEM_SHIFT,
    ITEMS,
    NOT_SHOWN,
    TO_PLACE,
    read_attributes,
)
from textkernels.byte_search import (
    byte_kernel,
    copy_bytes,
    find_byte,
    find_near_byte,
    inlined_kernel,
)
from textkernels.hashing import FNV_OFFSET, FNV_PRIME
from textkernels.utf8 import decode, encode, last_code_point

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]

MAX_DEPTH = 256
MAX_PAGE_BYTES = 1 << 30  # offsets are int32

BLOCK_COLUMNS = (
    "start", "end", "element", "flags", "chars", "words", "link_chars", "links", "marks", "digits",
    "capitals", "hints", "title_words",
)  # fmt: skip
"""Of a block: its bytes in the text, its element's number, `FLAGS`, and counts.

`chars` are characters without space, one of a script without spaces counting 3; `words` are runs of
letters and digits; `marks` punctuation of sentences; `title_words` words that stand in the page's
title; `hints` those of inline elements inside.
"""
(_START, _END, _ELEMENT, _FLAGS, _CHARS, _WORDS, _LINK_CHARS, _LINKS, _MARKS, _DIGITS, _CAPITALS,
 _INNER, _IN_TITLE) = range(13)  # fmt: skip
FLAGS = {
    "ends_sentence": 1,
    "in_link": 2,
    "is_pre": 4,
    "has_math": 8,
    "after_br": 16,
    "begins_low": 32,
    "is_recipe_line": 64,
}
ELEMENT_COLUMNS = ("parent", "tag", "hints", "depth", "first_block", "end_block", "items")
"""Of an element: its parent's number, its tag, hints of its names, where it stands, and what it says it
is (`start_tags.ITEMS`)."""
_PARENT, _TAG, _HINTS, _DEPTH, _FIRST, _STOP, _ITEMS = range(7)


class Blocks(NamedTuple):
    """A page: text in UTF-8, blocks (n, 13) and elements (m, 7) in page order, the elements'
    signatures (m), equal for equal tag and class, and where the contents of scripts of JSON-LD begin
    and end in the page (k, 2). Element 0 is the page."""

    text: Bytes
    blocks: Ints
    elements: Ints
    signatures: Words
    json_ld: Ints

    def text_of(self, number: int) -> str:
        """The text of a block."""
        start, end = self.blocks[number, :2].tolist()
        return self.text[start:end].tobytes().decode("utf-8", "surrogatepass")


class _Page(NamedTuple):
    """What a page is read from and into; kernels hand it to each other."""

    data: Bytes
    text: Bytes
    blocks: Ints
    elements: Ints
    signatures: Words
    stack: Ints  # numbers of open elements, by depth; 0 is the page
    open_names: Words  # their names
    title: Words  # words of the page's title
    endless: Words  # names of left-out elements without an end tag
    raised: Ints  # open `sup` and `sub`: start in the text; is it `sup`, a link, first there
    formulas: Ints  # markup of each formula: its start and end; and the end of its text
    formula_texts: Bytes  # what is written for them, one after the other
    json_ld: Ints  # contents of its scripts: start and end
    state: npt.NDArray[np.int64]  # what changes while the page is read, by `NOW_SIZE` ...


(
    NOW_SIZE,  # bytes of text written
    NOW_BLOCKS,  # blocks that are complete
    NOW_ELEMENTS,
    NOW_DEPTH,  # of the innermost open element
    NOW_IS_OPEN,  # a block has begun
    NOW_FLAGS,  # of this block, or the next
    NOW_PENDING,  # what the next character has before it: `_SPACE` ...
    NOW_LEAD,  # white space of preformatted text that is written before its block begins
    NOW_RAISED,  # open `sup` and `sub` of this block
    NOW_SUB_END,  # bytes of text written when the last `sub` ended
    NOW_BREAKS,  # `br` since the last character
    NOW_PRE,  # depth of the open `pre`
    NOW_LINK,  # depth at which the open link began, -1 where none is open
    NOW_LINK_START,
    NOW_TO_PLACE,  # the open link leads to a place of the page
    NOW_WASTED,  # bytes read in vain, to find the ends of what is not shown
    NOW_ENDLESS,  # how many names `endless` holds
    NOW_COMMENTS_END,
    NOW_HAS_TITLE,
    NOW_FORMULAS,  # how many were met
    NOW_KNOWN,  # how many are in `formulas` when they are written; 0 where they are looked for
    NOW_FORMULA_END,  # bytes of text written when the last one was
    NOW_JSON_LD,  # how many scripts of it were met
) = range(23)
N_NOW = 23
MAX_TITLE_WORDS, MAX_ENDLESS, MAX_RAISED, MAX_JSON_LD = 256, 16, 8, 200


def find_blocks(page: bytes) -> Blocks:
    """Blocks and elements of a page in UTF-8; about 2 ns a byte."""
    if len(page) > MAX_PAGE_BYTES:
        raise ValueError(f"the page has {len(page)} bytes: give {MAX_PAGE_BYTES} at most")
    n_tags = np.count_nonzero(np.frombuffer(page, dtype=np.uint8) == ord("<"))
    formulas = np.empty((n_tags + 1, 3), dtype=np.int32)
    found, n_formulas = _read(page, formulas[:0], b"", formulas)
    if n_formulas:
        written = write_formulas(page, [(at, end) for at, end, _ in formulas[:n_formulas].tolist()])
        if any(written):
            formulas[:n_formulas, 2] = np.cumsum([len(each) for each in written])
            found, _ = _read(page, formulas[:n_formulas], b"".join(written), formulas)
    return found


def _read(page: bytes, known: Ints, texts: bytes, formulas: Ints) -> tuple[Blocks, int]:
    """Read a page, with the texts of the formulas that are known; how many formulas it met."""
    data = np.frombuffer(page, dtype=np.uint8)
    room = len(formulas) + 1
    size = len(page) + len(page) // 5 + 64  # `&nGt;` becomes six bytes
    text = np.empty(size + len(texts) + 2 * len(known), dtype=np.uint8)
    blocks = np.zeros((room, len(BLOCK_COLUMNS)), dtype=np.int32)
    elements = np.zeros((room, len(ELEMENT_COLUMNS)), dtype=np.int32)
    signatures = np.zeros(room, dtype=np.uint64)
    state = np.zeros(N_NOW, dtype=np.int64)
    state[NOW_KNOWN] = len(known)
    read = _Page(
        data, text, blocks, elements, signatures,
        stack=np.zeros(MAX_DEPTH + 1, dtype=np.int32),
        open_names=np.zeros(MAX_DEPTH + 1, dtype=np.uint64),
        title=np.zeros(MAX_TITLE_WORDS, dtype=np.uint64),
        endless=np.zeros(MAX_ENDLESS, dtype=np.uint64),
        raised=np.zeros((MAX_RAISED, 4), dtype=np.int32),
        formulas=formulas,
        formula_texts=np.frombuffer(texts, dtype=np.uint8),
        json_ld=np.zeros((MAX_JSON_LD, 2), dtype=np.int32),
        state=state,
    )  # fmt: skip
    n, m = _parse(read, name_tables())
    json_ld = read.json_ld[: state[NOW_JSON_LD]]
    return Blocks(text, blocks[:n], elements[:m], signatures[:m], json_ld), int(state[NOW_FORMULAS])


_P, _LI, _DT, _DD, _TD, _TH, _TR, _PRE, _TABLE, _CAPTION, _OPTION = (
    TAGS[name]
    for name in ("p", "li", "dt", "dd", "td", "th", "tr", "pre", "table", "caption", "option")
)
_HTML, _HEAD, _BODY, _DIV, _ADDRESS, _CUSTOM, _BLOCKQUOTE = (
    TAGS[name] for name in ("html", "head", "body", "div", "address", "custom", "blockquote")
)
_POST_BIT = 1 << HINTS["post"]
_RECIPE_LINE, _RECIPE_LINE_FLAG = ITEMS["recipe_line"], FLAGS["is_recipe_line"]
_SPACE, _ZERO_SPACE = 1, 2
_INLINE = (IS_INLINE, IS_A, IS_SPAN, IS_QUOTE, IS_SUP)
_TITLE_HASH, _SUB_HASH = name_hash("title"), name_hash("sub")


@byte_kernel
def _after_nested(data: Bytes, at: int, name: np.uint64) -> int:
    """Place after the end tag that matches a start tag which ended at `at`, inner namesakes
    counted; -1 where it has none."""
    n = len(data)
    depth = 1
    at = find_byte(data, 60, at)
    while at + 2 < n:
        is_end = data[at + 1] == 47
        first = at + 1 + is_end
        if is_letter(data[first]):
            end, found = read_name(data, first)
            if found == name:
                close = find_near_byte(data, 62, end)
                if is_end:
                    depth -= 1
                elif data[close - 1] != 47:
                    depth += 1
                if depth == 0:
                    return min(close + 1, n)
            at = end
        else:
            at += 1
        at = find_near_byte(data, 60, at)
    return -1


@byte_kernel
def _is_custom(data: Bytes, at: int, end: int) -> bool:
    """Whether data[at:end] is the name of a custom element, and none that formulas are made of."""
    if find_near_byte(data[:end], 45, at) >= end:
        return False
    return end - at < 5 or not (
        data[at] | 32 == 109 and (
            (data[at + 1] | 32 == 106 and data[at + 2] | 32 == 120)  # mjx-
            or (data[at + 1] | 32 == 97 and data[at + 2] | 32 == 116 and data[at + 4] == 45)  # math-
        )
    )  # fmt: skip


@byte_kernel
def _after_inline(
    data: Bytes, at: int, name: np.uint64, hashes: Words, kinds: Bytes
) -> tuple[int, int]:
    """Place after the end tag that matches a start tag which ended at `at`, or 0 where a tag that
    breaks comes first or the page ends; and how far was read."""
    n = len(data)
    depth = 1
    at = find_near_byte(data, 60, at)
    while at + 2 < n:
        is_end = data[at + 1] == 47
        first = at + 1 + is_end
        if is_letter(data[first]):
            end, found = read_name(data, first)
            slot = find_slot(hashes, found)
            if (slot >= 0 and kinds[slot] == IS_BREAKING) or (
                slot < 0 and _is_custom(data, at, end)
            ):
                return 0, at
            close = min(find_near_byte(data, 62, end) + 1, n)
            if found == name:
                depth += -1 if is_end else 1
                if depth == 0:
                    return close, close
            at = close
        else:
            at += 1
        at = find_near_byte(data, 60, at)
    return 0, n


@byte_kernel
def _measure(text: Bytes, block: Ints, title: Words) -> None:
    """Fill in a block's counts from its text."""
    at, end = signed(block[_START]), signed(block[_END])
    chars = words = marks = digits = capitals = in_title = 0
    in_word = False
    value, last, first = FNV_OFFSET, 0, 0
    while at < end:
        code, width = decode(text, at, end)
        at += width
        if code <= 32 or is_blank(code):
            if in_word and title[value & np.uint64(255)] == value:
                in_title += 1
            in_word, value = False, FNV_OFFSET
            continue
        chars += weight(code)
        if first == 0:
            first = code
        if is_word(code):
            words += not in_word
            in_word = True
            digits += 48 <= code <= 57
            capitals += 65 <= code <= 90
            value = (value ^ np.uint64(code | 32)) * FNV_PRIME
        else:
            if in_word and title[value & np.uint64(255)] == value:
                in_title += 1
            in_word, value = False, FNV_OFFSET
            marks += is_mark(code)
        if code not in (34, 39, 41, 93, 0xBB, 0x201D, 0x2019, 0x300D, 0x300F):
            last = code
    if in_word and title[value & np.uint64(255)] == value:
        in_title += 1
    block[_CHARS], block[_WORDS], block[_MARKS] = chars, words, marks
    block[_DIGITS], block[_CAPITALS], block[_IN_TITLE] = digits, capitals, in_title
    if ends_sentence(last):
        block[_FLAGS] |= 1
    if 97 <= first <= 122:
        block[_FLAGS] |= 32


@byte_kernel
def _read_title(data: Bytes, at: int, end: int, title: Words) -> None:
    """Words of the page's title into a table of 256, the later of two in one slot."""
    value, n = FNV_OFFSET, 0
    while at <= end:
        code = 32
        if at < end:
            code, width = decode(data, at, end)
            at += width
        else:
            at += 1
        if is_word(code):
            value = (value ^ np.uint64(code | 32)) * FNV_PRIME
            n += 1
        else:
            if n:
                title[value & np.uint64(255)] = value
            value, n = FNV_OFFSET, 0


@byte_kernel
def _chars_of(text: Bytes, at: int, end: int) -> int:
    """Characters without space in text[at:end], wide ones thrice, as `_measure` counts them."""
    chars = 0
    while at < end:
        code, width = decode(text, at, end)
        at += width
        if not is_blank(code):
            chars += weight(code)
    return chars


@byte_kernel
def _closes(tag: int, open_tag: int) -> bool:
    """Whether a start tag ends an open sibling."""
    if tag == _LI:
        return open_tag == _LI
    if tag in (_DT, _DD):
        return open_tag in (_DT, _DD)
    if tag in (_TD, _TH):
        return open_tag in (_TD, _TH)
    if tag == _TR:
        return open_tag == _TR
    return tag == _OPTION and open_tag == _OPTION


@byte_kernel
def _looks_past(tag: int, open_tag: int) -> bool:
    """Whether an open element lets a start tag look for its sibling above it."""
    if tag == _TR:
        return open_tag in (_TD, _TH)
    if tag in (_LI, _DT, _DD):
        return open_tag in (_P, _DIV, _ADDRESS)
    return open_tag == _P


@byte_kernel
def _close(elements: Ints, stack: Ints, depth: int, place: int, n_blocks: int) -> int:
    """End the open elements from the innermost back to the one at `place`; the depth after it."""
    while depth >= place:
        elements[stack[depth], _STOP] = n_blocks
        depth -= 1
    return depth


@byte_kernel
def _namesake(
    elements: Ints, stack: Ints, names: Words, depth: int, name: np.uint64, tag: int
) -> int:
    """Place of the open element that an end tag closes; 0 where there is none, or a table's part
    lies between."""
    is_of_table = tag in (_TABLE, _TR, _TD, _TH, _HTML, _BODY)
    while depth > 0 and names[depth] != name:
        if not is_of_table and elements[stack[depth], _TAG] in (_TD, _TH, _TABLE, _CAPTION):
            return 0
        depth -= 1
    return depth


@byte_kernel
def _sibling(elements: Ints, stack: Ints, depth: int, tag: int) -> int:
    """Place of the open element that a start tag ends; 0 where there is none."""
    while depth > 0 and not _closes(tag, elements[stack[depth], _TAG]):
        if not _looks_past(tag, elements[stack[depth], _TAG]):
            return 0
        depth -= 1
    return depth


@byte_kernel
def _is_wrapped(data: Bytes, at: int) -> bool:
    """Whether there is nothing before `at` but one end of a line after a wide character."""
    ends = 0
    while at > 0 and data[at - 1] <= 32:
        at -= 1
        ends += data[at] == 10
    return ends == 1 and at > 0 and is_wide(last_code_point(data, 0, at))


@byte_kernel
def _is_handle(text: Bytes, at: int, end: int) -> bool:
    """Whether text[at:end] is one sign, and none that footnotes have."""
    while at < end and text[at] <= 32:
        at += 1
    if at >= end:
        return False
    code, width = decode(text, at, end)
    at += width
    while at < end:
        selector, width = decode(text, at, end)
        at += width
        if selector != 0xFE0E and selector != 0xFE0F:
            return False
    return is_sign(code) and code not in (42, 0x2020, 0x2021)


@byte_kernel
def _parse(page: _Page, names: NameTables) -> tuple[int, int]:
    """Read the whole page: text and tags in turn. Gives the numbers of blocks and of elements."""
    state = page.state
    state[NOW_ELEMENTS] = 1
    state[NOW_LINK] = state[NOW_FORMULA_END] = state[NOW_SUB_END] = -1
    state[NOW_COMMENTS_END] = 1
    page.elements[0, _PARENT] = -1
    at = 0
    while at < len(page.data):
        if _begins_tag(page.data, at):
            at = _read_tag(page, names, at)
        else:
            at = _read_text(page, names, at)
    _end_block(page)
    _close(page.elements, page.stack, state[NOW_DEPTH], 0, state[NOW_BLOCKS])
    return state[NOW_BLOCKS], state[NOW_ELEMENTS]


@inlined_kernel
def _begins_tag(data: Bytes, at: int) -> bool:
    if data[at] != 60 or at + 1 >= len(data):
        return False
    following = data[at + 1]
    return following in (33, 47, 63) or is_letter(following)


@byte_kernel
def _next_tag(data: Bytes, at: int) -> int:
    """Place of the next tag, or the end of the page. A comment without an end ends there: what follows
    is the page, which browsers lose."""
    at = find_byte(data, 60, at)
    while at < len(data) and not _begins_tag(data, at):
        at = find_byte(data, 60, at + 1)
    return at


@inlined_kernel
def _read_text(page: _Page, names: NameTables, at: int) -> int:
    """Write the characters up to the next tag; the place of that tag."""
    data, text, state = page.data, page.text, page.state
    n = len(data)
    in_pre = state[NOW_PRE] > 0
    is_open = state[NOW_IS_OPEN] != 0
    size, lead = state[NOW_SIZE], state[NOW_LEAD]
    pending, breaks = state[NOW_PENDING], state[NOW_BREAKS]
    while at < n:
        code, second, after = signed(data[at]), 0, at + 1
        if code == 60 and _begins_tag(data, at):
            break
        if code == 38:
            after, code, second = read_entity(data, at, names.entity_hashes, names.entity_codes)
            if after == at:
                code, after = 38, at + 1
        elif code >= 0x80:
            code, width = decode(data, at, n)
            after = at + width
        if code == 0xAD or code == 0xFEFF:
            at = after
            continue
        if code <= 32 or code == 0xA0 or code == 0x3000 or code == 0x200B:
            if in_pre and (code == 10 or code == 9 or code == 32 or code == 0xA0):
                pending = 0
                if code == 10 and not is_open:
                    size, lead = size - lead, 0
                else:
                    text[size] = 32 if code == 0xA0 else code
                    size += 1
                    lead += not is_open
            else:
                pending |= _ZERO_SPACE if code == 0x200B else _SPACE
            at = after
            continue
        if not is_open:
            is_open = True
            _begin_block(page, size - lead)
            lead = 0
        elif pending:
            size = _separate(data, at, text, size, code, pending, breaks, in_pre)
        pending = breaks = 0
        if data[at] == 38:
            size = encode(text, size, code)
            if second:
                size = encode(text, size, second)
            at = after
        else:
            while at < after and at < n:
                text[size] = data[at]
                size += 1
                at += 1
    state[NOW_IS_OPEN] = is_open
    state[NOW_SIZE], state[NOW_LEAD] = size, lead
    state[NOW_PENDING], state[NOW_BREAKS] = pending, breaks
    return at


@inlined_kernel
def _begin_block(page: _Page, start: int) -> None:
    """Begin a block at a place of the text, with its first character."""
    block = page.blocks[page.state[NOW_BLOCKS]]
    block[_START] = start
    if page.state[NOW_LINK] >= 0:
        block[_LINKS] += 1


@byte_kernel
def _separate(
    data: Bytes, at: int, text: Bytes, size: int, code: int, pending: int, breaks: int, in_pre: bool
) -> int:
    """Write what stands between a block's last character and the next, `code` at `at`."""
    if breaks > 0 and pending:
        text[size] = 10
        return size + 1
    if pending & _SPACE:
        if is_wide(code) and not in_pre and _is_wrapped(data, at):
            return size
        text[size] = 32
        return size + 1
    if pending and is_southeast_asian(code):
        return encode(text, size, 0x200B)
    return size


@byte_kernel
def _write_quote(page: _Page, at: int, code: int) -> None:
    """Write the quotation mark that a tag which ended before `at` stands for."""
    _write_shown(page, at, code)
    page.state[NOW_SIZE] = encode(page.text, page.state[NOW_SIZE], code)


@byte_kernel
def _write_shown(page: _Page, at: int, code: int) -> None:
    """Make place for `code`, which a tag that ended before `at` stands for: begin a block, or write
    what is between it and the last character."""
    state = page.state
    size = state[NOW_SIZE]
    if state[NOW_IS_OPEN] == 0:
        state[NOW_IS_OPEN] = 1
        _begin_block(page, size - state[NOW_LEAD])
        state[NOW_LEAD] = 0
    else:
        size = _separate(
            page.data, at, page.text, size, code, state[NOW_PENDING], state[NOW_BREAKS],
            state[NOW_PRE] > 0,
        )  # fmt: skip
    state[NOW_SIZE] = size
    state[NOW_PENDING] = state[NOW_BREAKS] = 0


@inlined_kernel
def _read_tag(page: _Page, names: NameTables, at: int) -> int:
    """Do what a tag, comment or declaration asks for; the place after it."""
    data, state = page.data, page.state
    following = data[at + 1]
    if following == 33 and at + 3 < len(data) and data[at + 2] == 45 and data[at + 3] == 45:
        place = after_comment(data, at + 2) if state[NOW_COMMENTS_END] else -1
        state[NOW_COMMENTS_END] = place >= 0
        return place if place >= 0 else _next_tag(data, at + 4)
    if following == 47 and at + 2 < len(data) and is_letter(data[at + 2]):
        return _read_end_tag(page, names, at)
    if following in (33, 47, 63):
        return min(find_near_byte(data, 62, at + 1) + 1, len(data))
    return _read_start_tag(page, names, at)


@inlined_kernel
def _read_end_tag(page: _Page, names: NameTables, begin: int) -> int:
    data, state = page.data, page.state
    end, name = read_name(data, begin + 2)
    at = min(find_near_byte(data, 62, end) + 1, len(data))
    slot = find_slot(names.tag_hashes, name)
    kind = signed(names.tag_kinds[slot]) if slot >= 0 else IS_INLINE
    if kind == IS_A:
        _end_link(page)
    elif kind == IS_QUOTE:
        _write_quote(page, at, 0x201D)
    elif kind != IS_BREAKING and (slot >= 0 or not _is_custom(data, begin + 2, end)):
        if kind == IS_SUP:
            _end_raised(page, name != _SUB_HASH, at)
    else:
        number = signed(names.tag_numbers[slot]) if slot >= 0 else _CUSTOM
        place = _namesake(
            page.elements, page.stack, page.open_names, state[NOW_DEPTH], name, number
        )
        _end_block(page)
        if place > 0:
            _close_from(page, place)
        state[NOW_BREAKS] = 0
    return at


@inlined_kernel
def _read_start_tag(page: _Page, names: NameTables, begin: int) -> int:
    data, state = page.data, page.state
    at, name = read_name(data, begin + 1)
    slot = find_slot(names.tag_hashes, name)
    kind = signed(names.tag_kinds[slot]) if slot >= 0 else IS_INLINE
    if slot < 0 and _is_custom(data, begin + 1, at):
        kind = IS_BREAKING
    at, hints, signature, marks = read_attributes(
        data, at, kind, name, names.hint_hashes, names.hint_bits
    )
    if (
        marks & NOT_SHOWN
        and not marks & HAS_MATHML
        and kind in _INLINE
        and state[NOW_WASTED] <= len(data)
    ):
        end, place = _after_inline(data, at, name, names.tag_hashes, names.tag_kinds)
        if end > 0:
            return end
        state[NOW_WASTED] += place - at
    if kind == IS_VOID:
        if marks & IS_TEX:
            _meet_formula(page, begin, at)
        return at
    if kind == IS_RAW:
        return _read_raw(page, begin, at, name, marks)
    if kind == IS_MATH:
        return _read_math(page, begin, at, name, marks)
    if marks & IS_SHADOW_ROOT:
        return at
    drawn = marks & (IS_MATHJAX | IS_KATEX_DRAWING)
    if kind == IS_LEFT_OUT or marks & IS_LEFT_OUT_SPAN or drawn:
        place = _after_left_out(page, at, name, kind, marks)
        if place >= 0:
            is_there = marks & IS_KATEX_DRAWING and state[NOW_FORMULA_END] == state[NOW_SIZE]
            if drawn and not is_there:
                _meet_formula(page, begin, place)
            if marks & IS_KATEX_DRAWING:
                state[NOW_FORMULA_END] = -1
            return place
        if kind == IS_LEFT_OUT:
            return at
    if marks >> ITEM_SHIFT & _RECIPE_LINE and kind != IS_BREAKING:
        state[NOW_FLAGS] |= _RECIPE_LINE_FLAG
    if kind == IS_BR:
        _break_line(page)
    elif kind == IS_HR:
        _end_block(page)
        state[NOW_BREAKS] = 0
    elif kind == IS_A:
        _begin_link(page, hints, marks)
    elif kind == IS_QUOTE:
        _write_quote(page, at, 0x201C)
    elif kind == IS_BREAKING:
        _end_block(page)
        tag = signed(names.tag_numbers[slot]) if slot >= 0 else _CUSTOM
        _begin_element(page, tag, name, hints, signature, marks)
        state[NOW_BREAKS] = 0
    elif state[NOW_IS_OPEN]:
        page.blocks[state[NOW_BLOCKS], _INNER] |= hints
        if kind == IS_SUP:
            _begin_raised(page, name != _SUB_HASH)
    return at


@inlined_kernel
def _begin_raised(page: _Page, is_sup: bool) -> None:
    """Note where raised or lowered text begins, if it follows a character directly."""
    state, place = page.state, page.state[NOW_RAISED]
    if place < MAX_RAISED:
        size = state[NOW_SIZE]
        is_first = place == 0 or page.raised[place - 1, 0] != size
        page.raised[place, 0], page.raised[place, 1] = size, is_sup
        page.raised[place, 2] = state[NOW_LINK] >= 0 and state[NOW_LINK_START] == size
        page.raised[place, 3] = is_first and state[NOW_PENDING] == 0
    state[NOW_RAISED] = place + 1


@byte_kernel
def _end_raised(page: _Page, is_sup: bool, at: int) -> None:
    """Write the mark of raised or lowered text before it, where it needs one."""
    text, state = page.text, page.state
    place = state[NOW_RAISED] - 1
    if place < 0:
        return
    state[NOW_RAISED] = place
    if place >= MAX_RAISED or page.raised[place, 1] != is_sup or not page.raised[place, 3]:
        return
    start, end = signed(page.raised[place, 0]), state[NOW_SIZE]
    way = how_written(
        text, signed(page.blocks[state[NOW_BLOCKS], _START]), start, end, is_sup,
        page.raised[place, 2] != 0, state[NOW_SUB_END] == start, page.data, at,
    )  # fmt: skip
    if way != AS_IS:
        shift = 2 if way == BRACED else 1
        for index in range(end - 1, start - 1, -1):
            text[index + shift] = text[index]
        text[start] = 32 if way == SPACED else 94 if is_sup else 95
        end += shift
        if way == BRACED:
            text[start + 1], text[end] = 123, 125
            end += 1
        if state[NOW_LINK_START] > start:
            state[NOW_LINK_START] += shift
        state[NOW_SIZE] = end
    if not is_sup:
        state[NOW_SUB_END] = end


@byte_kernel
def _has_end_tag(data: Bytes, at: int, name: np.uint64) -> bool:
    """Whether the end tag of a raw element follows before another one begins. `<script/>` has one in
    HTML, where the slash means nothing, and none in XHTML."""
    n = len(data)
    at = find_byte(data, 60, at)
    while at + 2 < n:
        is_end = data[at + 1] == 47
        if is_letter(data[at + 1 + is_end]):
            _, found = read_name(data, at + 1 + is_end)
            if found == name:
                return bool(is_end)
        at = find_byte(data, 60, at + 1)
    return False


@byte_kernel
def _read_raw(page: _Page, begin: int, at: int, name: np.uint64, marks: int) -> int:
    """Pass over an element that holds no tags, after reading a title or a formula out of it."""
    data, state = page.data, page.state
    if marks & IS_CLOSED and not _has_end_tag(data, at, name):
        return at
    place = after_raw(data, at, name)
    if name == _TITLE_HASH and not state[NOW_HAS_TITLE] and state[NOW_DEPTH] <= 3:
        _read_title(data, at, place, page.title)
        state[NOW_HAS_TITLE] = 1
    if marks & IS_JSON_LD and state[NOW_JSON_LD] < len(page.json_ld):
        script = page.json_ld[state[NOW_JSON_LD]]
        script[0], script[1] = at, place
        state[NOW_JSON_LD] += 1
    end = min(find_near_byte(data, 62, place) + 1, len(data))
    if marks & IS_TEX:
        _meet_formula(page, begin, end)
    return end


@byte_kernel
def _after_left_out(page: _Page, at: int, name: np.uint64, kind: int, marks: int) -> int:
    """Place after an element that is not shown, whose start tag ended at `at`; -1 where its end is
    missing, and what it holds is read as text."""
    state = page.state
    if marks & IS_CLOSED and kind == IS_LEFT_OUT:
        return at
    for index in range(state[NOW_ENDLESS]):
        if page.endless[index] == name:
            return -1
    place = _after_nested(page.data, at, name)
    if place < 0 and state[NOW_ENDLESS] < len(page.endless):
        page.endless[state[NOW_ENDLESS]] = name
        state[NOW_ENDLESS] += 1
    return place


@byte_kernel
def _read_math(page: _Page, begin: int, at: int, name: np.uint64, marks: int) -> int:
    """Pass over a formula in MathML. Where its end is missing, what it holds is read as text: there
    are no formulas in formulas."""
    data = page.data
    n = len(data)
    if marks & IS_CLOSED:
        return at
    place = find_byte(data, 60, at)
    while place + 2 < n:
        is_end = data[place + 1] == 47
        first = place + 1 + is_end
        if is_letter(data[first]):
            end, found = read_name(data, first)
            if found == name:
                if not is_end:
                    return at
                end = min(find_near_byte(data, 62, end) + 1, n)
                _meet_formula(page, begin, end)
                return end
            place = end
        else:
            place += 1
        place = find_near_byte(data, 60, place)
    return at


@byte_kernel
def _meet_formula(page: _Page, begin: int, end: int) -> None:
    """Note where the markup of a formula is, or write what is known of it, in the open block or in a
    new one."""
    state, formulas = page.state, page.formulas
    number = state[NOW_FORMULAS]
    if state[NOW_KNOWN] == 0:
        formulas[number, 0], formulas[number, 1] = begin, end
        state[NOW_FORMULAS] = number + 1
        state[NOW_FORMULA_END] = state[NOW_SIZE]
        return
    while number < state[NOW_KNOWN] and formulas[number, 0] < begin:
        number += 1
    state[NOW_FORMULAS] = number
    if number == state[NOW_KNOWN] or formulas[number, 0] != begin:
        return
    start, stop = formulas[number - 1, 2] if number > 0 else 0, formulas[number, 2]
    if stop > start:
        _write_shown(page, end, 36)
        state[NOW_SIZE] = copy_bytes(page.formula_texts, start, stop, page.text, state[NOW_SIZE])
        if page.formula_texts[start] == 36:
            state[NOW_FLAGS] |= 8
    state[NOW_FORMULA_END] = state[NOW_SIZE]


@inlined_kernel
def _break_line(page: _Page) -> None:
    """A `br`: a line end of preformatted text; of other text the second in a row ends a block."""
    state = page.state
    state[NOW_BREAKS] += 1
    if state[NOW_PRE] == 0:
        state[NOW_PENDING] |= _SPACE
        if state[NOW_IS_OPEN] and state[NOW_BREAKS] >= 2:
            _end_block(page)
            state[NOW_BREAKS] = 0
    elif state[NOW_IS_OPEN]:
        page.text[state[NOW_SIZE]] = 10
        state[NOW_SIZE] += 1
        state[NOW_PENDING] = 0
    else:
        state[NOW_SIZE] -= state[NOW_LEAD]
        state[NOW_LEAD] = 0


@inlined_kernel
def _begin_link(page: _Page, hints: int, marks: int) -> None:
    state = page.state
    block = page.blocks[state[NOW_BLOCKS]]
    if state[NOW_LINK] >= 0 and state[NOW_IS_OPEN]:
        block[_LINK_CHARS] += _chars_of(page.text, state[NOW_LINK_START], state[NOW_SIZE])
    state[NOW_LINK] = state[NOW_DEPTH] if marks & HAS_HREF else -1
    state[NOW_TO_PLACE] = marks & TO_PLACE != 0
    state[NOW_LINK_START] = state[NOW_SIZE]
    if 0 < state[NOW_RAISED] <= MAX_RAISED and marks & HAS_HREF:
        page.raised[state[NOW_RAISED] - 1, 2] = 1
    if state[NOW_IS_OPEN]:
        block[_INNER] |= hints
        block[_LINKS] += marks & HAS_HREF


@inlined_kernel
def _end_link(page: _Page) -> None:
    """End the open link; one that leads to a place of the page and is one sign is taken back."""
    text, state = page.text, page.state
    if state[NOW_LINK] >= 0 and state[NOW_IS_OPEN]:
        block, start = page.blocks[state[NOW_BLOCKS]], state[NOW_LINK_START]
        is_handle = state[NOW_TO_PLACE] and state[NOW_PRE] == 0
        if is_handle and _is_handle(text, start, state[NOW_SIZE]):
            state[NOW_PENDING] |= _SPACE if text[start] <= 32 else 0
            state[NOW_SIZE] = start
            if start == block[_START]:
                block[:] = 0
                state[NOW_IS_OPEN] = state[NOW_PENDING] = 0
        block[_LINK_CHARS] += _chars_of(text, start, state[NOW_SIZE])
    state[NOW_LINK] = -1


@inlined_kernel
def _end_block(page: _Page) -> None:
    """End the open block, and keep it where something is left of it without space at its end."""
    text, state = page.text, page.state
    size, has_link = state[NOW_SIZE], state[NOW_LINK] >= 0
    if state[NOW_IS_OPEN]:
        block = page.blocks[state[NOW_BLOCKS]]
        if has_link:
            start = max(state[NOW_LINK_START], signed(block[_START]))
            block[_LINK_CHARS] += _chars_of(text, start, size)
        while size > block[_START] and text[size - 1] <= 32:
            size -= 1
        block[_END] = size
        block[_ELEMENT] = page.stack[state[NOW_DEPTH]]
        in_pre = state[NOW_PRE] > 0
        block[_FLAGS] = state[NOW_FLAGS] | (2 if has_link else 0) | (4 if in_pre else 0)
        _measure(text, block, page.title)
        if size > block[_START]:
            state[NOW_BLOCKS] += 1
        else:
            block[:] = 0
    else:
        size -= state[NOW_LEAD]
    state[NOW_SIZE] = state[NOW_LINK_START] = size
    state[NOW_LEAD] = state[NOW_PENDING] = state[NOW_IS_OPEN] = state[NOW_RAISED] = 0
    state[NOW_FORMULA_END] = state[NOW_SUB_END] = -1
    state[NOW_FLAGS] = 16 if state[NOW_BREAKS] >= 2 else 0


@inlined_kernel
def _close_from(page: _Page, place: int) -> None:
    """Close the open elements from one on, with what link and preformatted text began in them."""
    state = page.state
    depth = _close(page.elements, page.stack, state[NOW_DEPTH], place, state[NOW_BLOCKS])
    state[NOW_DEPTH] = depth
    if state[NOW_LINK] > depth:
        state[NOW_LINK] = -1
    if state[NOW_PRE] > depth:
        state[NOW_PRE] = 0


@inlined_kernel
def _begin_element(
    page: _Page, tag: int, name: np.uint64, hints: int, signature: np.uint64, marks: int
) -> None:
    """Open an element, after closing those that end where such a one begins."""
    state, elements, stack = page.state, page.elements, page.stack
    if state[NOW_DEPTH] > 0 and elements[stack[state[NOW_DEPTH]], _TAG] == _P:
        _close_from(page, state[NOW_DEPTH])
    place = _sibling(elements, stack, state[NOW_DEPTH], tag)
    if place > 0:
        _close_from(page, place)
    depth, number = state[NOW_DEPTH] + 1, state[NOW_ELEMENTS]
    if depth > MAX_DEPTH or marks & IS_CLOSED or (tag in (_HTML, _BODY, _HEAD) and depth > 3):
        return
    element = elements[number]
    element[_PARENT] = stack[depth - 1]
    # Some boards write posts as quotations; what a post quotes is called otherwise.
    element[_TAG] = _DIV if tag == _BLOCKQUOTE and hints & _POST_BIT else tag
    element[_HINTS] = hints
    element[_FIRST] = state[NOW_BLOCKS]
    element[_DEPTH] = depth
    element[_ITEMS] = marks >> ITEM_SHIFT
    page.signatures[number] = signature
    stack[depth] = number
    page.open_names[depth] = name
    state[NOW_DEPTH] = depth
    state[NOW_ELEMENTS] = number + 1
    if tag == _PRE and state[NOW_PRE] == 0:
        state[NOW_PRE] = depth
