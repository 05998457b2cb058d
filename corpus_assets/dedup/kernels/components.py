"""Connected components: everything that any match could join, from candidate keys alone.

A table of candidate keys has one for each row that has any; rows with equal keys are joined, unconfirmed.
Keys come part by part, so a table of any length is worked through in ranges of keys:

1. `take_kept` copies a range's rows that count from one part after another.
2. `join_equal` scatters them by 11 bits of the key into chunks that fit the cache, and finds
   equal keys in each chunk with a small hash table: two passes and one look-up a key.
3. When all tables are done, `number_batches` puts whole components into batches.

Members are uint32 numbers of rows, below 2^32 - 1. Memory: 4 bytes a row for the parents, 4
more while batches are numbered, 24 bytes a key of one range. Time is linear, a bucket of a
million included: it is one key of one hash table. Keys must be spread evenly (they are hashes).
"""

from typing import Any

import numpy as np

from corpus_assets.dedup.kernels.union_find import find, union
from textkernels.compiled import kernel
from textkernels.hashing import murmur64

RANGES = 256
"""Ranges that candidate keys are kept in, by their upper 8 bits."""

ALONE = np.uint32(0xFFFFFFFF)
"""The batch of a row that nothing could match."""

_RANGE_SHIFT = np.uint64(56)
_CHUNK_SHIFT = np.uint64(45)
CHUNKS = 1 << 11
_CHUNK_MASK = np.uint64(CHUNKS - 1)


@kernel
def id_keys(halves: Any) -> Any:
    """uint64 keys of 16-byte ids given as uint64[n, 2]."""
    keys = np.empty(halves.shape[0], np.uint64)
    for i in range(keys.size):
        keys[i] = murmur64(halves[i, 0] ^ murmur64(halves[i, 1]))
    return keys


@kernel
def by_range(keys: Any, rows: Any) -> tuple[Any, Any, Any]:
    """(keys, rows) in order of their range, stable, and the start of each: int64[RANGES + 1]."""
    starts = np.zeros(RANGES + 1, np.int64)
    for i in range(keys.size):
        starts[(keys[i] >> _RANGE_SHIFT) + np.uint64(1)] += 1
    for i in range(RANGES):
        starts[i + 1] += starts[i]
    places = starts[:-1].copy()
    sorted_keys = np.empty_like(keys)
    sorted_rows = np.empty_like(rows)
    for i in range(keys.size):
        at = places[keys[i] >> _RANGE_SHIFT]
        places[keys[i] >> _RANGE_SHIFT] = at + 1
        sorted_keys[at] = keys[i]
        sorted_rows[at] = rows[i]
    return sorted_keys, sorted_rows, starts


@kernel
def take_kept(
    keys: Any, rows: Any, first: int, kept: Any, to_keys: Any, to_members: Any, filled: int
) -> int:
    """Append what counts of a part's slice, from place `filled` on; return the next place.

    `rows` are of the part, which begins at row `first`; `kept` (bool, one a row) is of all.
    """
    for i in range(keys.size):
        member = first + np.int64(rows[i])
        to_keys[filled] = keys[i]
        to_members[filled] = member
        filled += kept[member]
    return filled


@kernel
def _by_chunk(keys: Any, members: Any) -> tuple[Any, Any, Any, Any]:
    """(keys, members) in order of their chunk, the end of each, and the size of the largest."""
    starts = np.zeros(CHUNKS + 1, np.int64)
    for i in range(keys.size):
        starts[((keys[i] >> _CHUNK_SHIFT) & _CHUNK_MASK) + np.uint64(1)] += 1
    largest = np.int64(1)
    for chunk in range(CHUNKS):
        largest = max(largest, starts[chunk + 1])
        starts[chunk + 1] += starts[chunk]
    chunk_keys = np.empty_like(keys)
    chunk_members = np.empty_like(members)
    for i in range(keys.size):
        chunk_of = (keys[i] >> _CHUNK_SHIFT) & _CHUNK_MASK
        at = starts[chunk_of]
        starts[chunk_of] = at + 1
        chunk_keys[at] = keys[i]
        chunk_members[at] = members[i]
    return chunk_keys, chunk_members, starts, largest  # starts moved on to the chunks' ends


@kernel
def slots_for(count: int) -> int:
    slots = 2
    while slots < 2 * count:
        slots *= 2
    return slots


@kernel
def join_equal(keys: Any, members: Any, parent: Any) -> None:
    """Join members with equal keys."""
    keys, members, ends, largest = _by_chunk(keys, members)
    slot_keys = np.empty(slots_for(largest), np.uint64)
    slot_members = np.empty(slot_keys.size, np.uint32)
    begin = np.int64(0)
    for chunk in range(CHUNKS):
        end = ends[chunk]
        _join_chunk(keys[begin:end], members[begin:end], slot_keys, slot_members, parent)
        begin = end


@kernel
def _join_chunk(keys: Any, members: Any, slot_keys: Any, slot_members: Any, parent: Any) -> None:
    slots = slots_for(keys.size)
    mask = np.uint64(slots - 1)
    slot_members[:slots] = ALONE
    for i in range(keys.size):
        key = keys[i]
        slot = key & mask
        while slot_members[slot] != ALONE and slot_keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if slot_members[slot] == ALONE:
            slot_keys[slot] = key
            slot_members[slot] = members[i]
        else:
            union(parent, slot_members[slot], members[i])


@kernel
def number_batches(parent: Any, max_rows: int) -> Any:
    """Turn parents (in place) into the batch of each row; return the rows of each batch, int64.

    Components of two and more go whole into batches of at most `max_rows` rows, in order of
    their first member; a larger component is a batch of its own. Other rows are ALONE.
    """
    sizes = np.zeros(parent.size, np.uint32)
    for member in range(parent.size):
        root = find(parent, member)
        parent[member] = root
        sizes[root] += np.uint32(1)
    counts = np.zeros(16, np.int64)
    batch = np.int64(-1)
    room = np.int64(0)
    for member in range(parent.size):
        root = parent[member]  # a root is the smallest member, so its batch is known by now
        if root != member:
            parent[member] = parent[root]
            continue
        size = np.int64(sizes[member])
        if size < 2:
            parent[member] = ALONE
            continue
        if size > room:
            batch += 1
            room = max(size, np.int64(max_rows))
            if batch == counts.size:
                counts = np.concatenate((counts, np.zeros_like(counts)))
        room = room - size if size <= max_rows else np.int64(0)
        counts[batch] += size
        parent[member] = np.uint32(batch)
    return counts[: batch + 1]
