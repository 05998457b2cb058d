"""What a page lays over itself or says to the reader's program: layers of consent, sign-in windows,
"your browser is old", "install our app".

A *layer* says so by its role (`dialog`, `alertdialog`, `aria-modal`) or by the name of the program that
makes it, and is one wherever it stands. A *window* has the words of one among its names, and stands
outside of `main` and `article`, where cookies may be baked; one that is only called a dialog, as
conversations are, has a button. A *notice* is called both a notice and about a browser or an app, or is
fixed to the screen by its style.

A *box* has no such name: it is the smallest element with buttons, before or after all prose, that has
no sibling of its make; whether it asks for consent, its words say.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.page_names import (
    LAYER_BIT,
    NOTICE_BIT,
    SUBJECT_BIT,
    TAGS,
    WINDOW_BIT,
    names_in,
)
from textkernels.compiled import kernel

MIN_BOX_CHARS, MAX_BOX_CHARS = 60, 1500
"""Characters of a box, buttons and all."""
MAX_BOXES = 20
MAX_AROUND = 4
"""Elements around a button that may be the box."""
MORE_CHARS = 120
"""Of what stands around a box and belongs to it: its heading, other buttons."""
PROSE_CHARS = 40

COOKIE_WORDS = re.compile(
    "cookie|\\bкуки|クッキー|쿠키|çerez|ملفات تعريف|کوکی|עוגיות|คุกกี้|ciasteczk|evästei|informasjonskaps|"
    "kolačić|колачић|бисквитк|piškotk|küpsis|sīkdat|slapuk|कुकी"
)
"""What cookies are called where they are not called cookies, in lower case."""

_MAIN, _ARTICLE, _BUTTON, _H1 = (TAGS[name] for name in ("main", "article", "button", "h1"))
_CANNOT_BE_BOX = np.zeros(len(TAGS) + 2, dtype=np.bool_)
for _name in names_in("html body main article button table tbody tr td th ul ol p"):
    _CANNOT_BE_BOX[TAGS[_name]] = True


def windows(page: Blocks) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether each element is a layer or a window, and whether it is a notice."""
    found: npt.NDArray[np.bool_] = _windows(page.elements)
    return found[0], found[1]


def asking_boxes(page: Blocks, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether each element is a box that asks for consent, by its words. A page that speaks of cookies
    elsewhere has none."""
    is_box = np.zeros(len(page.elements), dtype=np.bool_)
    if (page.elements[:, 1] == _BUTTON).any():
        for e in _boxes(page.blocks, page.elements, page.signatures, kept).tolist():
            first, stop = page.elements[e, 4:6].tolist()
            if not _speaks_of_cookies(page, kept, first, stop):
                continue
            around = (0, first), (stop, len(page.blocks))
            if not any(_speaks_of_cookies(page, kept, *part) for part in around):
                is_box[e] = True
    return is_box


def _speaks_of_cookies(page: Blocks, kept: npt.NDArray[np.bool_], first: int, stop: int) -> bool:
    return any(
        COOKIE_WORDS.search(page.text_of(number).lower())
        for number in (np.flatnonzero(kept[first:stop]) + first).tolist()
    )


@kernel
def _windows(elements: Any) -> Any:
    """Layers and windows, and notices: bool (2, elements)."""
    m = len(elements)
    is_main, has_button = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    for back in range(m - 1):
        e = m - 1 - back
        if has_button[e] or (elements[e, 1] == _BUTTON and elements[e, 5] > elements[e, 4]):
            has_button[elements[e, 0]] = has_button[e] = True
    found = np.zeros((2, m), dtype=np.bool_)
    for e in range(1, m):
        tag, hints = elements[e, 1], elements[e, 2]
        is_main[e] = is_main[elements[e, 0]] or tag in (_MAIN, _ARTICLE)
        found[0, e] = hints & LAYER_BIT > 0
        if not is_main[e]:
            is_notice = hints & SUBJECT_BIT > 0 and hints & NOTICE_BIT > 0
            # `dialog` is a word of both.
            if hints & WINDOW_BIT and (hints & SUBJECT_BIT == 0 or is_notice or has_button[e]):
                found[0, e] = True
            found[1, e] = is_notice
    return found


@kernel
def _boxes(blocks: Any, elements: Any, signatures: Any, kept: Any) -> Any:
    """Elements that may be boxes, at most `MAX_BOXES`; none is in another."""
    n, m = len(blocks), len(elements)
    sums = np.zeros((n + 1, 3), dtype=np.int64)  # chars, kept prose, links and titles
    for b in range(n):
        is_prose = kept[b] and blocks[b, 4] >= PROSE_CHARS and blocks[b, 3] & 1
        sums[b + 1, 0] = sums[b, 0] + blocks[b, 4]
        sums[b + 1, 1] = sums[b, 1] + (blocks[b, 4] if is_prose else 0)
        sums[b + 1, 2] = sums[b, 2] + blocks[b, 7]
    is_main, holds = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.int64)
    for e in range(1, m):
        is_main[e] = is_main[elements[e, 0]] or elements[e, 1] in (_MAIN, _ARTICLE)
    for back in range(m - 1):  # buttons in each element; titles count as many
        e = m - 1 - back
        if elements[e, 5] > elements[e, 4]:
            holds[e] += elements[e, 1] == _BUTTON
            if elements[e, 1] == _H1 and blocks[elements[e, 4], 12] > 0:
                holds[e] = -m
        holds[elements[e, 0]] += holds[e]
    found = np.empty(MAX_BOXES, dtype=np.int64)
    count = 0
    for button in range(1, m):
        if elements[button, 1] != _BUTTON or is_main[button] or count == MAX_BOXES:
            continue
        if count and elements[button, 4] < elements[found[count - 1], 5]:
            continue
        e = elements[button, 0]
        for _ in range(MAX_AROUND):
            if e <= 0 or _CANNOT_BE_BOX[elements[e, 1]] or holds[e] < 0:
                break
            first, stop = elements[e, 4], elements[e, 5]
            chars, prose = sums[stop, 0] - sums[first, 0], sums[stop, 1] - sums[first, 1]
            if chars > MAX_BOX_CHARS:
                break
            actions = holds[e] + sums[stop, 2] - sums[first, 2]
            if prose > 0 and chars >= MIN_BOX_CHARS and actions >= 2:
                is_apart = sums[first, 1] == 0 or sums[n, 1] == sums[stop, 1]
                if is_apart and not _has_twin(elements, signatures, holds, e):
                    found[count] = _with_more(elements, sums, holds, e)
                    count += 1
                break
            e = elements[e, 0]
    return found[:count]


@kernel
def _has_twin(elements: Any, signatures: Any, holds: Any, e: int) -> Any:
    """Whether a sibling of the same make has buttons too, as posts and goods have."""
    for other in range(1, len(elements)):
        if (
            other != e
            and elements[other, 0] == elements[e, 0]
            and signatures[other] == signatures[e]
            and holds[other] > 0
        ):
            return True
    return False


@kernel
def _with_more(elements: Any, sums: Any, holds: Any, e: int) -> int:
    """The outermost element around a box that holds little more."""
    chars = sums[elements[e, 5], 0] - sums[elements[e, 4], 0]
    for _ in range(MAX_AROUND):
        above = elements[e, 0]
        if above <= 0 or _CANNOT_BE_BOX[elements[above, 1]] or holds[above] < 0:
            break
        if sums[elements[above, 5], 0] - sums[elements[above, 4], 0] > chars + MORE_CHARS:
            break
        e = above
    return e
