"""Buckets of equal keys, the star of pairs inside each, and how alike two sketches are.

Keys are grouped by a stable radix sort of their upper 32 bits (three passes of 11 bits); the
rare runs that agree there by chance are sorted by the lower half too. Time is linear in the
number of members whatever the bucket sizes: a bucket of a million has a million pairs a round.
Hashes are uint64 and wrap on purpose; histogram counts are int64; members are of any integer
type.
"""

from typing import Any

import numpy as np

from corpus_assets.dedup.kernels.union_find import union
from textkernels.compiled import kernel
from textkernels.hashing import GOLDEN, murmur64

_DIGIT_BITS = 11
_DIGIT_MASK = np.uint64((1 << _DIGIT_BITS) - 1)
_LOW_7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_SUM = np.uint64(0x0001000100010001)
_SEVEN, _EIGHT, _TOP = np.uint64(7), np.uint64(8), np.uint64(48)


@kernel
def band_keys(signatures: Any, bands: int, rows_per_band: int) -> Any:
    """uint64[n, bands] hash of each band of uint32[n, bands * rows_per_band] `signatures`."""
    keys = np.empty((signatures.shape[0], bands), np.uint64)
    for row in range(signatures.shape[0]):
        for band in range(bands):
            key = np.uint64(band + 1) * GOLDEN
            first = band * rows_per_band
            for k in range(first, first + rows_per_band):
                key = (key ^ np.uint64(signatures[row, k])) * GOLDEN
            keys[row, band] = murmur64(key)
    return keys


@kernel
def sort_digits(keys: Any, members: Any, low_bit: int, high_bit: int) -> tuple[Any, Any]:
    """Stable radix sort of (uint64 key, member) by the key's bits [low_bit, high_bit)."""
    n = keys.size
    other_keys = np.empty_like(keys)
    other_members = np.empty_like(members)
    places = np.empty(1 << _DIGIT_BITS, np.int64)
    for bit in range(low_bit, high_bit, _DIGIT_BITS):
        shift = np.uint64(bit)
        places[:] = 0
        for i in range(n):
            places[(keys[i] >> shift) & _DIGIT_MASK] += 1
        total = 0
        for digit in range(places.size):
            count = places[digit]
            places[digit] = total
            total += count
        for i in range(n):
            digit_of = (keys[i] >> shift) & _DIGIT_MASK
            at = places[digit_of]
            places[digit_of] = at + 1
            other_keys[at] = keys[i]
            other_members[at] = members[i]
        keys, other_keys = other_keys, keys
        members, other_members = other_members, members
    return keys, members


@kernel
def group(keys: Any, members: Any) -> tuple[Any, Any]:
    """Reorder copies of (keys, members) so that equal keys are neighbours, in stable order."""
    keys, members = sort_digits(keys.copy(), members.copy(), 32, 64)
    half = np.uint64(32)
    start = 0
    while start < keys.size:
        stop = start + 1
        is_mixed = False
        while stop < keys.size and keys[stop] >> half == keys[start] >> half:
            is_mixed = is_mixed or keys[stop] != keys[start]
            stop += 1
        if is_mixed:
            run = sort_digits(keys[start:stop].copy(), members[start:stop].copy(), 0, 32)
            keys[start:stop] = run[0]
            members[start:stop] = run[1]
        start = stop
    return keys, members


@kernel
def star_pairs(keys: Any, members: Any) -> tuple[Any, Any, Any]:
    """(key, centre, member) of every member that is not the first of its bucket.

    `keys` and `members` come from `group`; a bucket's first member is its centre.
    """
    count = 0
    for i in range(1, keys.size):
        count += keys[i] == keys[i - 1]
    pair_keys = np.empty(count, np.uint64)
    centres = np.empty(count, members.dtype)
    others = np.empty(count, members.dtype)
    filled = 0
    centre = 0
    for i in range(1, keys.size):
        if keys[i] == keys[i - 1]:
            pair_keys[filled] = keys[i]
            centres[filled] = members[centre]
            others[filled] = members[i]
            filled += 1
        else:
            centre = i
    return pair_keys, centres, others


@kernel
def compare_sketches(sketches: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """For pairs of rows of uint64[n, words], eight bins a word: equal bins, and bins not empty.

    Both int32, one a pair: bins with the same byte other than 0, and bins in which one of the
    two has a byte other than 0. Eight bytes at a time: the top bit of (x & 0x7F) + 0x7F | x is
    set exactly where the byte x is not 0. Each byte of a sum counts one place in every word, so
    there may be 255 words at most.
    """
    equal = np.empty(left.size, np.int32)
    used = np.empty(left.size, np.int32)
    words = sketches.shape[1]
    for i in range(left.size):
        row, other = left[i], right[i]
        sum_equal = np.uint64(0)
        sum_used = np.uint64(0)
        for k in range(words):
            x, y = sketches[row, k], sketches[other, k]
            differ, either = x ^ y, x | y
            differs = ((((differ & _LOW_7) + _LOW_7) | differ) >> _SEVEN) & _ONES
            is_used = ((((either & _LOW_7) + _LOW_7) | either) >> _SEVEN) & _ONES
            sum_used += is_used
            sum_equal += is_used & ~differs
        equal[i] = _sum_bytes(sum_equal)
        used[i] = _sum_bytes(sum_used)
    return equal, used


@kernel
def _sum_bytes(value: Any) -> Any:
    pairs = (value & _EVEN_BYTES) + ((value >> _EIGHT) & _EVEN_BYTES)
    return np.int64((pairs * _SUM) >> _TOP)


@kernel
def settle(
    keys: Any,
    centres: Any,
    members: Any,
    similarities: Any,
    min_similarity: float,
    parent: Any,
    best: Any,
) -> tuple[Any, Any]:
    """Join the pairs that are alike enough; return (keys, members) of those that are not.

    `best` (float32, one a member) keeps the highest confirmed similarity of either end.
    """
    left = 0
    left_keys = np.empty_like(keys)
    left_members = np.empty_like(members)
    for i in range(keys.size):
        centre, member, similarity = centres[i], members[i], similarities[i]
        if similarity >= min_similarity:
            union(parent, centre, member)
            best[centre] = max(best[centre], similarity)
            best[member] = max(best[member], similarity)
        else:
            left_keys[left] = keys[i]
            left_members[left] = member
            left += 1
    return left_keys[:left], left_members[:left]
