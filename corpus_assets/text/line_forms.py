"""What a line is, told by its own form: list item, code, table row, heading, prose or other.

Extraction writes items, tables and code in a few plain forms (Markdown's, mostly), and so do
people. Where nothing else says what a line is, this does. In doubt a line is one of the first three.

* code: between fences, indented by a tab or four spaces (which an item of a nested list is not),
  or with marks that prose has none of: it ends with `{`, `}`, `;` or `\\`, begins with a bracket, a
  comment, a shebang or a prompt, or has an operator or a call inside;
* table row: cells between vertical bars or tabs;
* list item: a bullet, or a short number or letter with `.` or `)`, and a space;
* heading: `#`, or a short line without a mark at its end;
* prose: running words as a sentence has, or a sentence's end mark.

uint8 codes, one a line. Linear in the bytes; no allocation beside the result.
"""

import numpy as np

from corpus_assets.text.split import CHARS, END, START, Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode

OTHER, PROSE, HEADING, ITEM, CODE, ROW = range(6)
PROSE_WORDS = 8
HEADING_CHARS = 100
_INDENT = 4
_MARKER_CHARS = 3

_BULLETS = np.array([0x2022, 0x2023, 0x2043, 0x2219, 0x25AA, 0x25CB, 0x25CF, 0x25E6, 0x2013, 0xB7])
_END_MARKS = np.array(
    [0x2E, 0x21, 0x3F, 0x2026, 0x3002, 0xFF01, 0xFF1F, 0x0964, 0x06D4, 0x061F, 0x1362, 0x104B]
)
_OPERATORS = "== != += -= *= /= => -> :: && || </ \"] '] () [] :="
_PAIRS = np.frombuffer(_OPERATORS.replace(" ", "").encode(), dtype=np.uint8)
_N_PAIRS = len(_OPERATORS.split())


@kernel
def line_forms(data: Bytes, offsets: Ints, spans: Ints, rows: Ints, words: Ints) -> Bytes:
    """uint8[k]: the form of each line that is not blank.

    Document d has the stripped lines `spans[rows[d]:rows[d + 1]]` of `data[offsets[d]:]`; `words`
    are their running words (`text.running_words`).
    """
    out = np.zeros(spans.shape[0], dtype=np.uint8)
    for d in range(rows.shape[0] - 1):
        fence = 0  # the byte that opened a block of code; 0 outside
        for k in range(rows[d], rows[d + 1]):
            start, end = spans[k, START], spans[k, END]
            mark = _fence(data, start, end)
            if fence:
                out[k] = CODE
                if mark == fence:
                    fence = 0
            elif mark:
                out[k] = CODE
                fence = mark
            else:
                out[k] = _form(data, offsets[d], start, end, spans[k, CHARS], words[k])
    return out


@kernel
def _fence(data: Bytes, start: int, end: int) -> int:
    """The mark of a fence, ` or ~ three times at the beginning; 0 where there is none."""
    mark = data[start]
    if (mark != 96 and mark != 126) or end - start < 3:
        return 0
    return int(mark) if data[start + 1] == mark and data[start + 2] == mark else 0


@kernel
def _form(data: Bytes, low: int, start: int, end: int, chars: int, words: int) -> int:
    if _is_item(data, start, end):
        return ITEM
    if _is_row(data, start, end):
        return ROW
    if _is_code(data, low, start, end):
        return CODE
    if data[start] == 35:  # '#'
        return HEADING
    at = end - 1
    while at > start and (data[at] & 0xC0) == 0x80:
        at -= 1
    last, _ = decode(data, at, end)
    is_ended = False
    for mark in _END_MARKS:
        is_ended = is_ended or last == mark
    if words >= PROSE_WORDS or (is_ended and words >= 3):
        return PROSE
    has_letter = False
    for at in range(start, end):
        has_letter = has_letter or _is_letter(data[at]) or data[at] >= 128
    return HEADING if has_letter and not is_ended and chars <= HEADING_CHARS else OTHER


@kernel
def _is_letter(byte: int) -> bool:
    return 97 <= byte <= 122 or 65 <= byte <= 90


@kernel
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel
def _is_item(data: Bytes, start: int, end: int) -> bool:
    """Whether a line begins with a marker of a list and a space, and something follows."""
    first, width = decode(data, start, end)
    at = start + width
    is_marker = first == 45 or first == 42 or first == 43  # - * +
    for bullet in _BULLETS:
        is_marker = is_marker or first == bullet
    if not is_marker:
        at = start + (data[start] == 40)  # '('
        begin = at
        while at < end and at - begin < _MARKER_CHARS and _is_digit(data[at]):
            at += 1
        if at == begin and at < end and _is_letter(data[at]):
            at += 1
        is_marker = at > begin and at < end and (data[at] == 46 or data[at] == 41)  # . )
        at += 1
    return is_marker and at < end and (data[at] == 32 or data[at] == 9)


@kernel
def _is_row(data: Bytes, start: int, end: int) -> bool:
    """Whether there are cells: a bar at either end or between spaces, or a tab inside."""
    if end - start > 1 and (data[start] == 124 or data[end - 1] == 124):
        return True
    for at in range(start + 1, end - 1):
        if data[at] == 9:
            return True
        if data[at] == 124 and data[at - 1] == 32 and data[at + 1] == 32:
            return True
    return False


@kernel
def _is_code(data: Bytes, low: int, start: int, end: int) -> bool:
    indent = 0
    at = start - 1
    while at >= low and data[at] != 10:
        indent += _INDENT if data[at] == 9 else 1
        at -= 1
    if indent >= _INDENT:
        return True
    first, last = data[start], data[end - 1]
    if last == 123 or last == 125 or last == 59 or last == 92:  # { } ; \
        return True
    if first == 123 or first == 125 or first == 60:  # { } <
        return True
    second = data[start + 1] if end - start > 1 else np.uint8(0)
    if first == 47 and (second == 47 or second == 42):  # // /*
        return True
    if first == 35 and second == 33:  # #!
        return True
    if (first == 36 and second == 32) or (first == 62 and second == 62):  # prompts: $ >>>
        return True
    for at in range(start + 1, end - 1):
        here, after = data[at], data[at + 1]
        for k in range(_N_PAIRS):
            if here == _PAIRS[2 * k] and after == _PAIRS[2 * k + 1]:
                return True
        if here == 61 and data[at - 1] == 32 and after == 32:  # ' = '
            return True
        if here == 95 and _is_letter(data[at - 1]) and _is_letter(after):  # snake_case
            return True
        if here == 46 and _is_called(data, at + 1, end):  # .name(
            return True
    return False


@kernel
def _is_called(data: Bytes, at: int, end: int) -> bool:
    """Whether a name with an opening bracket right behind it stands here."""
    begin = at
    while at < end and (_is_letter(data[at]) or _is_digit(data[at]) or data[at] == 95):
        at += 1
    return at > begin and at < end and data[at] == 40
