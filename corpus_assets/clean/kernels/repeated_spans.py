"""Runs of units that stand in more than one place, found by hashes in three linear passes.

Units are words, or with `in_bytes` the bytes of the text. A gram is `gram_units` units in a row.
Every gram has one print: the smallest hash among its runs of `print_units` units, the leftmost of
equals. Equal grams have equal prints, so a gram can only stand twice where its print does, and
prints are about one in `(gram_units - print_units) / 2` units: that is what makes counting over a
whole snapshot affordable.

Hash arithmetic is uint64 and wraps modulo 2^64 on purpose; positions and counts are int64. A gram
is known by two independent hashes, 128 bits: by chance no two grams of any corpus share both.
"""

from typing import Any

import numpy as np

from corpus_assets.text.words import ngram_hash, power, roll, scan_words, word_room
from textkernels.compiled import kernel
from textkernels.hashing import murmur64

_OTHER_BASE = np.uint64(0xD1342543DE82EF95)
_OTHER_WORD = np.uint64(0xA0761D6478BD642F)
_BITS_A_HASH = 16


@kernel
def bitmap_of(hashes: Any) -> Any:
    """uint64 words of a bitmap, a power of two of bits, with one set for each hash."""
    size = 64
    while size < hashes.size * _BITS_A_HASH:
        size *= 2
    bits = np.zeros(size // 64, np.uint64)
    mask = np.uint64(size - 1)
    for value in hashes:
        bit = value & mask
        bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
    return bits


@kernel
def _find(value: Any, hashes: Any, bits: Any) -> int:
    """Where `value` begins in sorted `hashes`, -1 where it is not there."""
    bit = value & np.uint64(bits.size * 64 - 1)
    if not (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1):
        return -1
    low, high = 0, hashes.size
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < hashes.size and hashes[low] == value else -1


@kernel
def _prints(units: Any, n_units: int, length: int, out: Any) -> int:
    """Hashes of all runs of `length` units, by where they begin; returns how many."""
    weight = power(length)
    window = np.uint64(0)
    for i in range(n_units):
        leaving = units[i - length] if i >= length else np.uint64(0)
        window = roll(window, units[i], leaving, weight)
        if i + 1 >= length:
            out[i + 1 - length] = ngram_hash(window, length)
    return max(0, n_units - length + 1)


@kernel
def _smallest(prints: Any, start: int, stop: int) -> int:
    """Place of the smallest of prints[start:stop], the leftmost of equals."""
    best = start
    for i in range(start + 1, stop):
        if prints[i] < prints[best]:
            best = i
    return best


@kernel
def select_prints(
    data: Any, offsets: Any, tables: Any, in_bytes: bool, gram_units: int, print_units: int
) -> Any:
    """uint64: the prints of all grams of all texts, each place once, in order."""
    units, starts = _room(offsets, in_bytes)
    prints = np.empty(units.size, np.uint64)
    span = gram_units - print_units + 1  # runs of print_units in a gram
    out = np.empty(1024, np.uint64)
    filled = 0
    for text in range(offsets.size - 1):
        n_units = _scan(data, offsets[text], offsets[text + 1], tables, in_bytes, units, starts)
        n_prints = _prints(units, n_units, print_units, prints)
        best, last = 0, -1
        for i in range(n_prints):
            if best <= i - span:
                best = _smallest(prints, i - span + 1, i + 1)
            elif prints[i] < prints[best]:
                best = i
            if i + 1 >= span and best != last:
                if filled == out.size:
                    out = np.concatenate((out, np.empty_like(out)))
                out[filled] = prints[best]
                filled += 1
                last = best
    return out[:filled]


@kernel
def candidate_grams(
    data: Any,
    offsets: Any,
    tables: Any,
    in_bytes: bool,
    gram_units: int,
    print_units: int,
    known: Any,
    bits: Any,
) -> tuple[Any, Any]:
    """Grams whose print is in sorted `known` (with its bitmap): uint64[k, 2] and int64[k] texts."""
    units, starts = _room(offsets, in_bytes)
    prints = np.empty(units.size, np.uint64)
    span = gram_units - print_units + 1
    grams = np.empty((1024, 2), np.uint64)
    texts = np.empty(1024, np.int64)
    filled = 0
    weight, other_weight = power(gram_units), _other_power(gram_units)
    for text in range(offsets.size - 1):
        n_units = _scan(data, offsets[text], offsets[text + 1], tables, in_bytes, units, starts)
        n_prints = _prints(units, n_units, print_units, prints)
        best, last, is_known = 0, -1, False
        gram, other = np.uint64(0), np.uint64(0)
        for i in range(n_units):
            gram, other = _move(units, i, gram_units, gram, other, weight, other_weight)
            end = i + 1 - print_units  # the print that ends with this unit
            if end < 0 or end >= n_prints:
                continue
            if best <= end - span:
                best = _smallest(prints, end - span + 1, end + 1)
            elif prints[end] < prints[best]:
                best = end
            if i + 1 < gram_units:
                continue
            if best != last:
                is_known = _find(prints[best], known, bits) >= 0
                last = best
            if is_known:
                if filled == texts.size:
                    grams = np.concatenate((grams, np.empty_like(grams)))
                    texts = np.concatenate((texts, np.empty_like(texts)))
                grams[filled, 0] = ngram_hash(gram, gram_units)
                grams[filled, 1] = murmur64(other)
                texts[filled] = text
                filled += 1
    return grams[:filled], texts[:filled]


@kernel
def repeated_stretches(
    data: Any,
    offsets: Any,
    tables: Any,
    in_bytes: bool,
    gram_units: int,
    grams: Any,
    bits: Any,
    keepers: Any,
    ids: Any,
) -> tuple[Any, Any]:
    """Return what to cut of each text: byte stretches int64[k, 2], and the first of each text,
    int64.

    `grams` uint64[g, 2] are sorted, `bits` is the bitmap of their first column; `keepers` and
    `ids` are uint64[., 2], the document that keeps each gram and the document of each text. The
    keeper keeps a gram where it first stands, and copies that overlap that place. No stretch of
    bytes begins or ends inside of a character: it is shortened to whole ones.
    """
    units, starts = _room(offsets, in_bytes)
    first_hashes = np.ascontiguousarray(grams[:, 0])
    seen_in = np.full(grams.shape[0], -1, np.int64)  # the text that last kept the gram
    seen_at = np.zeros(grams.shape[0], np.int64)
    stretches = np.empty((256, 2), np.int64)
    rows = np.zeros(offsets.size, np.int64)
    filled = 0
    weight, other_weight = power(gram_units), _other_power(gram_units)
    for text in range(offsets.size - 1):
        end = offsets[text + 1]
        n_units = _scan(data, offsets[text], end, tables, in_bytes, units, starts)
        gram, other = np.uint64(0), np.uint64(0)
        for i in range(n_units):
            gram, other = _move(units, i, gram_units, gram, other, weight, other_weight)
            start = i + 1 - gram_units
            if start < 0:
                continue
            found = _known(ngram_hash(gram, gram_units), murmur64(other), grams, first_hashes, bits)
            if found < 0:
                continue
            if keepers[found, 0] == ids[text, 0] and keepers[found, 1] == ids[text, 1]:
                if seen_in[found] != text:
                    seen_in[found] = text
                    seen_at[found] = start
                if start < seen_at[found] + gram_units:
                    continue
            stop = starts[i + 1] if i + 1 < n_units else end
            if filled > rows[text] and starts[start] <= stretches[filled - 1, 1]:
                stretches[filled - 1, 1] = stop
                continue
            if filled == stretches.shape[0]:
                stretches = np.concatenate((stretches, np.empty_like(stretches)))
            stretches[filled, 0] = starts[start]
            stretches[filled, 1] = stop
            filled += 1
        if in_bytes:
            filled = _whole_characters(data, end, stretches, rows[text], filled)
        rows[text + 1] = filled
    return stretches[:filled], rows


@kernel
def known_grams(
    data: Any, offsets: Any, tables: Any, in_bytes: bool, gram_units: int, grams: Any, bits: Any
) -> tuple[Any, Any, Any]:
    """Return which of sorted `grams` (as in `repeated_stretches`) stand in each text, in order, once
    a place: their numbers and the first of each text; and how many grams each text has. int64."""
    units, starts = _room(offsets, in_bytes)
    first_hashes = np.ascontiguousarray(grams[:, 0])
    numbers = np.empty(1024, np.int64)
    rows, totals = np.zeros(offsets.size, np.int64), np.zeros(offsets.size - 1, np.int64)
    filled = 0
    weight, other_weight = power(gram_units), _other_power(gram_units)
    for text in range(offsets.size - 1):
        end = offsets[text + 1]
        n_units = _scan(data, offsets[text], end, tables, in_bytes, units, starts)
        totals[text] = max(0, n_units - gram_units + 1)
        gram, other = np.uint64(0), np.uint64(0)
        for i in range(n_units if first_hashes.size else 0):
            gram, other = _move(units, i, gram_units, gram, other, weight, other_weight)
            if i + 1 < gram_units:
                continue
            found = _known(ngram_hash(gram, gram_units), murmur64(other), grams, first_hashes, bits)
            if found < 0:
                continue
            if filled == numbers.size:
                numbers = np.concatenate((numbers, np.empty_like(numbers)))
            numbers[filled] = found
            filled += 1
        rows[text + 1] = filled
    return numbers[:filled], rows, totals


@kernel
def _known(gram: Any, check: Any, grams: Any, first_hashes: Any, bits: Any) -> int:
    """Return the row of a gram in sorted `grams`, -1 where it is not there."""
    found = _find(gram, first_hashes, bits)
    while found >= 0 and grams[found, 1] != check:
        found += 1
        if found == first_hashes.size or first_hashes[found] != first_hashes[found - 1]:
            found = -1
    return found


@kernel
def _whole_characters(data: Any, end: Any, stretches: Any, first: int, filled: int) -> int:
    """Shorten stretches[first:filled] of a text that ends at `end` to whole characters of UTF-8;
    return where those that are left end."""
    left = first
    for k in range(first, filled):
        begin, stop = stretches[k, 0], stretches[k, 1]
        while begin < stop and data[begin] & 0xC0 == 0x80:
            begin += 1
        while begin < stop < end and data[stop] & 0xC0 == 0x80:
            stop -= 1
        if begin < stop:
            stretches[left, 0], stretches[left, 1] = begin, stop
            left += 1
    return left


@kernel
def _room(offsets: Any, in_bytes: bool) -> tuple[Any, Any]:
    """Buffers that `_scan` can fill for any of the texts."""
    if not in_bytes:
        return word_room(offsets)
    longest = 1
    for text in range(offsets.size - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    return np.empty(longest, np.uint64), np.empty(longest, np.int64)


@kernel
def _scan(
    data: Any, pos: Any, end: Any, tables: Any, in_bytes: bool, units: Any, starts: Any
) -> int:
    """Write the hash (uint64) and start (int64) of each unit of data[pos:end]; return how many."""
    if not in_bytes:
        return scan_words(data, pos, end, tables, units, starts)
    for i in range(end - pos):
        units[i] = murmur64(np.uint64(data[pos + i]) + np.uint64(1))
        starts[i] = pos + i
    return int(end - pos)


@kernel
def _other_power(length: int) -> Any:
    value = np.uint64(1)
    for _ in range(length):
        value *= _OTHER_BASE
    return value


@kernel
def _move(
    units: Any, i: int, length: int, gram: Any, other: Any, weight: Any, other_weight: Any
) -> tuple[Any, Any]:
    """Both rolling hashes of the last `length` units, moved on to unit i."""
    leaving, other_leaving = np.uint64(0), np.uint64(0)
    if i >= length:
        leaving = units[i - length]
        other_leaving = murmur64(leaving ^ _OTHER_WORD)
    gram = roll(gram, units[i], leaving, weight)
    other = other * _OTHER_BASE + murmur64(units[i] ^ _OTHER_WORD) - other_leaving * other_weight
    return gram, other
