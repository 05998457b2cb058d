"""MinHash signatures of word shingles, with the 32-bit affine permutation family `affine32`.

A shingle's 32-bit hash h is mixed once (MurmurHash3's finalizer) and each permutation k maps it
to a_k * h + b_k modulo 2^32 with a_k odd, a bijection, so permuting adds no collisions. The
family, its parameters and so the minima are those of datasketch 2.0 for equal hashes and seed.

Overflow: a * h + b is meant modulo 2^32. The product of two uint32 is formed in 64 bits, where
(2^32 - 1)^2 + 2^32 - 1 < 2^64 fits, and then cut to its low 32 bits. Counts are int64.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from corpus_assets.kernels.words import ngram_hash, power, roll, scan_words, word_room

_BLOCK = 512  # shingles gathered before the permutations run over them; 2 KB stays in cache


def affine32_permutations(
    count: int, seed: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Parameters (a odd, b) of `count` permutations; numpy's frozen legacy generator."""
    generator = np.random.RandomState(seed)
    half = generator.randint(0, 1 << 31, count, dtype=np.uint32)
    a = half * np.uint32(2) + np.uint32(1)
    b = generator.randint(0, 1 << 32, count, dtype=np.uint32)
    return a, b


@njit(cache=True)
def mix32(value: Any) -> Any:
    """MurmurHash3's 32-bit finalizer, a bijection on uint32."""
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x85EBCA6B))
    value = np.uint32(value ^ (value >> np.uint32(13)))
    value = np.uint32(value * np.uint32(0xC2B2AE35))
    return np.uint32(value ^ (value >> np.uint32(16)))


@njit(cache=True)
def lower_minima(mixed: Any, a: Any, b: Any, minima: Any) -> None:
    """Lower uint32[k] `minima` by the permuted values of uint32 `mixed` hashes, in place."""
    for k in range(minima.size):
        factor, shift, least = a[k], b[k], minima[k]
        for i in range(mixed.size):
            value = np.uint32(factor * mixed[i] + shift)
            least = min(least, value)
        minima[k] = least


@njit(cache=True)
def minhash_of_hashes(hashes: Any, a: Any, b: Any) -> Any:
    """Signature (uint32, one a permutation) of a set of uint32 hashes; all ones when empty."""
    minima = np.full(a.size, 0xFFFFFFFF, np.uint32)
    mixed = np.empty(hashes.size, np.uint32)
    for i in range(hashes.size):
        mixed[i] = mix32(hashes[i])
    lower_minima(mixed, a, b, minima)
    return minima


@njit(cache=True)
def minhash_texts(
    data: Any, offsets: Any, tables: Any, shingle_words: int, a: Any, b: Any
) -> tuple[Any, Any]:
    """Signatures uint32[texts, permutations] and shingle counts int64[texts], in one pass.

    A text with fewer words than a shingle has one shingle of all its words; one without words
    has none and keeps the signature of all ones. Cost: about 5 ns a byte, and a tenth of a
    nanosecond for each shingle and permutation. Memory beside the result: 8 bytes for each
    byte of the longest text.
    """
    n_texts = offsets.size - 1
    signatures = np.full((n_texts, a.size), 0xFFFFFFFF, np.uint32)
    counts = np.zeros(n_texts, np.int64)
    words, starts = word_room(offsets)
    weight = power(shingle_words)
    mixed = np.empty(_BLOCK, np.uint32)
    high = np.uint64(32)
    for text in range(n_texts):
        n_words = scan_words(data, offsets[text], offsets[text + 1], tables, words, starts)
        length = min(shingle_words, n_words)
        window = np.uint64(0)
        filled = 0
        for i in range(n_words):
            leaving = words[i - length] if i >= length else np.uint64(0)
            window = roll(window, words[i], leaving, weight)
            if i + 1 >= length:
                mixed[filled] = mix32(np.uint32(ngram_hash(window, length) >> high))
                filled += 1
                if filled == _BLOCK:
                    lower_minima(mixed, a, b, signatures[text])
                    filled = 0
        lower_minima(mixed[:filled], a, b, signatures[text])
        counts[text] = n_words - length + min(n_words, 1)
    return signatures, counts
