"""How far two texts of a page agree, in thousandths: F1 over words, each as often as it stands."""

from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.page_chars import code_point, is_word
from corpus_assets.text.bytes import byte_kernel
from corpus_assets.text.hashing import FNV_OFFSET, FNV_PRIME

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

SCALE = 1000


def agreement(one: bytes, other: bytes) -> int:
    """Return 0 (no word in common) to 1000 (the same words) for two texts in UTF-8; two texts
    without words agree. Words are runs of letters and digits as they are written, characters in
    scripts without spaces; they are told apart by 64-bit hashes. Linear in the texts."""
    slots = 16
    while slots < 2 * len(one):  # a word has a byte or more
        slots *= 2
    shared, total = _shared(
        np.frombuffer(one, dtype=np.uint8),
        np.frombuffer(other, dtype=np.uint8),
        np.zeros(slots, dtype=np.uint64),
        np.zeros(slots, dtype=np.int64),
    )
    return 2 * SCALE * shared // total if total else SCALE


@byte_kernel
def _next_word(text: Bytes, at: int) -> tuple[int, Any]:
    """Place after the next word from `at` on and its hash, never 0; 0 where there is none."""
    n = len(text)
    value, length = FNV_OFFSET, 0
    while at < n:
        code, after = code_point(text, at)
        is_alone = 0x2E80 <= code < 0xAC00 or 0xF900 <= code < 0xFB00 or 0xE00 <= code < 0xF00
        if not is_word(code) or (is_alone and length):
            if length:
                break
        else:
            value = (value ^ np.uint64(code)) * FNV_PRIME
            length += 1
        at = after
        if is_alone and length:
            break
    return at, (value | np.uint64(1) if length else np.uint64(0))


@byte_kernel
def _slot(keys: Words, value: Any) -> Any:
    """Place of a hash in an open table, or the free one where it belongs."""
    mask = np.uint64(len(keys) - 1)
    slot = (value ^ (value >> np.uint64(29))) & mask
    while keys[slot] != 0 and keys[slot] != value:
        slot = (slot + np.uint64(1)) & mask
    return slot


@byte_kernel
def _shared(one: Bytes, other: Bytes, keys: Words, counts: Counts) -> tuple[int, int]:
    """Words that both have, and words of both; `keys` has room for twice the words of `one`."""
    total = shared = 0
    at = 0
    while at < len(one):
        at, value = _next_word(one, at)
        if value == 0:
            break
        total += 1
        slot = _slot(keys, value)
        keys[slot] = value
        counts[slot] += 1
    at = 0
    while at < len(other):
        at, value = _next_word(other, at)
        if value == 0:
            break
        total += 1
        slot = _slot(keys, value)
        if keys[slot] == value and counts[slot] > 0:
            counts[slot] -= 1
            shared += 1
    return shared, total
