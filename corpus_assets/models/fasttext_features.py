"""Texts as fastText sees them: the mean of the rows of their words and n-grams, for a batch.

For each text, as fastText does with one line:

1. words between ASCII white space, each with its n-grams of characters;
2. runs of two to `word_ngrams` words, named by a hash of the words' hashes, modulo the buckets;
3. the mean of all these rows, and of the end-of-line word's.

The rows of a word are added to one sum, in fastText's order, and the sums of the words of a text
to its own. Sums of words are kept with the model, since most words come again: what is kept
changes no result. fastText adds row by row, so a mean may differ from its own in the last bits.
"""

from typing import Any

import numpy as np

from corpus_assets.models.fasttext_file import (
    KNOWN_PARTS,
    Bits,
    Bytes,
    FastTextModel,
    Floats,
    Ints,
    Numbers,
    Offsets,
    fnv_step,
)
from corpus_assets.models.fasttext_words import IS_END, IS_LABEL, row_of, word_rows
from textkernels.byte_search import byte_kernel
from textkernels.bytes import load64, zeros_below
from textkernels.hashing import GOLDEN

ROWS_AT_ONCE = 1 << 13
LONG_TEXT = 1 << 16
USUAL_DIM = 16  # of lid.176: with a constant the compiler does better
_EIGHT = np.uint64(8)
_TOPS, _LOWS = np.uint64(0x8080808080808080), np.uint64(0x7F7F7F7F7F7F7F7F)
_BEYOND_SPACE = np.uint64(0x5F5F5F5F5F5F5F5F)  # sets the top bit of a byte above 32
END_HASH = np.uint32(3617362777)  # FNV-1a of "</s>"


def mean_rows(model: FastTextModel, data: Bytes, offsets: Offsets) -> tuple[Floats, Offsets]:
    """float32[n, dim], and int64[n] how many rows each is the mean of; zeros where none.

    Text d is `data[offsets[d]:offsets[d + 1]]`, UTF-8; line ends in it are white space.
    """
    hidden = np.zeros((len(offsets) - 1, model.rows.shape[1]), dtype=np.float32)
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    longest = int(np.diff(offsets).max(initial=0))  # bytes of a text, so of a word in it
    most_words = longest // 2 + 2 if model.word_ngrams > 1 else 0
    if longest > LONG_TEXT:
        longest = int(_longest_word(data, offsets))
    words = model.words
    _mean_rows(
        data, offsets, model.rows, model.kept, model.buckets, model.slots, model.word_bytes,
        model.word_starts, model.word_hashes, model.end_of_line, model.min_n, max(model.max_n, 0), model.word_ngrams,
        words.known, words.sums,
        np.empty(longest + 3, dtype=np.uint32),
        np.empty(longest + 3, dtype=np.int32),
        np.empty(max(model.max_n, 0) * (longest + 2) + 1, dtype=np.int32),
        np.empty(most_words, dtype=np.uint32),
        np.zeros(KNOWN_PARTS + 1, dtype=np.uint64),
        np.zeros(model.rows.shape[1], dtype=np.float32),
        np.empty(ROWS_AT_ONCE, dtype=np.int32),
        hidden, counts,
    )  # fmt: skip
    return hidden, counts


@byte_kernel
def _longest_word(data: Bytes, offsets: Offsets) -> int:
    """Bytes of the longest word: the room that words are spelled in, so a word is the same here."""
    longest = 0
    for d in range(len(offsets) - 1):
        start = offsets[d]
        for at in range(offsets[d], offsets[d + 1]):
            if _is_space(data[at]):
                start = at + 1
            longest = max(longest, at + 1 - start)
    return longest


@byte_kernel
def _add(row: Floats, total: Floats) -> None:
    if len(total) == USUAL_DIM:
        for d in range(USUAL_DIM):
            total[d] += row[d]
        return
    for d in range(len(total)):
        total[d] += row[d]


@byte_kernel
def _add_rows(rows: Floats, numbers: Ints, count: int, total: Floats) -> None:
    """Add the rows numbers[:count] in order."""
    if len(total) == USUAL_DIM:
        _add_usual(rows, numbers, count, total)
        return
    for place in range(count):
        _add(rows[numbers[place]], total)


@byte_kernel
def _add_usual(rows: Floats, numbers: Ints, count: int, total: Floats) -> None:
    """The same for rows of 16: sums that stay in registers."""
    t0, t1, t2, t3 = total[0], total[1], total[2], total[3]
    t4, t5, t6, t7 = total[4], total[5], total[6], total[7]
    t8, t9, t10, t11 = total[8], total[9], total[10], total[11]
    t12, t13, t14, t15 = total[12], total[13], total[14], total[15]
    for place in range(count):
        row = np.uint64(numbers[place])
        t0 += rows[row, 0]
        t1 += rows[row, 1]
        t2 += rows[row, 2]
        t3 += rows[row, 3]
        t4 += rows[row, 4]
        t5 += rows[row, 5]
        t6 += rows[row, 6]
        t7 += rows[row, 7]
        t8 += rows[row, 8]
        t9 += rows[row, 9]
        t10 += rows[row, 10]
        t11 += rows[row, 11]
        t12 += rows[row, 12]
        t13 += rows[row, 13]
        t14 += rows[row, 14]
        t15 += rows[row, 15]
    for place, value in enumerate((
        t0, t1, t2, t3, t4, t5, t6, t7,
        t8, t9, t10, t11, t12, t13, t14, t15,
    )):  # fmt: skip
        total[place] = value


@byte_kernel
def _add_word_ngrams(
    hashes: Bits, n_words: int, word_ngrams: int, kept: Numbers, n_buckets: int, rows: Floats,
    numbers: Ints, total: Floats,
) -> int:  # fmt: skip
    """Add the rows of runs of words; how many. Hashes are signed in it, as fastText has them.

    Numbers of many rows are found before any is added: rows lie far apart, and so the processor
    fetches several at once.
    """
    buckets = np.uint64(n_buckets)
    count = found = 0
    for i in range(n_words):
        value = np.uint64(np.int64(np.int32(hashes[i])))
        for j in range(i + 1, min(n_words, i + word_ngrams)):
            value = value * np.uint64(116049371) + np.uint64(np.int64(np.int32(hashes[j])))
            bucket = value % buckets
            row, is_kept = row_of(kept, bucket)
            numbers[count] = row
            count += int(is_kept)
            if count == len(numbers):
                _add_rows(rows, numbers, count, total)
                found += count
                count = 0
    _add_rows(rows, numbers, count, total)
    return found + count


@byte_kernel
def _mean_rows(
    data: Bytes, offsets: Offsets, rows: Floats, kept: Numbers, n_buckets: int, slots: Ints,
    word_bytes: Bytes, word_starts: Offsets, word_hashes: Numbers, end_of_line: int, min_n: int, max_n: int,
    word_ngrams: int, known: Any, sums: Floats, wide: Bits, firsts: Ints, numbers: Ints,
    hashes: Bits, spelled: Any, longer: Floats, pairs: Ints, hidden: Floats, counts: Offsets,
) -> None:  # fmt: skip
    """`known`, `sums`: see `KnownWords`. `wide`, `firsts`, `numbers`: room for the longest word of
    the batch; `hashes`: for the words of a text."""
    for d in range(len(offsets) - 1):
        at, end = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        total = hidden[d]
        n_rows = n_words = 0
        while at < end:
            if _is_space(data[at]):
                at += np.uint64(1)
                continue
            start = at
            at, n_parts, mixed = _next_word(data, start, end, spelled)
            if n_parts > KNOWN_PARTS:
                value = _hash_word(data, start, at)
                found = word_rows(
                    data, start, at, value, kept, n_buckets, slots, word_bytes, word_starts,
                    word_hashes, end_of_line, min_n, max_n, wide, firsts, numbers, 0,
                )  # fmt: skip
                longer[:] = 0
                _add_rows(rows, numbers, found, longer)
                of_word = longer
            else:
                place = mixed & np.uint64(len(known) - 1)
                if not _is_known(known[place], spelled, n_parts, at - start):
                    value = _hash_word(data, start, at)
                    made = word_rows(
                        data, start, at, value, kept, n_buckets, slots, word_bytes, word_starts,
                        word_hashes, end_of_line, min_n, max_n, wide, firsts, numbers, 0,
                    )  # fmt: skip
                    known[place, 0], known[place, 1] = at - start, np.uint64(value)
                    known[place, 2] = np.uint64(np.int64(made))
                    for part in range(n_parts):
                        known[place, 3 + part] = spelled[part]
                    sums[place, :] = 0
                    _add_rows(rows, numbers, made, sums[place])
                value = np.uint32(known[place, 1])
                found = int(np.int64(known[place, 2]))
                of_word = sums[place]
            if found == IS_LABEL:
                continue
            if found == IS_END:
                break
            n_rows += found
            _add(of_word, total)
            if word_ngrams > 1:
                hashes[n_words] = value
                n_words += 1
        if end_of_line >= 0:
            _add(rows[end_of_line], total)
            n_rows += 1
        if word_ngrams > 1 and n_buckets > 0:
            hashes[n_words] = END_HASH
            n_rows += _add_word_ngrams(
                hashes, n_words + 1, word_ngrams, kept, n_buckets, rows, pairs, total
            )
        counts[d] = n_rows
        if n_rows > 0:
            share = np.float32(1.0 / n_rows)
            for place in range(len(total)):
                total[place] *= share


@byte_kernel
def _is_space(byte: Any) -> Any:
    return byte <= 32 and (byte == 32 or 9 <= byte <= 13 or byte == 0)


@byte_kernel
def _next_word(data: Bytes, start: Any, end: Any, spelled: Any) -> tuple[Any, int, Any]:
    """Where the word at `start` ends, its bytes as numbers of eight each in `spelled`, how many
    these are, and a hash of them. A word that is too long to be kept has one number more."""
    at, mixed, n_parts = start, np.uint64(0), 0
    while at + _EIGHT <= end:
        block: Any = load64(data, at)
        lows = ~(((block & _LOWS) + _BEYOND_SPACE) | block) & _TOPS
        if lows == np.uint64(0):
            part, size = block, _EIGHT
        else:
            size = zeros_below(lows) >> np.uint64(3)
            if not _is_space(data[at + size]):
                break  # a control character inside of a word: byte by byte
            if size == np.uint64(0):
                return at, n_parts, mixed
            part = block & ((np.uint64(1) << (size << np.uint64(3))) - np.uint64(1))
        at += size
        if n_parts <= KNOWN_PARTS:
            spelled[n_parts] = part
            mixed = _mix(mixed, part)
            n_parts += 1
        if size < _EIGHT:
            return at, n_parts, mixed
    part = shift = np.uint64(0)
    while at < end and not _is_space(data[at]):
        part |= np.uint64(data[at]) << shift
        shift += _EIGHT
        at += np.uint64(1)
        if shift == np.uint64(64):
            if n_parts <= KNOWN_PARTS:
                spelled[n_parts] = part
                mixed = _mix(mixed, part)
                n_parts += 1
            part = shift = np.uint64(0)
    if shift > np.uint64(0) and n_parts <= KNOWN_PARTS:
        spelled[n_parts] = part
        mixed = _mix(mixed, part)
        n_parts += 1
    return at, n_parts, mixed


@byte_kernel
def _mix(mixed: Any, part: Any) -> Any:
    mixed = (mixed ^ part) * GOLDEN
    return mixed ^ (mixed >> np.uint64(32))


@byte_kernel
def _is_known(known: Any, spelled: Any, n_parts: int, size: Any) -> bool:
    if known[0] != size:
        return False
    for part in range(n_parts):  # noqa: SIM110  numba
        if known[3 + part] != spelled[part]:
            return False
    return True


@byte_kernel
def _hash_word(data: Bytes, start: Any, end: Any) -> np.uint32:
    value = np.uint32(2166136261)
    for at in range(start, end):
        value = fnv_step(value, data[at])
    return value
