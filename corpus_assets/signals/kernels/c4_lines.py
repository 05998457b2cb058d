"""The line rules of C4 over a batch: which lines stay, what is cut out of them, and why not.

Rules are asked in the order of C4's published code; the first that holds decides a line:
too long a word, no end mark, too few words, filler text, JavaScript, a curly brace, a policy
phrase. Footnote marks (`[1]`, `[]`, `[edit]`, `[citation needed]`) are cut out before the end
mark is looked for, and the line is not stripped again after that, as in that code.
"""

import numpy as np

from corpus_assets.signals.kernels.sentences import close_sentences, feed_sentences
from corpus_assets.signals.kernels.text_counts import Points, contains
from corpus_assets.text.phrases import Phrases, match_at, may_begin
from corpus_assets.text.raw_lines import line_break
from corpus_assets.text.split import CHARS, END, NEWLINE, START, Bytes, Ints
from textkernels.compiled import kernel
from textkernels.utf8 import decode, is_space, last_code_point

(KEPT, LONG_WORD, NO_END_MARK, FEW_WORDS, FILLER, JAVASCRIPT, BRACE, POLICY) = range(8)

_OPENING, _BRACE, _DOT = 0x5B, 0x7B, 0x2E
_EDIT = np.frombuffer(b"[edit]", dtype=np.uint8)
_NEEDED = np.frombuffer(b"[citation needed]", dtype=np.uint8)


@kernel
def citation_length(data: Bytes, at: int, end: int) -> int:
    """Bytes of the footnote mark at `at`, which holds `[`, or 0."""
    stop = at + 1
    while stop < end and 48 <= data[stop] <= 57:
        stop += 1
    if stop < end and data[stop] == 0x5D:
        return stop + 1 - at
    for mark in (_EDIT, _NEEDED):
        if at + mark.shape[0] <= end:
            same = True
            for k in range(mark.shape[0]):
                if data[at + k] != mark[k]:
                    same = False
                    break
            if same:
                return int(mark.shape[0])
    return 0


@kernel
def _cut_line(data: Bytes, start: int, end: int, pieces: Ints, first: int) -> int:
    """Store the pieces of a line that are left without footnote marks; returns the next free."""
    free = first
    begin = start
    at = start
    while at < end:
        length = citation_length(data, at, end) if data[at] == _OPENING else 0
        if length:
            if at > begin:
                pieces[free, 0] = begin
                pieces[free, 1] = at
                free += 1
            at += length
            begin = at
        else:
            at += 1
    if begin < end:
        pieces[free, 0] = begin
        pieces[free, 1] = end
        free += 1
    return free


@kernel
def _words_lost(data: Bytes, start: int, end: int, pieces: Ints, first: int, free: int) -> int:
    """How many fewer words, split at white space, the pieces of a line have than the line."""
    lost = 0
    in_word = False
    for at in range(start, end):
        if data[at] & 0xC0 == 0x80:
            continue
        point, _ = decode(data, at, end)
        is_ink = not is_space(point)
        lost += is_ink and not in_word
        in_word = is_ink
    in_word = False
    for k in range(first, free):
        for at in range(pieces[k, 0], pieces[k, 1]):
            if data[at] & 0xC0 == 0x80:
                continue
            point, _ = decode(data, at, end)
            is_ink = not is_space(point)
            lost -= is_ink and not in_word
            in_word = is_ink
    return lost


@kernel
def _tail(data: Bytes, pieces: Ints, first: int, free: int, tail: Bytes) -> int:
    """Write the last bytes of a line's pieces, up to 8, into `tail`; return how many."""
    n = 0
    k = free - 1
    while k >= first and n < tail.shape[0]:
        at = pieces[k, 1] - 1
        while at >= pieces[k, 0] and n < tail.shape[0]:
            n += 1
            tail[tail.shape[0] - n] = data[at]
            at -= 1
        k -= 1
    return n


@kernel
def _is_ended(tail: Bytes, n: int, marks: Points) -> bool:
    """Whether an end mark, and no ellipsis of three full stops, closes the line."""
    size = tail.shape[0]
    if n == 0 or not contains(marks, last_code_point(tail, size - n, size)):
        return False
    is_ellipsis = n >= 3
    for k in range(1, 4):
        is_ellipsis = is_ellipsis and tail[size - k] == _DOT
    return not is_ellipsis


@kernel
def _holds(data: Bytes, start: int, end: int, phrases: Phrases, classes: Bytes) -> bool:
    pairs = phrases.pairs
    for at in range(start, end):
        if may_begin(data, at, end, pairs) and match_at(
            data, start, at, end, phrases, False, classes
        ):
            return True
    return False


@kernel
def _has_brace(data: Bytes, start: int, end: int) -> bool:
    at = start
    while at < end and data[at] != _BRACE:
        at += 1
    return at < end


@kernel
def _cut_line_end(data: Bytes, start: int, end: int, pieces: Ints, k: int) -> None:
    """Store a line end of what stands between two lines: a line feed, where there is one."""
    found = start
    width = 0
    for at in range(start, end):
        if data[at] == NEWLINE:
            found, width = at, 1
            break
        if not width:
            found, width = at, line_break(data, at, end)
    pieces[k, 0] = found
    pieces[k, 1] = found + width


@kernel
def judge_lines(
    data: Bytes,
    lines: Ints,
    line_rows: Ints,
    words: Ints,
    word_rows: Ints,
    marks: Points,
    min_words: int,
    count_footnotes: bool,
    max_word_chars: int,
    filler: Phrases,
    javascript: Phrases,
    policy: Phrases,
    sentence_marks: Bytes,
    classes: Bytes,
) -> tuple[Bytes, Ints, Ints, Ints]:
    """`verdicts: uint8[lines]`, `sentences: int64[n]`, and the kept `pieces` with their `rows`.

    `marks`: end marks, empty to ask for none. `count_footnotes`: words are counted before footnote marks
    are cut out. A kept line keeps its line end when another kept line
    follows, so the pieces of a document are its kept lines joined by line ends, which are line feeds
    but where there is none.
    """
    n = line_rows.shape[0] - 1
    verdicts = np.zeros(lines.shape[0], dtype=np.uint8)
    sentences = np.zeros(n, dtype=np.int64)
    rows = np.zeros(n + 1, dtype=np.int64)
    room = 2 * lines.shape[0] + 1
    for k in range(lines.shape[0]):
        for at in range(lines[k, START], lines[k, END]):
            room += data[at] == _OPENING
    pieces = np.empty((room, 2), dtype=np.int64)
    tail = np.empty(8, dtype=np.uint8)
    state = np.zeros(3, dtype=np.int64)
    free = 0
    for d in range(n):
        word = word_rows[d]
        line_end = -1  # of the kept line before
        for k in range(line_rows[d], line_rows[d + 1]):
            start, end = lines[k, START], lines[k, END]
            first_word = word
            too_long = False
            while word < word_rows[d + 1] and words[word, START] < end:
                too_long = too_long or words[word, CHARS] > max_word_chars
                word += 1
            body = free + 1 if line_end >= 0 else free
            stop = _cut_line(data, start, end, pieces, body)
            n_words = word - first_word
            is_whole = stop == body + 1 and pieces[body, 1] - pieces[body, 0] == end - start
            if not (count_footnotes or is_whole):
                n_words -= _words_lost(data, start, end, pieces, body, stop)
            if too_long:
                verdicts[k] = LONG_WORD
            elif marks.shape[0] and not _is_ended(
                tail, _tail(data, pieces, body, stop, tail), marks
            ):
                verdicts[k] = NO_END_MARK
            elif n_words < min_words:
                verdicts[k] = FEW_WORDS
            elif _holds(data, start, end, filler, classes):
                verdicts[k] = FILLER
            elif _holds(data, start, end, javascript, classes):
                verdicts[k] = JAVASCRIPT
            elif _has_brace(data, start, end):
                verdicts[k] = BRACE
            elif _holds(data, start, end, policy, classes):
                verdicts[k] = POLICY
            else:
                if line_end >= 0:
                    _cut_line_end(data, line_end, start, pieces, free)
                for p in range(body, stop):
                    feed_sentences(data, pieces[p, 0], pieces[p, 1], sentence_marks, state)
                sentences[d] += close_sentences(state)
                free = stop
                line_end = end
        rows[d + 1] = free
    return verdicts, sentences, pieces[:free], rows
