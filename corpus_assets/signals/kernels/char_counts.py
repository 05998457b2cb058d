"""Counts of characters by class and script, and repetition of runs of characters."""

import numpy as np

from corpus_assets.text.repetition import drop_single, number_keys
from corpus_assets.text.split import Bytes, Ints, table_size
from textkernels.compiled import kernel
from textkernels.hashing import GOLDEN
from textkernels.utf8 import decode, is_space

N_CLASSES = 8
SPACE, TABS, SPACE_RUNS, REPLACEMENTS = range(8, 12)  # behind the classes of `text.unicode`
_TAB, _NEWLINE, _REPLACEMENT = 9, 10, 0xFFFD


@kernel
def class_counts(data: Bytes, offsets: Ints, classes: Bytes) -> Ints:
    """int64[n, 12]: characters of each of the eight classes, by bit; white space, tabs, white space
    after white space of the same line, U+FFFD."""
    n = offsets.shape[0] - 1
    out = np.zeros((n, REPLACEMENTS + 1), dtype=np.int64)
    seen = np.zeros(256, dtype=np.int64)
    for d in range(n):
        seen[:] = 0
        at, end = offsets[d], offsets[d + 1]
        after_space = False
        while at < end:
            point, width = decode(data, at, end)
            at += width
            seen[classes[point]] += 1
            if is_space(point):
                out[d, SPACE] += 1
                out[d, TABS] += point == _TAB
                out[d, SPACE_RUNS] += after_space and point != _NEWLINE
                after_space = point != _NEWLINE
            else:
                out[d, REPLACEMENTS] += point == _REPLACEMENT
                after_space = False
        for bits in range(256):
            for k in range(N_CLASSES):
                if bits >> k & 1:
                    out[d, k] += seen[bits]
    return out


@kernel
def script_counts(data: Bytes, offsets: Ints, scripts: Bytes, n_scripts: int) -> Ints:
    """int64[n, n_scripts + 1]: letters of each script; column 0 holds what is no letter."""
    n = offsets.shape[0] - 1
    out = np.zeros((n, n_scripts + 1), dtype=np.int64)
    for d in range(n):
        at, end = offsets[d], offsets[d + 1]
        while at < end:
            point, width = decode(data, at, end)
            at += width
            out[d, scripts[point]] += 1
    return out


@kernel
def repeated_runs(data: Bytes, offsets: Ints, sizes: Ints) -> Ints:
    """int64[n, len(sizes)]: characters inside a run of `size` characters that stands twice.

    White space is left out before runs are made, and overlapping runs never count a character
    twice. Runs are known by a 64-bit rolling hash: some two different runs of a document with
    m of them share one with probability below m**2 / 2**64. Memory: about 70 bytes for each
    character of the longest document.
    """
    n = offsets.shape[0] - 1
    out = np.zeros((n, sizes.shape[0]), dtype=np.int64)
    longest = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    points = np.empty(longest, dtype=np.uint64)
    keys = np.empty(longest, dtype=np.uint64)
    place = np.empty(longest, dtype=np.int64)
    number = np.empty(longest, dtype=np.int64)
    count = np.empty(longest, dtype=np.int64)
    first = np.empty(longest, dtype=np.int64)
    slots = np.empty(table_size(longest), dtype=np.int64)
    for d in range(n):
        at, end = offsets[d], offsets[d + 1]
        chars = 0
        while at < end:
            point, width = decode(data, at, end)
            at += width
            if not is_space(point):
                points[chars] = np.uint64(point + 1)
                chars += 1
        for s in range(sizes.shape[0]):
            size = sizes[s]
            runs = chars - size + 1
            if runs < 2:
                continue
            power = np.uint64(1)
            for _ in range(size):
                power = power * GOLDEN
            value = np.uint64(0)
            for k in range(chars):
                value = value * GOLDEN + points[k]
                if k >= size:
                    value = value - points[k - size] * power
                if k >= size - 1:
                    keys[k - size + 1] = value
                    place[k - size + 1] = k - size + 1
            number_keys(keys, runs, slots, number, count, first)
            reached = 0
            for k in range(drop_single(place, number, runs, count)):
                out[d, s] += place[k] + size - max(place[k], reached)
                reached = place[k] + size
    return out
