"""Words of a text, and rolling hashes over them.

What a word is, `characters` says. Hash arithmetic is uint64 and wraps modulo 2^64 on purpose;
positions and counts are int64.
"""

from typing import Any

import numpy as np

from corpus_assets.text.characters import IGNORED, MARK, OWN_WORD, SEPARATOR, WORD
from textkernels.byte_search import byte_kernel
from textkernels.bytes import above64, load64, zeros_below
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME, GOLDEN, murmur64
from textkernels.utf8 import decode, is_pair, is_triple, pair, triple

_BASE = GOLDEN  # odd, so no word's weight in an n-gram vanishes
_LENGTH_STEP = np.uint64(0xD6E8FEB86659FD93)
_SPACE = 0x20
_EACH = np.uint64(0x0101010101010101)  # a factor that puts a byte into all eight
_TOPS = np.uint64(0x80) * _EACH
_LOWS = np.uint64(0x7F) * _EACH
_CASE = np.uint64(0x20) * _EACH
_FROM_A, _BEYOND_Z = np.uint64(0x80 - 0x61) * _EACH, np.uint64(0x80 - 0x7B) * _EACH
_FROM_0, _BEYOND_9 = np.uint64(0x80 - 0x30) * _EACH, np.uint64(0x80 - 0x3A) * _EACH
_BYTE = np.uint64(0xFF)
_GATHER = np.uint64(0x0102040810204080)  # puts the lowest bits of eight bytes into the top one


@kernel
def word_room(offsets: Any) -> tuple[Any, Any]:
    """Buffers that `scan_words` can fill for any of the texts: 16 bytes for 2 bytes of text."""
    longest = 0
    for text in range(offsets.size - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    return np.empty(longest // 2 + 2, np.uint64), np.empty(longest // 2 + 2, np.int64)


@byte_kernel
def _no_letters(block: Any) -> Any:
    """Return the top bit of each of eight bytes that is no ASCII letter or digit.

    Sums stay inside of their bytes, since the top bits are taken off first.
    """
    low = block & _LOWS
    lower = low | _CASE
    letters = (lower + _FROM_A) & ~(lower + _BEYOND_Z)
    digits = (low + _FROM_0) & ~(low + _BEYOND_9)
    return (~(letters | digits) | block) & _TOPS


@byte_kernel
def _ends(data: Any, pos: Any, n_blocks: int) -> Any:
    """Return a bit for each byte from `pos` on that is no ASCII letter or digit; up to eight
    blocks."""
    if n_blocks == 8:
        return ~(
            (above64(data, pos, 0x60) & ~above64(data, pos, 0x7A))
            | (above64(data, pos, 0x40) & ~above64(data, pos, 0x5A))
            | (above64(data, pos, 0x2F) & ~above64(data, pos, 0x39))
        )
    found = np.uint64(0)
    for i in range(n_blocks):
        tops = _no_letters(load64(data, pos + 8 * i)) >> np.uint64(7)
        found |= ((tops * _GATHER) >> np.uint64(56)) << np.uint64(8 * i)
    return found


@byte_kernel
def _hash_ascii(data: Any, pos: Any, stop: Any) -> Any:
    """Return the hash of a word of ASCII letters and digits; eight bytes from its last eighth on
    are there. The hash after each byte is made and the last one picked, without a branch."""
    value = FNV_OFFSET
    while stop - pos > 8:
        block = load64(data, pos) | _CASE
        for i in range(8):
            value = (value ^ ((block >> np.uint64(8 * i)) & _BYTE)) * FNV_PRIME
        pos += 8
    block = load64(data, pos) | _CASE
    picked = value
    for i in range(8):
        value = (value ^ ((block >> np.uint64(8 * i)) & _BYTE)) * FNV_PRIME
        picked = value if i < stop - pos else picked
    return murmur64(picked)


@byte_kernel
def _any_word(
    data: Any, pos: Any, end: Any, classes: Any, folded: Any, hashes: Any, starts: Any, count: int
) -> tuple[Any, int]:
    """Write the word at `pos`, whatever it is made of; the place after its end, and the count."""
    start = pos
    value = FNV_OFFSET
    inside = 0
    while pos < end:
        code, width = np.int64(data[pos]), 1
        if is_pair(data, pos, end):
            code, width = pair(data, pos), 2
        elif is_triple(data, pos, end):
            code, width = triple(data, pos), 3
        elif code >= 0x80:
            code, width = decode(data, pos, end)
        kind = classes[code]
        if kind == WORD or (kind == MARK and inside):
            value = (value ^ np.uint64(folded[code])) * FNV_PRIME
            inside = 1
        if kind in (WORD, MARK, IGNORED):
            pos += width
            continue
        hashes[count] = murmur64(value)
        starts[count] = start
        count += inside
        if kind == OWN_WORD:
            hashes[count] = murmur64((FNV_OFFSET ^ np.uint64(folded[code])) * FNV_PRIME)
            starts[count] = pos
            count += 1
        return pos + width, count
    if inside:
        hashes[count] = murmur64(value)
        starts[count] = start
        count += 1
    return pos, count


@byte_kernel
def scan_words(data: Any, pos: Any, end: Any, tables: Any, hashes: Any, starts: Any) -> int:
    """Write the hash (uint64) and start (int64) of each word of data[pos:end]; return how many.

    The hash is FNV-1a over folded code points, then `murmur64`. Outputs from `word_room`: a word
    takes two bytes at least, its end included, and one place is written ahead. Invisible
    characters may stand between a start and its word.

    Nearly all words are ASCII. Their ends are found 64 bytes at a time, so that the next word can
    be begun before the last one is hashed.
    """
    classes, folded = tables.classes, tables.folded
    count = 0
    start = pos  # of the word that is looked at; all before `pos` is letters
    while start < end:
        n_blocks = min((end - pos) >> 3, 8)
        if data[start] >= 0x80 or n_blocks == 0:
            start, count = _any_word(data, start, end, classes, folded, hashes, starts, count)
            pos = start
            continue
        ends = _ends(data, pos, n_blocks)
        following = pos + 8 * n_blocks
        while ends:
            stop = pos + np.int64(zeros_below(ends))
            if data[stop] >= 0x80 or stop + 8 > data.size:
                start, count = _any_word(data, start, end, classes, folded, hashes, starts, count)
                following = start
                break
            hashes[count] = _hash_ascii(data, start, stop)
            starts[count] = start
            count += stop > start
            start = stop + 1
            ends &= ends - np.uint64(1)
        pos = following
    return count


@kernel
def next_word(data: Any, pos: Any, end: Any, tables: Any) -> tuple[Any, Any]:
    """(start, stop) of the first word at or after `pos`, equal when there is none.

    For spelling words out; `scan_words` finds the same words, and faster.
    """
    start: Any = np.int64(-1)
    while pos < end:
        code, width = decode(data, pos, end)
        kind = tables.classes[code]
        if start < 0:
            if kind == OWN_WORD:
                return pos, pos + width
            if kind == WORD:
                start = pos
        elif kind in (SEPARATOR, OWN_WORD):
            break
        pos += width
    if start < 0:
        return end, end
    return start, pos


@kernel
def power(length: int) -> Any:
    """Return the weight (uint64) that a word has when it leaves a rolling window of `length` words."""
    value = np.uint64(1)
    for _ in range(length):
        value *= _BASE
    return value


@kernel
def roll(window: Any, entering: Any, leaving: Any, weight: Any) -> Any:
    """Move a polynomial hash (uint64, modulo 2^64) on by a word; `leaving` is 0 at first."""
    return window * _BASE + entering - leaving * weight


@kernel
def ngram_hash(window: Any, length: int) -> Any:
    """Spread a rolling hash over all 64 bits, apart for n-grams of different lengths."""
    return murmur64(window + np.uint64(length) * _LENGTH_STEP)


@kernel
def spell_words(data: Any, offsets: Any, tables: Any) -> tuple[Any, Any, Any]:
    """Normalised texts: words in folded code points, a space between two words.

    Returns code points (uint32), the start of each word in them (int64), and for each text
    the number of its first word (int64, one more than texts). A text of b bytes gives at most
    2 b code points.
    """
    n_texts = offsets.size - 1
    size = offsets[n_texts] - offsets[0]
    codes = np.empty(2 * size, np.uint32)
    starts = np.empty(size + 1, np.int64)
    firsts = np.zeros(n_texts + 1, np.int64)
    filled = 0
    n_words = 0
    for text in range(n_texts):
        pos, end = offsets[text], offsets[text + 1]
        while True:
            start, stop = next_word(data, pos, end, tables)
            if start == stop:
                break
            if n_words > firsts[text]:
                codes[filled] = _SPACE
                filled += 1
            starts[n_words] = filled
            n_words += 1
            pos = start
            while pos < stop:
                code, width = decode(data, pos, stop)
                if tables.classes[code] != IGNORED:
                    codes[filled] = tables.folded[code]
                    filled += 1
                pos += width
        firsts[text + 1] = n_words
    starts[n_words] = filled
    return codes[:filled], starts[: n_words + 1], firsts
