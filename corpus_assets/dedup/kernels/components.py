"""Union-find over int64 parents, where a component's root is always its smallest member.

So the roots say nothing of the order in which edges came. Path halving keeps a search short
(amortised O(log n)); memory is the one array of parents. Indices are below 2^63, no arithmetic
is done on them, so nothing can overflow.
"""

from typing import Any

import numpy as np

from corpus_assets.text.compiled import kernel
from corpus_assets.text.hashing import murmur64


@kernel
def find(parent: Any, member: int) -> int:
    """Root of `member`; halves the path on the way."""
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = parent[member]
    return member


@kernel
def union(parent: Any, left: int, right: int) -> None:
    """Join two components under the smaller root."""
    left, right = find(parent, left), find(parent, right)
    if left < right:
        parent[right] = left
    elif right < left:
        parent[left] = right


@kernel
def roots(parent: Any) -> Any:
    """int64 root of every member."""
    found = np.empty_like(parent)
    for member in range(parent.size):
        found[member] = find(parent, member)
    return found


@kernel
def union_equal(parent: Any, codes: Any, n_codes: int, kinds: Any, kind: int) -> None:
    """Join members with equal codes (int64 below `n_codes`; negative: no match), in linear time.

    `kinds` (uint8, one a member) is lowered to `kind` for every member that has a partner.
    """
    first = np.full(n_codes, -1, np.int64)
    for member in range(codes.size):
        code = codes[member]
        if code < 0:
            continue
        if first[code] < 0:
            first[code] = member
            continue
        union(parent, first[code], member)
        kinds[first[code]] = min(kinds[first[code]], kind)
        kinds[member] = min(kinds[member], kind)


# Connected components: everything that any match could join, from candidate keys alone.
#
# A table of candidate keys has one for each row that has any; rows with equal keys are joined, unconfirmed.
# Keys come part by part, so a table of any length is worked through in ranges of keys:
#
# 1. `take_kept` copies a range's rows that count from one part after another.
# 2. `join_equal` scatters them by 11 bits of the key into chunks that fit the cache, and finds
#    equal keys in each chunk with a small hash table: two passes and one look-up a key.
# 3. When all tables are done, `number_batches` puts whole components into batches.
#
# Members are uint32 numbers of rows, below 2^32 - 1. Memory: 4 bytes a row for the parents, 4
# more while batches are numbered, 24 bytes a key of one range. Time is linear, a bucket of a
# million included: it is one key of one hash table. Keys must be spread evenly (they are hashes).

RANGES = 256
"""Ranges that candidate keys are kept in, by their upper 8 bits."""

ALONE = np.uint32(0xFFFFFFFF)
"""The batch of a row that nothing could match."""

_RANGE_SHIFT = np.uint64(56)
_CHUNK_SHIFT = np.uint64(45)
_CHUNKS = 1 << 11
_CHUNK_MASK = np.uint64(_CHUNKS - 1)


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
def join_equal(keys: Any, members: Any, parent: Any) -> None:
    """Join members with equal keys."""
    starts = np.zeros(_CHUNKS + 1, np.int64)
    for i in range(keys.size):
        starts[((keys[i] >> _CHUNK_SHIFT) & _CHUNK_MASK) + np.uint64(1)] += 1
    largest = np.int64(1)
    for chunk in range(_CHUNKS):
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
    slots = 2
    while slots < 2 * largest:
        slots *= 2
    slot_keys = np.empty(slots, np.uint64)
    slot_members = np.empty(slots, np.uint32)
    begin = np.int64(0)
    for chunk in range(_CHUNKS):
        end = starts[chunk]  # moved on to the chunk's end by the scattering above
        _join_chunk(
            chunk_keys[begin:end], chunk_members[begin:end], slot_keys, slot_members, parent
        )
        begin = end


@kernel
def _join_chunk(keys: Any, members: Any, slot_keys: Any, slot_members: Any, parent: Any) -> None:
    slots = 2
    while slots < 2 * keys.size:
        slots *= 2
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
