"""Buckets of equal band hashes, and the confirmed star edges inside them.

Keys are grouped by a stable radix sort of their upper 32 bits (three passes of 11 bits); the
rare runs that agree there by chance are sorted by the lower half too. Time is linear in the
number of members whatever the bucket sizes: a bucket of a million costs `max_rounds` million
comparisons at most. Memory: 32 bytes a member. Hashes are uint64 and wrap on purpose; indices
and histogram counts are int64.
"""

from typing import Any

import numpy as np
from numba import njit

from corpus_assets.kernels.unionfind import union
from corpus_assets.kernels.words import mix64

_DIGIT_BITS = 11
_DIGIT_MASK = np.uint64((1 << _DIGIT_BITS) - 1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def band_keys(signatures: Any, members: Any, band: int, rows_per_band: int) -> Any:
    """uint64 hash of one band of uint32[n, permutations] `signatures`, for the given members."""
    keys = np.empty(members.size, np.uint64)
    first = band * rows_per_band
    for i in range(members.size):
        member = members[i]
        key = np.uint64(band + 1) * _GOLDEN
        for k in range(first, first + rows_per_band):
            key = (key ^ np.uint64(signatures[member, k])) * _GOLDEN
        keys[i] = mix64(key)
    return keys


@njit(cache=True)
def sort_digits(keys: Any, members: Any, low_bit: int, high_bit: int) -> tuple[Any, Any]:
    """Stable radix sort of (uint64 key, int64 member) by the key's bits [low_bit, high_bit)."""
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


@njit(cache=True)
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


@njit(cache=True)
def agreement(signatures: Any, left: int, right: int) -> int:
    """Number of permutations in which two rows of uint32[n, permutations] agree."""
    count = 0
    for k in range(signatures.shape[1]):
        count += signatures[left, k] == signatures[right, k]
    return count


@njit(cache=True)
def tie_buckets(
    keys: Any,
    members: Any,
    signatures: Any,
    min_agreement: int,
    max_rounds: int,
    parent: Any,
    best: Any,
) -> None:
    """Join members of each bucket that its centres confirm.

    `keys` and `members` come from `group`, members ascending inside a bucket (`members` is
    used up). In each round the smallest member left is the centre; who agrees with it in at
    least `min_agreement` permutations is joined to it and leaves; the rest go to the next
    round. `best` (int32, one a member) keeps the highest confirmed agreement of either end.
    A member is the number of its row in `signatures`.
    """
    start = 0
    while start < keys.size:
        stop = start + 1
        while stop < keys.size and keys[stop] == keys[start]:
            stop += 1
        size = stop - start
        for _ in range(max_rounds):
            if size < 2:
                break
            centre = members[start]
            left = start
            for i in range(start + 1, start + size):
                member = members[i]
                agreed = agreement(signatures, centre, member)
                if agreed >= min_agreement:
                    union(parent, centre, member)
                    best[centre] = max(best[centre], agreed)
                    best[member] = max(best[member], agreed)
                else:
                    members[left] = member
                    left += 1
            size = left - start
        start = stop
