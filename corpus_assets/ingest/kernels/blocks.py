"""A page as blocks of text in a tree of elements, in one pass over its bytes.

A block is text between two tags that break it (`p`, `div`, `li`, `td` ...; two `br` as well). It
knows the innermost element it stands in and counts of what it holds; an element knows its parent
and what its class, id, role and itemprop hint at (`VOCABULARY`). Nothing is judged here.

What a tolerant parser does is done: an end tag closes back to its nearest open namesake, and is
ignored where there is none or a table cell lies between; `p`, `li`, `td` ... end by their sibling;
comments, CDATA, scripts, styles, templates, drawings and form fields hold no text; entities become
characters. Elements beyond `MAX_DEPTH` count as their ancestor there. Time is linear in the page.

What a reader sees is written: white space as one space, and as none where a line of the source ends
between two characters of Chinese or Japanese; no soft hyphens; `q` with its quotation marks; `^`
before a number that is raised after a number. What the style of an inline element hides, numbers of
lines of code, and links to a place of the page that are one sign (`#`, a pilcrow) are left out. What
`hidden` or a style says of whole blocks is a hint: scripts may show them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.markup import (
    after_comment,
    after_raw,
    is_letter,
    name_hash,
    read_name,
)
from corpus_assets.ingest.kernels.page_chars import (
    code_point,
    ends_sentence,
    is_blank,
    is_mark,
    is_sign,
    is_southeast_asian,
    is_wide,
    is_word,
    last_code_point,
    read_entity,
)
from corpus_assets.ingest.kernels.page_names import (
    ENTITY_CODES,
    ENTITY_HASHES,
    HINT_BITS,
    HINT_HASHES,
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
    TAG_HASHES,
    TAG_KINDS,
    TAG_NUMBERS,
    TAGS,
    Words,
    find_slot,
    signed,
)
from corpus_assets.ingest.kernels.rough_text import write_code
from corpus_assets.ingest.kernels.start_tags import (
    HAS_HREF,
    IS_CLOSED,
    IS_LEFT_OUT_SPAN,
    IS_TEX,
    NOT_SHOWN,
    TEX,
    TO_PLACE,
    after_word,
    read_attributes,
)
from corpus_assets.text.byte_search import byte_kernel, find_byte, find_near_byte
from corpus_assets.text.hashing import FNV_OFFSET, FNV_PRIME

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
}
ELEMENT_COLUMNS = ("parent", "tag", "hints", "depth", "first_block", "end_block")
_PARENT, _TAG, _HINTS, _DEPTH, _FIRST, _STOP = range(6)


class Blocks(NamedTuple):
    """A page: text in UTF-8, blocks (n, 13) and elements (m, 6) in page order, and the elements'
    signatures (m), equal for equal tag and class. Element 0 is the page."""

    text: Bytes
    blocks: Ints
    elements: Ints
    signatures: Words


def find_blocks(page: bytes) -> Blocks:
    """Blocks and elements of a page in UTF-8; about 2 ns a byte."""
    if len(page) > MAX_PAGE_BYTES:
        raise ValueError(f"the page has {len(page)} bytes: set the gates' max_bytes lower")
    data = np.frombuffer(page, dtype=np.uint8)
    room = page.count(b"<") + 2
    text = np.empty(len(page) + len(page) // 5 + 64, dtype=np.uint8)  # `&nGt;` becomes six bytes
    blocks = np.zeros((room, len(BLOCK_COLUMNS)), dtype=np.int32)
    elements = np.zeros((room, len(ELEMENT_COLUMNS)), dtype=np.int32)
    signatures = np.zeros(room, dtype=np.uint64)
    n, m = _parse(
        data, text, blocks, elements, signatures,
        np.zeros(272 + MAX_DEPTH + 1, dtype=np.uint64), np.zeros(MAX_DEPTH + 1, dtype=np.int32),
        TAG_HASHES, TAG_KINDS, TAG_NUMBERS,
        HINT_HASHES, HINT_BITS, ENTITY_HASHES, ENTITY_CODES,
    )  # fmt: skip
    return Blocks(text, blocks[:n], elements[:m], signatures[:m])


_P, _LI, _DT, _DD, _TD, _TH, _TR, _PRE, _TABLE, _CAPTION, _OPTION = (
    TAGS[name]
    for name in ("p", "li", "dt", "dd", "td", "th", "tr", "pre", "table", "caption", "option")
)
_HTML, _HEAD, _BODY, _DIV, _ADDRESS, _CUSTOM, _BLOCKQUOTE = (
    TAGS[name] for name in ("html", "head", "body", "div", "address", "custom", "blockquote")
)
_POST_BIT = 1 << HINTS["post"]
_SPACE, _ZERO_SPACE = 1, 2
_INLINE = (IS_INLINE, IS_A, IS_SPAN, IS_QUOTE, IS_SUP)
_TITLE_HASH, _ANNOTATION = name_hash("title"), name_hash("annotation")


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
def _has_dash(data: Bytes, at: int, end: int) -> bool:
    """Whether data[at:end] is the name of a custom element."""
    return find_near_byte(data[:end], 45, at) < end


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
                slot < 0 and _has_dash(data, at, end)
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
        byte = text[at]
        if byte < 128:
            code = signed(byte)
            at += 1
        else:
            code, at = code_point(text, at)
        if code <= 32 or is_blank(code):
            if in_word and title[value & np.uint64(255)] == value:
                in_title += 1
            in_word, value = False, FNV_OFFSET
            continue
        is_wide = (0x2E80 <= code < 0xFF00 and not 0xAC00 <= code < 0xD7B0) or 0xE00 <= code < 0xE80
        chars += 3 if is_wide else 1
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
            code, at = code_point(data, at)
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
        code, at = code_point(text, at)
        if not is_blank(code):
            is_wide = (
                0x2E80 <= code < 0xFF00 and not 0xAC00 <= code < 0xD7B0
            ) or 0xE00 <= code < 0xE80
            chars += 3 if is_wide else 1
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
    return ends == 1 and at > 0 and is_wide(last_code_point(data, at))


@byte_kernel
def _is_handle(text: Bytes, at: int, end: int) -> bool:
    """Whether text[at:end] is one sign, and none that footnotes have."""
    while at < end and text[at] <= 32:
        at += 1
    if at >= end:
        return False
    code, at = code_point(text, at)
    while at < end:
        selector, at = code_point(text, at)
        if selector != 0xFE0E and selector != 0xFE0F:
            return False
    return is_sign(code) and code not in (42, 0x2020, 0x2021)


@byte_kernel
def _write_formula(data: Bytes, at: int, end: int, text: Bytes, size: int) -> int:
    """Write data[at:end] between dollar signs; the text's size after it."""
    text[size] = 36
    size += 1
    for place in range(at, end):
        text[size] = data[place] if data[place] > 32 else 32
        size += 1
    text[size] = 36
    return size + 1


@byte_kernel
def _write_annotation(
    data: Bytes, at: int, end: int, text: Bytes, size: int, hashes: Words, codes: Words
) -> int:
    """Write data[at:end], its entities read, between dollar signs; the text's size after it."""
    text[size] = 36
    size += 1
    while at < end:
        code, second, after = signed(data[at]), 0, at
        if code == 38:
            after, code, second = read_entity(data, at, hashes, codes)
        if after == at:
            text[size] = max(data[at], np.uint8(32))
            size += 1
            at += 1
            continue
        size = write_code(text, size, code)
        if second:
            size = write_code(text, size, second)
        at = after
    text[size] = 36
    return size + 1


@byte_kernel
def _parse(
    data: Bytes,
    text: Bytes,
    blocks: Ints,
    elements: Ints,
    signatures: Words,
    scratch: Words,
    stack: Ints,  # numbers of open elements
    tag_hashes: Words,
    tag_kinds: Bytes,
    tag_numbers: Bytes,
    hint_hashes: Words,
    hint_bits: npt.NDArray[np.uint32],
    entity_hashes: Words,
    entity_codes: Words,
) -> tuple[int, int]:
    n = len(data)
    title = scratch[:256]
    never_ends = scratch[256:272]  # names of left-out elements without an end tag
    names = scratch[272:]  # of open elements
    hints, slot, signature, name = 0, -1, np.uint64(0), np.uint64(0)
    is_closed = False
    marks = 0
    n_never = 0
    depth = 0  # stack[depth] is the innermost open element
    n_elements, n_blocks = 1, 0
    elements[0, _PARENT] = -1
    size = 0
    is_open = False  # a block has begun
    pending = 0  # what the next character has before it: `_SPACE` ...
    lead = 0  # white space of preformatted text that is written before its block begins
    is_raised = False  # a number ended and `sup` began
    wasted = 0  # bytes read in vain, to find the ends of what is not shown
    to_place = False  # the open link leads to a place of the page
    breaks = 0  # `br` since the last character
    pre = 0  # depth of the open `pre`
    link = -1  # depth at which the open link began
    link_start = 0
    comments_end = True
    has_title = False
    flags = 0
    at = 0
    while True:
        is_tag = False
        stop = at >= n
        flush = stop
        tag = 0
        quote = 0  # a quotation mark that a tag stands for
        if not stop:
            byte = data[at]
            if byte == 60 and at + 1 < n:
                following = data[at + 1]
                is_tag = following in (33, 47, 63) or is_letter(following)
        if stop:
            pass
        elif is_tag:
            following = data[at + 1]
            if following == 33 and at + 3 < n and data[at + 2] == 45 and data[at + 3] == 45:
                place = after_comment(data, at + 2) if comments_end else -1
                comments_end = place >= 0
                at = place if comments_end else at + 4
                continue
            if following == 33 or following == 63:
                at = min(find_near_byte(data, 62, at + 1) + 1, n)
                continue
            if following == 47:
                if at + 2 >= n or not is_letter(data[at + 2]):
                    at = min(find_near_byte(data, 62, at + 1) + 1, n)
                    continue
                begin = at
                end, name = read_name(data, at + 2)
                at = min(find_near_byte(data, 62, end) + 1, n)
                slot = find_slot(tag_hashes, name)
                kind = signed(tag_kinds[slot]) if slot >= 0 else IS_INLINE
                if kind == IS_A:
                    if link >= 0 and is_open:
                        if to_place and pre == 0 and _is_handle(text, link_start, size):
                            pending |= _SPACE if text[link_start] <= 32 else 0
                            size = link_start
                            if size == blocks[n_blocks, _START]:
                                blocks[n_blocks] = 0
                                is_open, pending = False, 0
                        blocks[n_blocks, _LINK_CHARS] += _chars_of(text, link_start, size)
                    link = -1
                    continue
                if kind == IS_QUOTE:
                    quote = 0x201D
                elif kind != IS_BREAKING and (slot >= 0 or not _has_dash(data, begin, end)):
                    is_raised = is_raised and kind != IS_SUP
                    continue
                else:
                    number = signed(tag_numbers[slot]) if slot >= 0 else _CUSTOM
                    place = _namesake(elements, stack, names, depth, name, number)
                    flush = True
                    if place > 0:
                        tag = -place
            else:
                begin = at
                at, name = read_name(data, at + 1)
                slot = find_slot(tag_hashes, name)
                kind = signed(tag_kinds[slot]) if slot >= 0 else IS_INLINE
                if slot < 0 and _has_dash(data, begin, at):
                    kind = IS_BREAKING
                at, hints, signature, marks = read_attributes(
                    data, at, kind, name, hint_hashes, hint_bits
                )
                is_closed = marks & IS_CLOSED != 0
                # what the tag does
                if marks & NOT_SHOWN and kind in _INLINE and wasted <= n:
                    end, place = _after_inline(data, at, name, tag_hashes, tag_kinds)
                    if end > 0:
                        at = end
                        continue
                    wasted += place - at
                if kind == IS_VOID:
                    continue
                if kind == IS_RAW:
                    place = after_raw(data, at, name)
                    if name == _TITLE_HASH and not has_title and depth <= 3:
                        _read_title(data, at, place, title)
                        has_title = True
                    if marks & IS_TEX:
                        if not is_open:
                            is_open = True
                            blocks[n_blocks, _START] = size - lead
                            lead = 0
                        elif pending & _SPACE:
                            text[size] = 32
                            size += 1
                        pending = 0
                        size = _write_formula(data, at, place, text, size)
                        flags |= 8
                    at = min(find_near_byte(data, 62, place) + 1, n)
                    continue
                if kind in (IS_LEFT_OUT, IS_MATH) or (kind == IS_SPAN and marks & IS_LEFT_OUT_SPAN):
                    is_known = is_closed and kind != IS_SPAN
                    for index in range(n_never):
                        is_known = is_known or never_ends[index] == name
                    if is_known:
                        continue
                    place = _after_nested(data, at, name)
                    if place < 0:
                        if n_never < len(never_ends):
                            never_ends[n_never] = name
                            n_never += 1
                        continue
                    if kind == IS_MATH:
                        inner = _annotation(data, at, place)
                        if inner < 0:
                            continue  # its letters are read as text
                        if not is_open:
                            is_open = True
                            blocks[n_blocks, _START] = size - lead
                            lead = 0
                        elif pending & _SPACE:
                            text[size] = 32
                            size += 1
                        pending = 0
                        last = find_near_byte(data, 60, inner)
                        size = _write_annotation(
                            data, inner, last, text, size, entity_hashes, entity_codes
                        )
                        flags |= 8
                    at = place
                    continue
                if kind == IS_BR:
                    breaks += 1
                    if pre > 0 and is_open:
                        text[size] = 10
                        size += 1
                        pending = 0
                    elif pre > 0:
                        size, lead = size - lead, 0
                    else:
                        flush = is_open and breaks >= 2
                        pending |= _SPACE
                    if not flush:
                        continue
                elif kind == IS_HR:
                    flush = True
                elif kind == IS_A:
                    if link >= 0 and is_open:
                        blocks[n_blocks, _LINK_CHARS] += _chars_of(text, link_start, size)
                    link = depth if marks & HAS_HREF else -1
                    to_place = marks & TO_PLACE != 0
                    link_start = size
                    if is_open:
                        blocks[n_blocks, _INNER] |= hints
                        blocks[n_blocks, _LINKS] += marks & HAS_HREF
                    continue
                elif kind == IS_QUOTE:
                    quote = 0x201C
                elif kind != IS_BREAKING:
                    if is_open:
                        blocks[n_blocks, _INNER] |= hints
                        is_raised = (
                            kind == IS_SUP and pending == 0 and 48 <= text[size - 1] <= 57
                        ) or (is_raised and kind != IS_SUP)
                    continue
                else:
                    flush = True
                    tag = signed(tag_numbers[slot]) if slot >= 0 else _CUSTOM
        if flush:
            if is_open:
                block = blocks[n_blocks]
                if link >= 0:
                    block[_LINK_CHARS] += _chars_of(
                        text, max(link_start, signed(block[_START])), size
                    )
                while size > block[_START] and text[size - 1] <= 32:
                    size -= 1
                block[_END] = size
                block[_ELEMENT] = stack[depth]
                block[_FLAGS] = flags | (2 if link >= 0 else 0) | (4 if pre > 0 else 0)
                _measure(text, block, title)
                if size > block[_START]:
                    n_blocks += 1
                else:
                    block[:] = 0
            else:
                size -= lead
            lead = pending = 0
            is_open = is_raised = False
            flags = 16 if breaks >= 2 and not stop else 0
            link_start = size
            if stop:
                break
            if tag < 0:  # an end tag: everything from there on is closed
                depth = _close(elements, stack, depth, -tag, n_blocks)
                if link > depth:
                    link = -1
                if pre > depth:
                    pre = 0
            elif tag > 0:
                if depth > 0 and elements[stack[depth], _TAG] == _P:
                    depth = _close(elements, stack, depth, depth, n_blocks)
                place = _sibling(elements, stack, depth, tag)
                if place > 0:
                    depth = _close(elements, stack, depth, place, n_blocks)
                if link > depth:
                    link = -1
                if pre > depth:
                    pre = 0
                if (
                    depth < MAX_DEPTH
                    and not is_closed
                    and not ((tag in (_HTML, _BODY, _HEAD)) and depth > 2)
                ):
                    element = elements[n_elements]
                    element[_PARENT] = stack[depth]
                    # Some boards write posts as quotations; what a post quotes is called otherwise.
                    element[_TAG] = _DIV if tag == _BLOCKQUOTE and hints & _POST_BIT else tag
                    element[_HINTS] = hints
                    element[_FIRST] = n_blocks
                    depth += 1
                    element[_DEPTH] = depth
                    signatures[n_elements] = signature
                    stack[depth] = n_elements
                    names[depth] = name
                    n_elements += 1
                    if tag == _PRE and pre == 0:
                        pre = depth
            breaks = 0
            continue
        # text
        code, second, after = quote, 0, at
        if not is_tag:
            code, after = signed(data[at]), at + 1
            if code == 38:
                after, code, second = read_entity(data, at, entity_hashes, entity_codes)
                if after == at:
                    code, after = 38, at + 1
            elif code >= 0xC2:
                code, after = code_point(data, at)
        if code == 0xAD or code == 0xFEFF:
            at = after
            continue
        if code <= 32 or code == 0xA0 or code == 0x3000 or code == 0x200B:
            is_raised = False
            if pre > 0 and (code == 10 or code == 9 or code == 32 or code == 0xA0):
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
            blocks[n_blocks, _START] = size - lead
            lead = 0
            if link >= 0:
                blocks[n_blocks, _LINKS] += 1
        elif breaks > 0 and pending:
            text[size] = 10
            size += 1
        elif pending & _SPACE:
            if not is_wide(code) or pre > 0 or not _is_wrapped(data, at):
                text[size] = 32
                size += 1
        elif pending and is_southeast_asian(code):
            size = write_code(text, size, 0x200B)
        elif is_raised and (48 <= code <= 57 or code == 45 or code == 0x2212):
            text[size] = 94
            size += 1
        is_raised = False
        pending = breaks = 0
        if is_tag or data[at] == 38:
            size = write_code(text, size, code)
            if second:
                size = write_code(text, size, second)
            at = after
        else:
            while at < after and at < n:
                text[size] = data[at]
                size += 1
                at += 1
    _close(elements, stack, depth, 0, n_blocks)
    return n_blocks, n_elements


@byte_kernel
def _annotation(data: Bytes, at: int, end: int) -> int:
    """Where the TeX of a `math` element begins, or -1."""
    at = find_byte(data[:end], 60, at)
    while at + 1 < end:
        if is_letter(data[at + 1]):
            at, name = read_name(data, at + 1)
            if name == _ANNOTATION:
                close = find_near_byte(data[:end], 62, at)
                return close + 1 if after_word(data, at, close, TEX) > 0 else -1
        else:
            at += 1
        at = find_near_byte(data[:end], 60, at)
    return -1
