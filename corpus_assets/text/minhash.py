"""MinHash signatures and confirmation sketches of shingles, in one pass over a batch.

Signatures use the 32-bit affine permutation family `affine32`.

A shingle's 32-bit hash h is mixed once (MurmurHash3's finalizer) and each permutation k maps it
to a_k * h + b_k modulo 2^32 with a_k odd, a bijection, so permuting adds no collisions. The
family, its parameters and so the minima are those of datasketch 2.0 for equal hashes and seed.

Overflow: a * h + b is meant modulo 2^32. The product of two uint32 is formed in 64 bits, where
(2^32 - 1)^2 + 2^32 - 1 < 2^64 fits, and then cut to its low 32 bits. Counts are int64.

A sketch is one permutation hashing (Li, Owen and Zhang 2012): a shingle's 64-bit hash names one
of 512 bins by its upper 9 bits, each bin keeps the smallest of the other 55 bits, and of that
one byte is stored, 1 to 255, or 0 for a bin that no shingle fell into. For two texts, the share
of bins with the same byte among bins that are not empty in both estimates the Jaccard
similarity without bias, once the 1 in 255 that agree by chance are taken off. One hash a
shingle instead of one a permutation, so 512 bins cost less than 10 permutations, and the
standard error is that of 512 permutations (0.019 at 0.75) or smaller: where a text has fewer
shingles than bins, nearly all of them are in its sketch.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.text.characters import IGNORED
from corpus_assets.text.words import ngram_hash, power, roll, scan_words, word_room
from textkernels.byte_search import byte_kernel
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, murmur64
from textkernels.utf8 import decode

BINS = 512
"""Bins, and so bytes, of a sketch."""

_BLOCK = 512  # shingles gathered before the permutations run over them; 2 KB stays in cache
_BIN_SHIFT = np.uint64(55)  # 64 - log2(BINS)
_BELOW = np.uint64((1 << 55) - 1)
_NO_SHINGLE = np.uint64(1 << 63)  # above every value that a bin can hold
_BYTES = np.uint64(255)
_ONE = np.uint64(1)


def affine32_permutations(
    count: int, seed: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Parameters (a odd, b) of `count` permutations; numpy's frozen legacy generator."""
    generator = np.random.RandomState(seed)
    half = generator.randint(0, 1 << 31, count, dtype=np.uint32)
    a = half * np.uint32(2) + np.uint32(1)
    b = generator.randint(0, 1 << 32, count, dtype=np.uint32)
    return a, b


@kernel
def mix32(value: Any) -> Any:
    """MurmurHash3's 32-bit finalizer, a bijection on uint32."""
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x85EBCA6B))
    value = np.uint32(value ^ (value >> np.uint32(13)))
    value = np.uint32(value * np.uint32(0xC2B2AE35))
    return np.uint32(value ^ (value >> np.uint32(16)))


@kernel
def lower_minima(mixed: Any, a: Any, b: Any, minima: Any) -> None:
    """Lower uint32[k] `minima` by the permuted values of uint32 `mixed` hashes, in place."""
    for k in range(minima.size):
        factor, shift, least = a[k], b[k], minima[k]
        for i in range(mixed.size):
            value = np.uint32(factor * mixed[i] + shift)
            least = min(least, value)
        minima[k] = least


@kernel
def lower_bins(hashes: Any, bins: Any) -> None:
    """Lower uint64[BINS] `bins` by uint64 shingle hashes, in place."""
    for i in range(hashes.size):
        value = hashes[i]
        place = value >> _BIN_SHIFT
        bins[place] = min(bins[place], value & _BELOW)


@kernel
def store_bins(bins: Any, sketch: Any) -> None:
    """Write the byte of each bin to uint8[BINS] `sketch` and empty the bins."""
    for place in range(bins.size):
        if bins[place] < _NO_SHINGLE:
            sketch[place] = np.uint8(bins[place] % _BYTES + _ONE)
            bins[place] = _NO_SHINGLE


@byte_kernel
def scan_characters(data: Any, pos: Any, end: Any, tables: Any, hashes: Any) -> int:
    """Write the hash (uint64) of each character of data[pos:end], folded; return how many.

    Spaces and punctuation are characters too, invisible characters are not. A character has the
    hash of a word that is this character alone.
    """
    count = 0
    while pos < end:
        code, width = decode(data, pos, end)
        pos += width
        if tables.classes[code] != IGNORED:
            folded = np.uint64(tables.folded[code])
            hashes[count] = murmur64((FNV_OFFSET ^ folded) * FNV_PRIME)
            count += 1
    return count


@kernel
def _sign(
    data: Any,
    offsets: Any,
    tables: Any,
    shingle_words: int,
    a: Any,
    b: Any,
    signatures: Any,
    sketches: Any,
    by_character: bool,
) -> Any:
    """Fill signatures and, where there is room for them, sketches; return shingle counts."""
    n_texts = offsets.size - 1
    counts = np.zeros(n_texts, np.int64)
    words, starts = word_room(offsets)
    if by_character:
        words = np.empty(2 * words.size, np.uint64)
    weight = power(shingle_words)
    hashes = np.empty(_BLOCK, np.uint64)
    mixed = np.empty(_BLOCK, np.uint32)
    bins = np.full(BINS, _NO_SHINGLE, np.uint64)
    is_sketched = sketches.shape[0] > 0
    high = np.uint64(32)
    for text in range(n_texts):
        if by_character:
            n_words = scan_characters(data, offsets[text], offsets[text + 1], tables, words)
        else:
            n_words = scan_words(data, offsets[text], offsets[text + 1], tables, words, starts)
        length = min(shingle_words, n_words)
        window = np.uint64(0)
        filled = 0
        for i in range(n_words):
            leaving = words[i - length] if i >= length else np.uint64(0)
            window = roll(window, words[i], leaving, weight)
            if i + 1 >= length:
                value = ngram_hash(window, length)
                hashes[filled] = value
                mixed[filled] = mix32(np.uint32(value >> high))
                filled += 1
                if filled == _BLOCK or i + 1 == n_words:
                    lower_minima(mixed[:filled], a, b, signatures[text])
                    if is_sketched:
                        lower_bins(hashes[:filled], bins)
                    filled = 0
        if is_sketched:
            store_bins(bins, sketches[text])
        counts[text] = n_words - length + min(n_words, 1)
    return counts


@kernel
def minhash_texts(
    data: Any, offsets: Any, tables: Any, shingle_words: int, a: Any, b: Any
) -> tuple[Any, Any]:
    """Signatures uint32[texts, permutations] and shingle counts int64[texts], in one pass.

    A text with fewer words than a shingle has one shingle of all its words; one without words
    has none and keeps the signature of all ones. Cost: about 5 ns a byte, and a tenth of a
    nanosecond for each shingle and permutation. Memory beside the result: 8 bytes for each
    byte of the longest text.
    """
    signatures = np.full((offsets.size - 1, a.size), 0xFFFFFFFF, np.uint32)
    none = np.empty((0, BINS), np.uint8)
    counts = _sign(data, offsets, tables, shingle_words, a, b, signatures, none, False)
    return signatures, counts


@kernel
def sign_texts(
    data: Any, offsets: Any, tables: Any, length: int, a: Any, b: Any, by_character: bool
) -> tuple[Any, Any, Any]:
    """As `minhash_texts`, and sketches uint8[texts, BINS] between: all zero without words.

    Shingles are of `length` words, or of as many characters.
    """
    signatures = np.full((offsets.size - 1, a.size), 0xFFFFFFFF, np.uint32)
    sketches = np.zeros((offsets.size - 1, BINS), np.uint8)
    counts = _sign(data, offsets, tables, length, a, b, signatures, sketches, by_character)
    return signatures, sketches, counts
