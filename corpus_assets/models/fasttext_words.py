"""The rows that fastText adds up for one word: its own, and those of its n-grams of characters.

N-grams have `min_n` to `max_n` characters of the word with the marks `<` and `>` around it; FNV-1a
of one, modulo the buckets, names its row.
"""

from typing import Any

import numpy as np

from corpus_assets.models.fasttext_file import Bits, Bytes, Ints, Numbers, Offsets
from textkernels.byte_search import byte_kernel
from textkernels.bytes import ones_in
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, splitmix64

USUAL_BUCKETS = 2_000_000  # of lid.176: with a constant the compiler does better
IS_LABEL, IS_END = -1, -2


@byte_kernel
def _word_at(
    data: Bytes, start: int, end: int, value: np.uint32, slots: Ints, word_bytes: Bytes,
    word_starts: Offsets, word_hashes: Numbers,
) -> int:  # fmt: skip
    if len(word_hashes) > 0:
        return _hashed_word_at(data, start, end, slots, word_hashes)
    mask = np.uint32(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        word = slots[slot]
        first = word_starts[word]
        if word_starts[word + 1] - first == end - start:
            same = True
            for place in range(end - start):
                if word_bytes[first + place] != data[start + place]:
                    same = False
                    break
            if same:
                return int(word)
        slot = (slot + np.uint32(1)) & mask
    return -1


@byte_kernel
def _hashed_word_at(data: Bytes, start: int, end: int, slots: Ints, word_hashes: Numbers) -> int:
    """Look a word up in a model that knows hashes only; as `fasttext_file.hash_word`."""
    value = FNV_OFFSET
    for place in range(start, end):
        value = (value ^ np.uint64(data[place])) * FNV_PRIME
    value = splitmix64(value)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        if word_hashes[slots[slot]] == value:
            return int(slots[slot])
        slot = (slot + np.uint64(1)) & mask
    return -1


@byte_kernel
def _spell(data: Bytes, start: int, end: int, wide: Bits, firsts: Ints) -> int:
    """Write the bytes of `<word>` as FNV-1a takes them to `wide`, and where each character begins to
    `firsts`; return the number of characters."""
    wide[0] = 60
    firsts[0] = 0
    n_chars = size = 1
    for at in range(start, end):
        byte = np.uint32(data[at])
        if byte & np.uint32(0xC0) != np.uint32(0x80):
            firsts[n_chars] = size
            n_chars += 1
        wide[size] = byte | np.uint32(0xFFFFFF00) if byte > np.uint32(127) else byte
        size += 1
    wide[size] = 62
    firsts[n_chars] = size
    firsts[n_chars + 1] = size + 1
    return n_chars + 1


@byte_kernel
def row_of(kept: Numbers, bucket: Any) -> tuple[Any, Any]:
    """Return the row of a bucket and 1, or something and 0 where it has none."""
    entry = kept[bucket >> np.uint64(5)]
    place = bucket & np.uint64(31)
    below = entry & ((np.uint64(1) << place) - np.uint64(1))
    return (entry >> np.uint64(32)) + ones_in(below), (entry >> place) & np.uint64(1)


@byte_kernel
def _find_ngrams(
    wide: Bits, firsts: Ints, n_chars: int, min_n: int, max_n: int, kept: Numbers, buckets: int,
    numbers: Ints, at: int,
) -> int:  # fmt: skip
    """Write the rows of a word's n-grams to `numbers` from `at` on; where they end."""
    n_buckets, usual = np.uint32(buckets), np.uint32(USUAL_BUCKETS)
    # Unsigned places throughout: a signed one is checked for being negative at each look-up.
    put, one, size = np.uint64(at), np.uint64(1), np.uint64(n_chars)
    least, most = np.uint64(min_n), np.uint64(max_n)
    i = np.uint64(0)
    while i < size:
        value = np.uint32(2166136261)
        end = min(i + most, size)
        j = i
        place = np.uint64(firsts[i])
        while j < end:
            stop = np.uint64(firsts[j + one])
            while place < stop:
                value = np.uint32((value ^ wide[place]) * np.uint32(16777619))
                place += one
            j += one
            if j - i >= least and not (j - i == one and (i == np.uint64(0) or j == size)):
                bucket = value % usual if n_buckets == usual else value % n_buckets
                row, is_kept = row_of(kept, np.uint64(bucket))
                numbers[put] = row  # without a branch that nothing could predict
                put += is_kept
        i += one
    return int(put)


@byte_kernel
def _is_label(data: Bytes, start: int, end: int) -> bool:
    mark = (95, 95, 108, 97, 98, 101, 108, 95, 95)  # __label__
    if end - start < 9:
        return False
    for place in range(9):  # noqa: SIM110  numba
        if data[start + place] != mark[place]:
            return False
    return True


@byte_kernel
def _is_end(data: Bytes, start: int, end: int) -> bool:
    """Whether a word is `</s>`."""
    return end - start == 4 and (
        data[start] == 60 and data[start + 1] == 47 and data[start + 2] == 115
        and data[start + 3] == 62
    )  # fmt: skip


@byte_kernel
def word_rows(
    data: Bytes, start: Any, end: Any, value: np.uint32, kept: Numbers, buckets: int,
    slots: Ints, word_bytes: Bytes, word_starts: Offsets, word_hashes: Numbers, end_of_line: int, min_n: int, max_n: int,
    wide: Bits, firsts: Ints, numbers: Ints, at: int,
) -> int:  # fmt: skip
    """Write the rows of a word and its n-grams to `numbers` from `at` on; how many there are, or
    IS_LABEL, IS_END for words that mean something to fastText."""
    count = 0
    word = _word_at(data, start, end, value, slots, word_bytes, word_starts, word_hashes)
    if word >= 0:
        if word == end_of_line:
            return IS_END
        numbers[at] = word
        count = 1
    elif _is_label(data, start, end):
        return IS_LABEL
    elif end_of_line < 0 and _is_end(data, start, end):
        return IS_END
    if max_n > 0:
        n_chars = _spell(data, start, end, wide, firsts)
        last = _find_ngrams(wide, firsts, n_chars, min_n, max_n, kept, buckets, numbers, at + count)
        count = last - at
    return count
