"""How much of a line runs on as prose does.

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
