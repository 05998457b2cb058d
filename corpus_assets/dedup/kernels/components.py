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
def find(parent: Any, member: Any) -> Any:
    """Root of `member`; halves the path on the way."""
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = parent[member]
    return member


@kernel
def union(parent: Any, left: Any, right: Any) -> None:
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
def _by_chunk(keys: Any, members: Any) -> tuple[Any, Any, Any, Any]:
    """(keys, members) in order of their chunk, the end of each, and the size of the largest."""
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
    return chunk_keys, chunk_members, starts, largest  # starts moved on to the chunks' ends


@kernel
def _slots_for(count: int) -> int:
    slots = 2
    while slots < 2 * count:
        slots *= 2
    return slots


@kernel
def join_equal(keys: Any, members: Any, parent: Any) -> None:
    """Join members with equal keys."""
    keys, members, ends, largest = _by_chunk(keys, members)
    slot_keys = np.empty(_slots_for(largest), np.uint64)
    slot_members = np.empty(slot_keys.size, np.uint32)
    begin = np.int64(0)
    for chunk in range(_CHUNKS):
        end = ends[chunk]
        _join_chunk(keys[begin:end], members[begin:end], slot_keys, slot_members, parent)
        begin = end


@kernel
def _join_chunk(keys: Any, members: Any, slot_keys: Any, slot_members: Any, parent: Any) -> None:
    slots = _slots_for(keys.size)
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


# The same in pieces, for a window of any size (`dedup.exchange`). A *packed key* has 32 bits of a
# key, those behind the bits that its range is chosen by, above the number of a document in its
# group. Two keys of a range that differ only behind them are taken for equal: of two million, some
# hundreds. That makes a component larger and decides nothing.

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
PACKED_CHUNKS = _CHUNKS
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
    slots_at = np.empty(_slots_for(largest), np.int64)
    pairs = np.empty((keys.size, 2), np.uint64)
    filled = 0
    begin = 0
    for end in ends:
        slots = _slots_for(end - begin)
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
