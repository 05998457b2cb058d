"""Keyed permutations of [0, n) by formula: no table, any n >= 1, invertible.

An alternating Feistel network over the ceil(log2 n) bits of an index: the low half is changed by
a keyed function of the high half, then the other way round, eight rounds in all. A result outside
[0, n) is put through again (cycle walking) until it falls inside; the network spans fewer than 2n
values, so this takes fewer than two walks on average. All arithmetic is uint64 and wraps on
purpose; n must be below 2^63. Not for secrets: it shuffles, it does not encrypt.

Everything works on whole arrays: some hundred operations of numpy a call, so one index costs a
tenth of a millisecond and each of ten thousand a fraction of a microsecond.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

ROUNDS = 8
GOLDEN = 0x9E3779B97F4A7C15
ROUND_KEYS = np.array([number * GOLDEN % 2**64 for number in range(ROUNDS)], np.uint64)
CHUNK = 1 << 13  # indices that are worked on at once, so that they stay in the processor's cache


def mix64(words: Words) -> Words:
    """Apply the finalizer of splitmix64, a bijection of 64-bit words, in place."""
    words ^= words >> 30
    words *= 0xBF58476D1CE4E5B9
    words ^= words >> 27
    words *= 0x94D049BB133111EB
    words ^= words >> 31
    return words


def derive(keys: Words, numbers: npt.NDArray[np.int64]) -> Words:
    """Return the keys of the sub-sequences `numbers` of `keys`."""
    mixed = mix64((numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
    mixed ^= keys
    return mix64(mixed)


def permute(
    indices: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], keys: Words
) -> npt.NDArray[np.int64]:
    """Return images of indices under the permutations of [0, sizes) that `keys` name: arrays of
    one shape, 1-d."""
    return _in_chunks(range(ROUNDS), indices, sizes, keys)


def unpermute(
    indices: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], keys: Words
) -> npt.NDArray[np.int64]:
    """Return the inverse of `permute`: the same rounds, last one first."""
    return _in_chunks(range(ROUNDS - 1, -1, -1), indices, sizes, keys)


def _in_chunks(
    rounds: Sequence[int],
    indices: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    keys: Words,
) -> npt.NDArray[np.int64]:
    out = np.empty(len(indices), np.int64)
    for first in range(0, len(indices), CHUNK):
        part = slice(first, first + CHUNK)
        out[part] = _walk(
            rounds, indices[part].astype(np.uint64), sizes[part].astype(np.uint64), keys[part]
        )
    return out


def _walk(rounds: Sequence[int], words: Words, sizes: Words, keys: Words) -> Words:
    """Send words through the network, those that fall outside again."""
    masks = _masks(sizes - np.uint64(1))
    low_bits = (np.bitwise_count(masks).astype(np.uint64) + np.uint64(1)) >> np.uint64(1)
    low_masks = (np.uint64(1) << low_bits) - np.uint64(1)
    high_masks = masks >> low_bits
    out, places = words, np.arange(len(words))
    while len(places):
        low, high = words & low_masks, words >> low_bits
        for number in rounds:
            changed = keys + ROUND_KEYS[number]
            if number & 1:
                changed ^= low
                high ^= mix64(changed) & high_masks
            else:
                changed ^= high
                low ^= mix64(changed) & low_masks
        words = (high << low_bits) | low
        out[places] = words
        again = np.flatnonzero(words >= sizes)
        places, words, sizes, keys = places[again], words[again], sizes[again], keys[again]
        low_bits, low_masks, high_masks = low_bits[again], low_masks[again], high_masks[again]
    return out


def _masks(words: Words) -> Words:
    """Return, for each word, all bits set up to its highest one."""
    for shift in (1, 2, 4, 8, 16, 32):
        words |= words >> np.uint64(shift)
    return words
