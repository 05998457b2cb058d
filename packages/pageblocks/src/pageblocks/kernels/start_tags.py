"""What a start tag says of its element: hints by the names in it, what hides it, where it leads."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.markup import is_letter, name_hash
from pageblocks.kernels.page_names import (
    HINTS,
    IS_A,
    IS_SPAN,
    LAYER_BIT,
    NOT_SHOWN_BIT,
    NOTICE_BIT,
    SUBJECT_BIT,
    WINDOW_BIT,
    Words,
    find_slot,
    signed,
)
from textkernels.byte_search import byte_kernel, find_near_byte, inlined_kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

Bytes = npt.NDArray[np.uint8]

HAS_HREF, IS_LEFT_OUT_SPAN, IS_TEX, IS_CLOSED, TO_PLACE, NOT_SHOWN = 1, 2, 4, 8, 16, 32
IS_KATEX_DRAWING, IS_MATHJAX, HAS_MATHML, IS_SHADOW_ROOT, IS_JSON_LD = 64, 128, 256, 512, 1024
ITEM_SHIFT = 11  # marks above it are what microdata says, `ITEMS`
"""Marks of a start tag: it is a link; the number of a line of code; a script or an image of a formula;
it ends itself; it is a link to a place of the same page; it is not shown; a formula as KaTeX or as
MathJax draws it; a formula for those who listen, which Wikipedia hides; a template that is shown; a
script that holds JSON-LD."""
ITEMS = {"post": 1, "topic": 2, "answer": 4, "questions": 8, "post_text": 16, "recipe_line": 32}
"""What an element says it is: a comment, by its type of schema.org, the number that its id has as one, or
the name that wpForo gives posts; the first post of a thread, or all of it; a question or an answer, which
are posts on a page of questions, and not on one of frequent ones; such a page; a post's text; ingredients
or steps."""
_POST, _TOPIC, _ANSWER, _QUESTIONS, _POST_TEXT, _RECIPE_LINE = (
    value << ITEM_SHIFT for value in ITEMS.values()
)
(
    _POST_TYPES, _TOPIC_TYPES, _QUESTION_TYPES, _ANSWER_TYPES, _QUESTIONS_TYPES, _TEXT_PROPERTIES,
    _RECIPE_PROPERTIES,
) = (
    tuple(np.uint64(name_hash(name)) for name in names.split())
    for names in (
        "comment usercomments",
        "discussionforumposting",
        "question",
        "answer",
        "qapage",
        "text articlebody commenttext",
        "recipeingredient ingredients recipeinstructions",
    )
)  # fmt: skip
_COMMENT_ID = np.frombuffer(b"comment-", dtype=np.uint8)
_WPFORO_POST = np.frombuffer(b"wpforo-post", dtype=np.uint8)
_TEX = np.frombuffer(b"tex", dtype=np.uint8)
_DISPLAY = np.frombuffer(b"display", dtype=np.uint8)
_NONE = np.frombuffer(b"none", dtype=np.uint8)
_LINE_NUMBER = np.frombuffer(b"lineno", dtype=np.uint8)  # Doxygen, Pygments
_LINE_NUMBERS = np.frombuffer(b"linenos", dtype=np.uint8)  # Pygments
_LATEX = np.frombuffer(b"latex", dtype=np.uint8)
_MATH = np.frombuffer(b"math", dtype=np.uint8)
_MATHJAX = np.frombuffer(b"MathJax", dtype=np.uint8)
_MATHJAX_2 = np.frombuffer(b"mjx-chtml", dtype=np.uint8)
_MATHJAX_DISPLAY = np.frombuffer(b"MJXc-display", dtype=np.uint8)
_KATEX = np.frombuffer(b"katex-html", dtype=np.uint8)
_HIDDEN_MATHML = np.frombuffer(b"mwe-math-mathml", dtype=np.uint8)
_FORMULA = np.frombuffer(b"formula", dtype=np.uint8)
_JSON_LD = np.frombuffer(b"application/ld+json", dtype=np.uint8)
_POSITION = np.frombuffer(b"position", dtype=np.uint8)
_FIXED = np.frombuffer(b"fixed", dtype=np.uint8)
_DIALOG = np.frombuffer(b"dialog", dtype=np.uint8)
_ALERT = np.frombuffer(b"alert", dtype=np.uint8)
_QUANTCAST = np.frombuffer(b"qc-cmp", dtype=np.uint8)
_INSITES = np.frombuffer(b"cc-window", dtype=np.uint8)
_SOURCEPOINT = np.frombuffer(b"sp_message_container", dtype=np.uint8)
_SCRIPT, _IMG, _TEMPLATE = name_hash("script"), name_hash("img"), name_hash("template")
_MAX_SOURCE = 300
"""Bytes of an image's source that say whether a service draws formulas."""
_MAX_STYLE = 200
_HIDDEN = HINTS["hidden"]
_NOTICE_BITS = SUBJECT_BIT | NOTICE_BIT
_WINDOW_BITS = WINDOW_BIT | _NOTICE_BITS


@byte_kernel
def _hints_of(data: Bytes, at: int, end: int, hashes: Words, bits: npt.NDArray[np.uint32]) -> Any:
    """Hints of the words in data[at:end]."""
    found = np.uint32(0)
    value, n = FNV_OFFSET, 0
    last_small = False
    while at < end:
        byte = data[at]
        if not is_letter(byte):
            value, n, last_small = FNV_OFFSET, 0, False
            at += 1
            continue
        is_capital = byte < 97
        if is_capital and last_small:
            value, n = FNV_OFFSET, 0
        last_small = not is_capital
        value = (value ^ np.uint64(byte | 32)) * FNV_PRIME
        n += 1
        if n >= 2:
            slot = find_slot(hashes, value)
            if slot >= 0:
                is_end = at + 1 >= end or not is_letter(data[at + 1])
                is_end = is_end or (last_small and data[at + 1] < 97)
                if is_end or bits[slot] >> np.uint32(31):
                    found |= bits[slot] & np.uint32(0x7FFFFFFF)
        at += 1
    return signed(found)


@byte_kernel
def after_word(data: Bytes, at: int, end: int, word: Bytes) -> int:
    """Place after the first time that a lower-case word stands in data[at:end], in either case, and
    no letter after it; -1 where it does not."""
    while at + len(word) <= end:
        place = 0
        while place < len(word) and data[at + place] | 32 == word[place]:
            place += 1
        if place == len(word):
            after = at + place
            if after >= end or not is_letter(data[after]):
                return after
        at += 1
    return -1


@byte_kernel
def _says(data: Bytes, at: int, end: int, name: Bytes, value: Bytes) -> bool:
    """Whether a style gives a property a value, however it is spaced."""
    at = after_word(data, at, end, name)
    while 0 <= at < end and (data[at] <= 32 or data[at] == 58):
        at += 1
    return at >= 0 and after_word(data, at, end, value) == at + len(value)


@byte_kernel
def _is_dialog(data: Bytes, at: int, end: int) -> bool:
    """Whether a role is that of a dialog."""
    if _begins_with(data, at, end, _ALERT):
        at += len(_ALERT)
    return _begins_with(data, at, end, _DIALOG)


@byte_kernel
def _is_of_manager(data: Bytes, at: int, end: int) -> bool:
    """Whether a class or id is that of a manager of consent whose names have no word of their own."""
    first = data[at]
    return (
        (first == 113 and _begins_with(data, at, end, _QUANTCAST))
        or (first == 99 and _begins_with(data, at, end, _INSITES))
        or (first == 115 and _begins_with(data, at, end, _SOURCEPOINT))
    )


@inlined_kernel
def _begins_with(data: Bytes, at: int, end: int, word: Bytes) -> bool:
    """Whether data[at:end] begins with a word, in its own case."""
    place = 0
    while place < len(word) and at + place < end and data[at + place] == word[place]:
        place += 1
    return place == len(word)


@byte_kernel
def _marks_of_item_type(data: Bytes, at: int, end: int) -> int:
    """Marks of a type of microdata: the last part of its address."""
    value = FNV_OFFSET
    while at < end:
        byte = data[at]
        at += 1
        value = FNV_OFFSET if byte in (47, 35) else (value ^ np.uint64(byte | 32)) * FNV_PRIME
    if value in _POST_TYPES:
        return _POST
    if value in _TOPIC_TYPES:
        return _TOPIC
    if value in _QUESTION_TYPES:
        return _TOPIC | _ANSWER
    if value in _ANSWER_TYPES:
        return _ANSWER
    return _QUESTIONS if value in _QUESTIONS_TYPES else 0


@byte_kernel
def _marks_of_property(data: Bytes, at: int, end: int) -> int:
    """Marks of properties of microdata."""
    value, marks = FNV_OFFSET, 0
    while at <= end:
        if at == end or data[at] <= 32:
            if value in _RECIPE_PROPERTIES:
                marks |= _RECIPE_LINE
            elif value in _TEXT_PROPERTIES:
                marks |= _POST_TEXT
            value = FNV_OFFSET
        else:
            value = (value ^ np.uint64(data[at] | 32)) * FNV_PRIME
        at += 1
    return marks


@byte_kernel
def _is_numbered_comment(data: Bytes, at: int, end: int) -> bool:
    """Whether an id is `comment-` and a number."""
    if not _begins_with(data, at, end, _COMMENT_ID):
        return False
    at += len(_COMMENT_ID)
    start = at
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return start < at == end


@byte_kernel
def _has_name(data: Bytes, at: int, end: int, name: Bytes) -> bool:
    """Whether a class has a name, in its own case."""
    while at + len(name) <= end:
        after = at + len(name)
        if _begins_with(data, at, end, name) and (after == end or data[after] <= 32):
            return True
        while at < end and data[at] > 32:
            at += 1
        while at < end and data[at] <= 32:
            at += 1
    return False


@byte_kernel
def _marks_of_class(data: Bytes, at: int, end: int, kind: int) -> int:
    """Marks that the names of a class give: of formulas as programs draw them, of line numbers."""
    first = data[at]
    if first == 77:
        after = at + len(_MATHJAX)
        is_name = _begins_with(data, at, end, _MATHJAX) and (
            after == end or data[after] in (32, 95)
        )
        if is_name or _begins_with(data, at, end, _MATHJAX_DISPLAY):
            return IS_MATHJAX
    if first == 109:
        if _begins_with(data, at, end, _MATHJAX_2):
            return IS_MATHJAX
        if _begins_with(data, at, end, _HIDDEN_MATHML):
            return HAS_MATHML
    if kind != IS_SPAN:
        return 0
    if first == 107 and _begins_with(data, at, end, _KATEX):
        return IS_KATEX_DRAWING
    if after_word(data, at, end, _LINE_NUMBER) > 0 or after_word(data, at, end, _LINE_NUMBERS) > 0:
        return IS_LEFT_OUT_SPAN
    return 0


@byte_kernel
def holds_word(data: Bytes, at: int, end: int, word: Bytes) -> bool:
    """Whether a lower-case word stands in data[at:end], in either case, whatever is around it."""
    while at + len(word) <= end:
        place = 0
        while place < len(word) and data[at + place] | 32 == word[place]:
            place += 1
        if place == len(word):
            return True
        at += 1
    return False


@byte_kernel
def _may_be_formula(data: Bytes, name: int, at: int, end: int) -> bool:
    """Whether an attribute of an image (its name's first letter) says that a formula is drawn; it is
    looked at again (`formulas`)."""
    if name == 97:  # alt
        return data[at] in (36, 92)
    if name == 99:  # class
        return (
            after_word(data, at, end, _TEX) > 0 or holds_word(data, at, end, _LATEX)
            or holds_word(data, at, end, _MATH) or holds_word(data, at, end, _FORMULA)
        )  # fmt: skip
    for place in range(at, min(end, at + _MAX_SOURCE) - 4):  # src
        if data[place] == 116 and (
            (data[place + 1] == 101 and data[place + 2] == 120 and (
                data[place + 3] in (61, 46) or (place >= at + 2 and data[place - 1] == 97)
            ))
            or (data[place - 1] == 61 and data[place + 1] == 120 and data[place + 2] in (38, 59))
        ):  # fmt: skip
            return True
    return False


@byte_kernel
def read_attributes(
    data: Bytes, at: int, kind: int, name: np.uint64, hashes: Words, bits: npt.NDArray[np.uint32]
) -> tuple[int, int, Any, int]:
    """Read a start tag from the end of its name: the place after it, the hints and the signature of
    its element, and marks (`HAS_HREF` ...)."""
    n = len(data)
    hints = marks = 0
    signature = name
    while at < n:
        byte = data[at]
        if byte == 62:
            if data[at - 1] == 47:
                marks |= IS_CLOSED
            at += 1
            break
        if byte <= 32 or byte == 47:
            at += 1
            continue
        first = at
        at += 1
        while at < n and data[at] > 32 and data[at] not in (47, 61, 62):
            at += 1
        length = at - first
        while at < n and data[at] <= 32:
            at += 1
        start = end = at
        if at < n and data[at] == 61:
            at += 1
            while at < n and data[at] <= 32:
                at += 1
            if at < n and (data[at] == 34 or data[at] == 39):
                start = at + 1
                end = find_near_byte(data, data[at], at + 1)
                at = min(end + 1, n)
            else:
                start = at
                while at < n and data[at] > 32 and data[at] != 62:
                    at += 1
                end = at
        letter = data[first] | 32
        if length == 5 and letter == 99 and data[first + 1] | 32 == 108:  # class
            hints |= _hints_of(data, start, end, hashes, bits)
            for place in range(start, min(end, start + 64)):
                if not 48 <= data[place] <= 57:
                    signature = (signature ^ np.uint64(data[place])) * FNV_PRIME
            if end - start >= 6:  # as `lineno` has
                marks |= _marks_of_class(data, start, end, kind)
                if _is_of_manager(data, start, end):
                    hints |= LAYER_BIT
                if _has_name(data, start, end, _WPFORO_POST):
                    marks |= _POST
            if name == _IMG and end > start and _may_be_formula(data, 99, start, end):
                marks |= IS_TEX
        elif length == 3 and name == _IMG:  # src, alt
            if end > start and letter in (97, 115) and _may_be_formula(data, letter, start, end):
                marks |= IS_TEX
        elif length == 2 and letter == 105 and data[first + 1] | 32 == 100:  # id
            hints |= _hints_of(data, start, end, hashes, bits)
            if end - start >= 6 and _is_of_manager(data, start, end):
                hints |= LAYER_BIT
            if _is_numbered_comment(data, start, end):
                marks |= _POST
        elif length == 4 and letter == 114 and data[first + 1] | 32 == 111:  # role
            hints |= _hints_of(data, start, end, hashes, bits)
            if end - start >= 6 and _is_dialog(data, start, end):
                hints |= _WINDOW_BITS
        elif length == 8 and letter == 105 and data[first + 4] | 32 == 112:  # itemprop
            hints |= _hints_of(data, start, end, hashes, bits)
            marks |= _marks_of_property(data, start, end)
        elif length == 8 and letter == 105 and data[first + 4] | 32 == 116:  # itemtype
            marks |= _marks_of_item_type(data, start, end)
        elif length == 5 and letter == 115 and data[first + 1] | 32 == 116:  # style
            end = min(end, start + _MAX_STYLE)
            if _says(data, start, end, _DISPLAY, _NONE):
                hints |= 1 << _HIDDEN | NOT_SHOWN_BIT
                marks |= NOT_SHOWN
            elif _says(data, start, end, _POSITION, _FIXED):
                hints |= _NOTICE_BITS
        elif (
            length == 10 and letter == 97 and data[first + 5] | 32 == 109  # aria-modal
            and end > start and data[start] | 32 == 116
        ):  # fmt: skip
            hints |= _WINDOW_BITS
        elif (
            (length == 6 and letter == 104 and data[first + 1] | 32 == 105)  # hidden
            or (
                length == 11 and letter == 97 and data[first + 5] | 32 == 104  # aria-hidden
                and end > start and data[start] | 32 == 116
            )
        ):  # fmt: skip
            hints |= 1 << _HIDDEN
        elif length == 4 and letter == 104 and kind == IS_A:  # href
            marks |= HAS_HREF
            if start < end and data[start] == 35:
                marks |= TO_PLACE
        elif (
            length == 4 and letter == 116 and name == _SCRIPT  # type
            and (after_word(data, start, end, _TEX) > 0 or _begins_with(data, start, end, _MATH))
        ):  # fmt: skip
            marks |= IS_TEX
        elif (
            length == 4 and letter == 116 and name == _SCRIPT
            and after_word(data, start, end, _JSON_LD) > 0
        ):  # fmt: skip
            marks |= IS_JSON_LD
        elif (
            length == 14 and name == _TEMPLATE and letter == 115  # shadowrootmode
            and data[first + 10] | 32 == 109 and end > start
            and data[start] | 32 in (99, 111)  # closed, open
        ):  # fmt: skip
            marks |= IS_SHADOW_ROOT
    return at, hints, signature, marks
