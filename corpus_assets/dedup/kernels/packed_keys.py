"""Connected components in pieces, for a window of any size (`dedup.exchange`).

A *packed key* has 32 bits of a key, those behind the bits that its range is chosen by, above the
number of a document in its group. Two keys of a range that differ only behind them are taken for
equal: of two million, some hundreds. That makes a component larger and decides nothing.
"""

from typing import Any

import numpy as np

from corpus_assets.dedup.kernels.components import CHUNKS, slots_for
from corpus_assets.dedup.kernels.union_find import union
from textkernels.compiled import kernel

ASKED = np.uint64(1 << 63)
"""Marks a pair of documents that are connected to one that is asked for."""
NUMBER = np.uint64((1 << 63) - 1)
"""What is the number of a document; itself it is the number of none."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
PACKED_CHUNKS = CHUNKS
_PACKED_SHIFT = np.uint64(53)  # 64 - log2(PACKED_CHUNKS)


@kernel
def count_kept(keys: Any, rows: Any, kept: Any, bits: int, counts: Any) -> None:
    """Add to `counts` how many keys of rows that count are in each range: the upper `bits`."""
    shift = np.uint64(64 - bits)
    for i in range(keys.size):
        counts[keys[i] >> shift] += kept[rows[i]]


@kernel
def pack_kept(
    keys: Any, rows: Any, kept: Any, numbers: Any, bits: int, places: Any, packed: Any
) -> None:
    """Pack keys of rows that count, each at the next place of its range, which moves on."""
    shift = np.uint64(64 - bits)
    for i in range(keys.size):
        if kept[rows[i]]:
            at = places[keys[i] >> shift]
            places[keys[i] >> shift] = at + 1
            part_of_key = (keys[i] << np.uint64(bits)) >> _HALF
            packed[at] = (part_of_key << _HALF) | np.uint64(numbers[rows[i]])


@kernel
def count_packed(packed: Any, counts: Any) -> None:
    """Count packed keys by chunk: adds to int64[PACKED_CHUNKS] `counts`."""
    for i in range(packed.size):
        counts[packed[i] >> _PACKED_SHIFT] += 1


@kernel
def place_packed(packed: Any, first: int, places: Any, keys: Any, members: Any) -> None:
    """Put keys and documents of a group at the next place of their chunk, which moves on. The
    group's numbers begin at `first` in the window."""
    start = np.uint64(first)
    for i in range(packed.size):
        chunk = packed[i] >> _PACKED_SHIFT
        at = places[chunk]
        places[chunk] = at + 1
        keys[at] = packed[i] >> _HALF
        members[at] = (packed[i] & _LOW) + start


@kernel
def equal_pairs(keys: Any, members: Any, ends: Any, new: int) -> Any:
    """uint64[pairs, 2]: the first document with a key, and each other one with it, of keys that a
    document from `new` on has; from the keys of one chunk after the other and the end of each."""
    largest = begin = 0
    for end in ends:
        largest, begin = max(largest, end - begin), end
    slots_at = np.empty(slots_for(largest), np.int64)
    first_with = np.empty(largest, np.int64)
    is_new = np.empty(largest, np.bool_)  # of a first one: whether a new document has its key
    start = np.uint64(new)
    pairs = np.empty((keys.size, 2), np.uint64)
    filled = 0
    begin = 0
    for end in ends:
        slots = slots_for(end - begin)
        mask = np.uint64(slots - 1)
        slots_at[:slots] = -1
        for i in range(begin, end):
            slot = np.uint64(keys[i]) & mask
            while slots_at[slot] >= 0 and keys[slots_at[slot]] != keys[i]:
                slot = (slot + np.uint64(1)) & mask
            if slots_at[slot] < 0:
                slots_at[slot] = i
                is_new[i - begin] = False
            at = slots_at[slot]
            first_with[i - begin] = at
            is_new[at - begin] |= members[i] >= start
        for i in range(begin, end):
            at = first_with[i - begin]
            if at != i and is_new[at - begin]:
                pairs[filled, 0] = members[at]
                pairs[filled, 1] = members[i]
                filled += 1
        begin = end
    return pairs[:filled]


@kernel
def place_rows(words: Any, starts: Any, rows: Any, values: Any) -> None:
    """Copy each of the `rows` of `values` to `words`, from its start on; both uint64."""
    for i in range(rows.size):
        at, row = starts[i], rows[i]
        for k in range(values.shape[1]):
            words[at + k] = values[row, k]


@kernel
def in_order(pairs: Any) -> None:
    """Put the smaller number of each pair first, in place."""
    for i in range(pairs.shape[0]):
        if pairs[i, 0] > pairs[i, 1]:
            pairs[i, 0], pairs[i, 1] = pairs[i, 1], pairs[i, 0]


@kernel
def fill_intervals(
    pairs: Any, begin: int, column: int, starts: Any, buffers: Any, filled: Any
) -> tuple[int, int]:
    """Copy pairs from place `begin` on, each to the buffer of the interval that one of its two
    numbers is in: uint64[intervals, room, 2], of which int64[intervals] `filled` are used.

    Stops where a buffer is full. Returns the place that it came to, and the interval; at the end
    of the pairs the interval is -1.
    """
    for i in range(begin, pairs.shape[0]):
        number = pairs[i, column]
        low, high = 0, starts.size
        while high - low > 1:
            middle = (low + high) >> 1
            if starts[middle] <= number:
                low = middle
            else:
                high = middle
        at = filled[low]
        if at == buffers.shape[1]:
            return i, low
        buffers[low, at, 0] = pairs[i, 0]
        buffers[low, at, 1] = pairs[i, 1]
        filled[low] = at + 1
    return pairs.shape[0], -1


@kernel
def join_inside(pairs: Any, first: int, parent: Any, is_seen: Any, is_asked: Any) -> None:
    """Join pairs that lie in the interval from `first` on; note which of its numbers are in any,
    and which in one that is marked as asked for."""
    start = np.uint64(first)
    for i in range(pairs.shape[0]):
        small = pairs[i, 0] & NUMBER
        large = np.int64(pairs[i, 1] - start)
        is_seen[large] = True
        if pairs[i, 0] != small:
            is_asked[large] = True
        if small >= start:
            is_seen[small - start] = True
            union(parent, np.int64(small - start), large)


@kernel
def settle_roots(parent: Any, is_asked: Any) -> None:
    """Turn each parent into the root, in place, and mark the roots of what is asked for."""
    for i in range(parent.size):
        root = parent[parent[i]]  # a parent is smaller, so it has its root already
        parent[i] = root
        if is_asked[i]:
            is_asked[root] = True


@kernel
def lowest_outside(pairs: Any, first: int, root: Any, lowest: Any) -> None:
    """Lower `lowest` of each root to the smallest number before the interval that it meets."""
    start = np.uint64(first)
    for i in range(pairs.shape[0]):
        small = pairs[i, 0] & NUMBER
        if small < start:
            of = root[pairs[i, 1] - start]
            lowest[of] = min(lowest[of], small)


@kernel
def move_outside(pairs: Any, first: int, root: Any, is_asked: Any, lowest: Any, last: Any) -> Any:
    """Pairs of numbers before the interval that stand for those which lead out of it: each with
    the lowest that its root meets, and marked where the root is asked for. The lowest itself is in
    one with itself, once. `last` is the number that was moved last for each root, and tells of
    most that were moved before."""
    start = np.uint64(first)
    moved = np.empty_like(pairs)
    filled = 0
    for i in range(pairs.shape[0]):
        small = pairs[i, 0] & NUMBER
        if small < start:
            of = root[pairs[i, 1] - start]
            if last[of] == small or (small == lowest[of] and last[of] != NUMBER):
                continue
            last[of] = small
            moved[filled, 0] = lowest[of] | (ASKED if is_asked[of] else np.uint64(0))
            moved[filled, 1] = small
            filled += 1
    return moved[:filled]
