"""Keyed permutations of [0, n) by formula: no table, any n >= 1, invertible.

An alternating Feistel network over the ceil(log2 n) bits of an index: the low half is changed by
a keyed function of the high half, then the other way round, eight rounds in all. A result outside
[0, n) is put through again (cycle walking) until it falls inside; the network spans fewer than 2n
values, so this takes fewer than two walks on average. All arithmetic is uint64 and wraps on
purpose; n must be below 2^63. Not for secrets: it shuffles, it does not encrypt.
"""

from typing import Any

import numpy as np

from textkernels.compiled import kernel
from textkernels.hashing import GOLDEN, splitmix64

ROUNDS = 8

_ONE = np.uint64(1)


@kernel
def derive(key: np.uint64, number: np.uint64) -> np.uint64:
    """Return the key of sub-sequence `number` of `key`."""
    derived: np.uint64 = splitmix64(key ^ splitmix64((number + _ONE) * GOLDEN))
    return derived


@kernel
def _bits(size: np.uint64) -> np.uint64:
    bits = np.uint64(0)
    rest = size - _ONE
    while rest > np.uint64(0):
        bits += _ONE
        rest >>= _ONE
    return bits


@kernel
def permute(index: np.uint64, size: np.uint64, key: np.uint64) -> np.uint64:
    """Image of `index` under the permutation of [0, size) that `key` names."""
    bits = _bits(size)
    low_bits = (bits + _ONE) >> _ONE
    low_mask = (_ONE << low_bits) - _ONE
    high_mask = (_ONE << (bits - low_bits)) - _ONE
    while True:
        low, high = index & low_mask, index >> low_bits
        for number in range(ROUNDS):
            round_key = key + np.uint64(number) * GOLDEN
            if number & 1:
                high ^= splitmix64(round_key ^ low) & high_mask
            else:
                low ^= splitmix64(round_key ^ high) & low_mask
        index = (high << low_bits) | low
        if index < size:
            return index


@kernel
def unpermute(index: np.uint64, size: np.uint64, key: np.uint64) -> np.uint64:
    """Return the inverse of `permute`: the same walk backwards."""
    bits = _bits(size)
    low_bits = (bits + _ONE) >> _ONE
    low_mask = (_ONE << low_bits) - _ONE
    high_mask = (_ONE << (bits - low_bits)) - _ONE
    while True:
        low, high = index & low_mask, index >> low_bits
        for back in range(ROUNDS):
            number = ROUNDS - 1 - back
            round_key = key + np.uint64(number) * GOLDEN
            if number & 1:
                high ^= splitmix64(round_key ^ low) & high_mask
            else:
                low ^= splitmix64(round_key ^ high) & low_mask
        index = (high << low_bits) | low
        if index < size:
            return index


@kernel
def unpermute_many(indices: Any, sizes: Any, keys: Any, numbers: Any) -> Any:
    """Element-wise `unpermute(indices, sizes, derive(keys, numbers))`: int64, 1-d; `keys` uint64."""
    out = np.empty(len(indices), dtype=np.int64)
    for at in range(len(indices)):
        key = derive(keys[at], np.uint64(numbers[at]))
        out[at] = np.int64(unpermute(np.uint64(indices[at]), np.uint64(sizes[at]), key))
    return out
