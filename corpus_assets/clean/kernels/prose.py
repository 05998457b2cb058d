"""How much of a line runs on as prose does, and which documents keep the last copy of a line.

Menus, bylines and prompts are names, dates and a few words; prose has running words. They are
told without a word list, so in every language: a running word is a piece between white space
whose first letter is no capital and which does not begin with a digit. Scripts without capitals
count each such piece. Scripts without spaces have no pieces: there, runs of at least
`MIN_RUN` characters count (an item of a menu is shorter), two characters for a word.
"""

import numpy as np

from corpus_assets.text.characters import IGNORED, MARK, OWN_WORD, WORD
from corpus_assets.text.split import END, START, Bytes, Ints
from corpus_assets.text.unicode import NUMERIC, UPPER
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space

MIN_RUN = 5
_LARGEST = np.iinfo(np.int16).max


@kernel
def running_words(data: Bytes, spans: Ints, kinds: Bytes, classes: Bytes) -> Ints:
    """int64[k]: running words of each span, 32,767 at most.

    `kinds` are the classes of `characters.char_tables`, `classes` those of `class_table`.
    """
    out = np.zeros(spans.shape[0], dtype=np.int64)
    for k in range(spans.shape[0]):
        words = 0
        spaceless = 0  # characters in long runs
        run = 0
        is_new = True  # no letter or digit of this piece was seen
        at, end = spans[k, START], spans[k, END]
        while at < end:
            point, width = decode(data, at, end)
            at += width
            kind = kinds[point]
            if kind == OWN_WORD or (run and kind in (MARK, IGNORED)):
                run += kind == OWN_WORD
                continue
            spaceless += run if run >= MIN_RUN else 0
            run = 0
            if is_space(point):
                is_new = True
            elif is_new and kind == WORD:
                is_new = False
                words += (classes[point] & (UPPER | NUMERIC)) == 0
        spaceless += run if run >= MIN_RUN else 0
        out[k] = min(words + spaceless // 2, _LARGEST)
    return out


@kernel
def keep_last_copies(
    rows: Ints, lines: Ints, line_chars: Ints, chars: Ints, n_lines: int, min_chars: int
) -> Bytes:
    """uint8[k]: 1 where a document keeps a line that is cut out of others.

    Document d, in the order in which documents may keep, has `lines[rows[d]:rows[d + 1]]`
    (numbers below `n_lines`) of `line_chars` characters among its `chars`. Each line is kept by
    the first document that stays long enough with what it keeps. Lines that no document kept so
    are kept by the first that is long enough with all of its lines.
    """
    keeps = np.zeros(lines.shape[0], dtype=np.uint8)
    is_kept = np.zeros(n_lines, dtype=np.bool_)
    for whole in range(2):
        for d in range(rows.shape[0] - 1):
            left = chars[d]
            is_needed = False
            for k in range(rows[d], rows[d + 1]):
                if not is_kept[lines[k]]:
                    is_needed = True
                elif whole == 0:
                    left -= line_chars[k]
            if not is_needed or left < min_chars:
                continue
            for k in range(rows[d], rows[d + 1]):
                if whole == 1 or not is_kept[lines[k]]:
                    keeps[k] = 1
                    is_kept[lines[k]] = True
    return keeps
