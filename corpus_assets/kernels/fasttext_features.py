"""Texts as fastText sees them: the mean of the rows of their words and n-grams, for a batch.

For each text, as fastText does with one line:

1. words between ASCII white space, each with its n-grams of characters (`fasttext_words`);
2. runs of two to `word_ngrams` words, named by a hash of the words' hashes, modulo the buckets;
3. the mean of all these rows, and of the end-of-line word's.

Rows are added in fastText's order. The numbers of a word's rows are kept with the model, since
most words come again; what is kept changes no result.
"""

import numpy as np
from numba import njit

from corpus_assets.kernels.fasttext_model import (
    KNOWN_BITS,
    KNOWN_BYTES,
    Bits,
    Bytes,
    FastTextModel,
    Floats,
    Ints,
    Offsets,
    fnv_step,
)
from corpus_assets.kernels.fasttext_words import IS_END, IS_LABEL, word_rows

ROWS_AT_ONCE = 1 << 13
LONG_TEXT = 1 << 16
USUAL_DIM = 16  # of lid.176: with a constant the compiler does better
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
        data, offsets, model.rows, model.kept, model.bucket_row, model.slots, model.word_bytes,
        model.word_starts, model.end_of_line, model.min_n, max(model.max_n, 0), model.word_ngrams,
        words.known, words.spelled, words.pool, words.used,
        np.empty(longest + 3, dtype=np.uint32),
        np.empty(longest + 3, dtype=np.int32),
        np.empty(max(model.max_n, 0) * (longest + 2) + 1, dtype=np.int32),
        np.empty(most_words, dtype=np.uint32),
        hidden, counts,
    )  # fmt: skip
    return hidden, counts


@njit(cache=True)
def _longest_word(data: Bytes, offsets: Offsets) -> int:
    longest = 0
    for d in range(len(offsets) - 1):
        start = offsets[d]
        for at in range(offsets[d], offsets[d + 1]):
            if data[at] <= 32:
                start = at + 1
            longest = max(longest, at + 1 - start)
    return longest


@njit(cache=True)
def _add_rows(rows: Floats, numbers: Ints, first: int, count: int, total: Floats) -> None:
    """Add the rows numbers[first:first + count] in order, as fastText adds them."""
    if rows.shape[1] == USUAL_DIM:
        _add_usual(rows, numbers, first, count, total)
        return
    for place in range(first, first + count):
        row = np.uint64(numbers[place])
        for d in range(rows.shape[1]):
            total[d] += rows[row, d]


@njit(cache=True)
def _add_usual(rows: Floats, numbers: Ints, first: int, count: int, total: Floats) -> None:
    """The same for rows of 16: sums that stay in registers."""
    t0, t1, t2, t3 = total[0], total[1], total[2], total[3]
    t4, t5, t6, t7 = total[4], total[5], total[6], total[7]
    t8, t9, t10, t11 = total[8], total[9], total[10], total[11]
    t12, t13, t14, t15 = total[12], total[13], total[14], total[15]
    for place in range(first, first + count):
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


@njit(cache=True)
def _add_word_ngrams(
    hashes: Bits, n_words: int, word_ngrams: int, kept: Bits, bucket_row: Ints, rows: Floats,
    numbers: Ints, total: Floats,
) -> int:  # fmt: skip
    """Add the rows of runs of words; how many. Hashes are signed in it, as fastText has them.

    Numbers of many rows are found before any is added: rows lie far apart, and so the processor
    fetches several at once.
    """
    buckets = np.uint64(len(bucket_row))
    count = found = 0
    for i in range(n_words):
        value = np.uint64(np.int64(np.int32(hashes[i])))
        for j in range(i + 1, min(n_words, i + word_ngrams)):
            value = value * np.uint64(116049371) + np.uint64(np.int64(np.int32(hashes[j])))
            bucket = value % buckets
            numbers[count] = bucket_row[bucket]
            bit = kept[bucket >> np.uint64(5)] >> np.uint32(bucket & np.uint64(31))
            count += bit & np.uint32(1)
            if count == len(numbers):
                _add_rows(rows, numbers, 0, count, total)
                found += count
                count = 0
    _add_rows(rows, numbers, 0, count, total)
    return found + count


@njit(cache=True)
def _mean_rows(
    data: Bytes, offsets: Offsets, rows: Floats, kept: Bits, bucket_row: Ints, slots: Ints,
    word_bytes: Bytes, word_starts: Offsets, end_of_line: int, min_n: int, max_n: int,
    word_ngrams: int, known: Offsets, spelled: Bytes, pool: Ints, used: Offsets, wide: Bits,
    firsts: Ints, once: Ints, hashes: Bits, hidden: Floats, counts: Offsets,
) -> None:  # fmt: skip
    """`known`, `spelled`, `pool`, `used`: see `KnownWords`. `wide`, `firsts`, `once`: room for the
    longest word of the batch; `hashes`: for the words of a text."""
    numbers = np.empty(ROWS_AT_ONCE, dtype=np.int32)
    for d in range(len(offsets) - 1):
        at, end = offsets[d], offsets[d + 1]
        total = hidden[d]
        count = n_rows = n_words = 0
        while at < end:
            byte = data[at]
            if byte == 32 or 9 <= byte <= 13 or byte == 0:
                at += 1
                continue
            start = at
            value = np.uint32(2166136261)
            while at < end:
                byte = data[at]
                if byte == 32 or 9 <= byte <= 13 or byte == 0:
                    break
                value = fnv_step(value, byte)
                at += 1
            size = at - start
            if size > KNOWN_BYTES:
                first = 0
                found = word_rows(
                    data, start, at, value, kept, bucket_row, slots, word_bytes, word_starts,
                    end_of_line, min_n, max_n, wide, firsts, once, 0,
                )  # fmt: skip
            else:
                slot = np.int64(
                    np.uint32(value * np.uint32(2654435769)) >> np.uint32(32 - KNOWN_BITS)
                )
                name = (np.int64(size) << np.int64(32)) | np.int64(value)
                if known[slot, 0] != name or not _same(data, start, spelled, known[slot, 1], size):
                    if used[0] + size > len(spelled) or used[1] + max_n * (size + 2) + 1 > len(
                        pool
                    ):
                        known[:, 0] = 0
                        used[:] = 0
                    for place in range(size):
                        spelled[used[0] + place] = data[start + place]
                    known[slot, 0], known[slot, 1], known[slot, 2] = name, used[0], used[1]
                    known[slot, 3] = word_rows(
                        data, start, at, value, kept, bucket_row, slots, word_bytes, word_starts,
                        end_of_line, min_n, max_n, wide, firsts, pool, used[1],
                    )  # fmt: skip
                    used[0] += size
                    used[1] += max(known[slot, 3], 0)
                first, found = known[slot, 2], known[slot, 3]
            if found == IS_LABEL:
                continue
            if found == IS_END:
                break
            if count + found >= ROWS_AT_ONCE:
                _add_rows(rows, numbers, 0, count, total)
                n_rows += count
                count = 0
            if size > KNOWN_BYTES:
                _add_rows(rows, numbers, 0, count, total)
                _add_rows(rows, once, 0, found, total)
                n_rows += count + found
                count = 0
            else:
                for place in range(found):
                    numbers[count + place] = pool[first + place]
                count += found
            if word_ngrams > 1:
                hashes[n_words] = value
                n_words += 1
        if end_of_line >= 0:
            numbers[count] = end_of_line
            count += 1
        _add_rows(rows, numbers, 0, count, total)
        n_rows += count
        if word_ngrams > 1 and len(bucket_row) > 0:
            hashes[n_words] = END_HASH
            n_rows += _add_word_ngrams(
                hashes, n_words + 1, word_ngrams, kept, bucket_row, rows, numbers, total
            )
        counts[d] = n_rows
        if n_rows > 0:
            share = np.float32(1.0 / n_rows)
            for place in range(len(total)):
                total[place] *= share


@njit(cache=True)
def _same(data: Bytes, start: int, other: Bytes, first: int, size: int) -> bool:
    for place in range(size):  # noqa: SIM110  numba
        if data[start + place] != other[first + place]:
            return False
    return True
