"""Connected components in pieces, for a window of any size (`dedup.exchange`).

A *packed key* has 32 bits of a key, those behind the bits that its range is chosen by, above the
number of a document in its group. Two keys of a range that differ only behind them are taken for
equal: of two million, some hundreds. That makes a component larger and decides nothing.
"""

from typing import Any

import numpy as np

from corpus_assets.dedup.kernels.components import CHUNKS, slots_for
from corpus_assets.dedup.kernels.union_find import find, union
from textkernels.compiled import kernel

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
def equal_pairs(keys: Any, members: Any, ends: Any) -> Any:
    """uint64[pairs, 2]: the first document with a key, and each other one with it, from the keys of
    one chunk after the other and the end of each."""
    largest = begin = 0
    for end in ends:
        largest, begin = max(largest, end - begin), end
    slots_at = np.empty(slots_for(largest), np.int64)
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
            else:
                pairs[filled, 0] = members[slots_at[slot]]
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
def join_inside(pairs: Any, first: int, parent: Any, is_seen: Any) -> None:
    """Join pairs that lie in the interval from `first` on; note which of its numbers are in any."""
    start = np.uint64(first)
    for i in range(pairs.shape[0]):
        large = np.int64(pairs[i, 1] - start)
        is_seen[large] = True
        if pairs[i, 0] >= start:
            small = np.int64(pairs[i, 0] - start)
            is_seen[small] = True
            union(parent, small, large)


@kernel
def lowest_outside(pairs: Any, first: int, parent: Any, lowest: Any) -> None:
    """Lower `lowest` of each root to the smallest number before the interval that it meets."""
    start = np.uint64(first)
    for i in range(pairs.shape[0]):
        if pairs[i, 0] < start:
            root = find(parent, np.int64(pairs[i, 1] - start))
            lowest[root] = min(lowest[root], pairs[i, 0])


@kernel
def move_outside(pairs: Any, first: int, parent: Any, lowest: Any) -> Any:
    """Pairs of numbers before the interval that stand for those which lead out of it: each with
    the lowest that its root meets, the lowest itself with itself."""
    start = np.uint64(first)
    moved = np.empty_like(pairs)
    filled = 0
    for i in range(pairs.shape[0]):
        if pairs[i, 0] < start:
            root = find(parent, np.int64(pairs[i, 1] - start))
            moved[filled, 0] = lowest[root]
            moved[filled, 1] = pairs[i, 0]
            filled += 1
    return moved[:filled]
