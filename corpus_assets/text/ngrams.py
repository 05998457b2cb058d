"""Search for known n-grams of words in a batch of texts, confirmed word by word.

The way of one word of a text: a rolling hash for each number of words that is hashed, one bit of
a small bitmap (which turns away nearly everything), a slot of an open-addressing table, and only
then the comparison of the words themselves. A hash collision costs time and never counts. Texts
shorter than an n-gram are hashed by their first words and compared whole, so that all of their
lengths together cost one more rolling hash.

Hashes are uint64 modulo 2^64 on purpose; positions, gram numbers and counts are int64.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.text.characters import IGNORED, MARK, OWN_WORD, SEPARATOR, WORD
from corpus_assets.text.words import ngram_hash, power, roll, scan_words, word_room
from textkernels.compiled import kernel
from textkernels.utf8 import decode

_SPACE = 0x20
_FRESH, _INSIDE, _BEHIND = 0, 1, 2  # before the first word, inside one, behind one


class Grams(NamedTuple):
    """The distinct n-grams searched for, sorted by hash; those of one hash are neighbours."""

    hashes: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.int64]  # in words
    hashed: npt.NDArray[np.int64]  # words that the hash is of: all, or the first ones
    starts: npt.NDArray[np.int64]  # spelling in `codes`: words in code points, single spaces
    stops: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint32]
    posting_offsets: npt.NDArray[np.int64]  # grams + 1
    posting_items: npt.NDArray[np.int64]  # items that hold the gram
    item_totals: npt.NDArray[np.int64]  # distinct grams of each item


class Lookup(NamedTuple):
    """Prefilter and hash table over `Grams.hashes`, sizes powers of two."""

    bitmap: npt.NDArray[np.uint8]
    slots: npt.NDArray[np.int64]  # number of the first gram with the slot's hash, or -1
    lengths: npt.NDArray[np.int64]  # numbers of hashed words in use, ascending


def build_lookup(grams: Grams) -> Lookup:
    """Tables for `find_items`: 16 to 32 bits of the one, bytes of the other, for a gram."""
    n_slots = 1 << max(4, (2 * grams.hashes.size - 1).bit_length())
    bitmap = np.zeros(max(1 << 13, n_slots), np.uint8)
    slots = np.full(n_slots, -1, np.int64)
    fill_lookup(grams.hashes, bitmap, slots)
    return Lookup(bitmap, slots, np.unique(grams.hashed))


@kernel
def fill_lookup(hashes: Any, bitmap: Any, slots: Any) -> None:
    """Enter sorted hashes (uint64); of equal ones the first."""
    for gram in range(hashes.size):
        key = hashes[gram]
        if gram > 0 and hashes[gram - 1] == key:
            continue
        bit = np.int64(key & np.uint64(8 * bitmap.size - 1))
        bitmap[bit >> 3] |= np.uint8(1 << (bit & 7))
        slot = np.int64((key >> np.uint64(20)) & np.uint64(slots.size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = gram


@kernel
def is_in_bitmap(key: Any, bitmap: Any) -> Any:
    """Whether some gram has the low bits of `key` (uint64)."""
    bit = np.int64(key & np.uint64(8 * bitmap.size - 1))
    return (bitmap[bit >> 3] >> (bit & 7)) & 1 == 1


@kernel
def first_gram(key: Any, hashes: Any, slots: Any) -> Any:
    """Return number of the first gram whose hash is `key` (uint64), or -1."""
    slot = np.int64((key >> np.uint64(20)) & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        if hashes[slots[slot]] == key:
            return slots[slot]
        slot = (slot + 1) & (slots.size - 1)
    return np.int64(-1)


@kernel
def ngram_hashes(data: Any, offsets: Any, tables: Any, length: int) -> tuple[Any, Any]:
    """Hashes (uint64) of all `length`-grams of each text, and each text's first (int64)."""
    n_texts = offsets.size - 1
    hashes = np.empty((offsets[n_texts] - offsets[0] + n_texts) // 2 + 1, np.uint64)
    firsts = np.zeros(n_texts + 1, np.int64)
    words, starts = word_room(offsets)
    weight = power(length)
    filled = 0
    for text in range(n_texts):
        n_words = scan_words(data, offsets[text], offsets[text + 1], tables, words, starts)
        window = np.uint64(0)
        for i in range(n_words):
            leaving = words[i - length] if i >= length else np.uint64(0)
            window = roll(window, words[i], leaving, weight)
            if i + 1 >= length:
                hashes[filled] = ngram_hash(window, length)
                filled += 1
        firsts[text + 1] = filled
    return hashes[:filled], firsts


@kernel
def is_spelled(data: Any, pos: Any, end: Any, tables: Any, grams: Any, gram: Any) -> bool:
    """Whether the words of the text from `pos` on begin with the words of the gram."""
    codes, at, stop = grams.codes, grams.starts[gram], grams.stops[gram]
    ascii_fold, classes, folded = tables.ascii, tables.classes, tables.folded
    state = _FRESH
    while at < stop:
        if pos >= end:
            return False
        code, width = np.int64(data[pos]), 1
        if code >= 0x80:
            code, width = decode(data, pos, end)
            kind, letter = classes[code], folded[code]
        else:
            letter = np.uint32(ascii_fold[code])
            kind = WORD if letter else SEPARATOR
        pos += width
        if kind == IGNORED or (kind == MARK and state != _INSIDE):
            continue
        if kind == SEPARATOR:
            state = state if state == _FRESH else _BEHIND
            continue
        if state == _BEHIND or (state == _INSIDE and kind == OWN_WORD):
            if codes[at] != _SPACE or at + 1 == stop:
                return False
            at += 1
        if codes[at] != letter:
            return False
        at += 1
        state = _BEHIND if kind == OWN_WORD else _INSIDE
    return state == _BEHIND or _ends_word(data, pos, end, tables)


@kernel
def _ends_word(data: Any, pos: Any, end: Any, tables: Any) -> bool:
    """Whether nothing at `pos` belongs to the word before it."""
    while pos < end:
        code, width = decode(data, pos, end)
        kind = tables.classes[code]
        if kind != IGNORED:
            return bool(kind in (SEPARATOR, OWN_WORD))
        pos += width
    return True


@kernel
def longer(values: Any) -> Any:
    """Return the same values (int64) with room for as many again."""
    grown = np.empty(2 * values.size, np.int64)
    grown[: values.size] = values
    return grown


@kernel
def find_items(
    data: Any, offsets: Any, tables: Any, grams: Any, lookup: Any, min_share: float
) -> tuple[Any, Any, Any]:
    """(text, item, matched grams), int64 each, where matched / total >= `min_share` and > 0.

    Ordered by text. A gram counts once a text, however often it stands there.
    Memory beside the result: 8 bytes a gram and 24 an item, whatever the texts.
    """
    bitmap, slots, lengths = lookup.bitmap, lookup.slots, lookup.lengths
    hashes = grams.hashes
    words, starts = word_room(offsets)
    gram_text = np.full(hashes.size, -1, np.int64)
    n_items = grams.item_totals.size
    item_text = np.full(n_items, -1, np.int64)
    matched = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int64)
    found_texts = np.empty(64, np.int64)
    found_items = np.empty(64, np.int64)
    found_matched = np.empty(64, np.int64)
    n_found = 0
    for text in range(offsets.size - 1):
        end = offsets[text + 1]
        n_words = scan_words(data, offsets[text], end, tables, words, starts)
        n_touched = 0
        for length in lengths:
            weight = power(length)
            window = np.uint64(0)
            for i in range(n_words):
                leaving = words[i - length] if i >= length else np.uint64(0)
                window = roll(window, words[i], leaving, weight)
                if i + 1 < length:
                    continue
                key = ngram_hash(window, length)
                if not is_in_bitmap(key, bitmap):
                    continue
                gram = first_gram(key, hashes, slots)
                while 0 <= gram < hashes.size and hashes[gram] == key:
                    if (
                        gram_text[gram] != text
                        and grams.hashed[gram] == length
                        and is_spelled(data, starts[i + 1 - length], end, tables, grams, gram)
                    ):
                        gram_text[gram] = text
                        for p in range(
                            grams.posting_offsets[gram], grams.posting_offsets[gram + 1]
                        ):
                            item = grams.posting_items[p]
                            if item_text[item] != text:
                                item_text[item] = text
                                matched[item] = 0
                                touched[n_touched] = item
                                n_touched += 1
                            matched[item] += 1
                    gram += 1
        for item in touched[:n_touched]:
            if matched[item] / grams.item_totals[item] >= min_share:
                if n_found == found_texts.size:
                    found_texts = longer(found_texts)
                    found_items = longer(found_items)
                    found_matched = longer(found_matched)
                found_texts[n_found] = text
                found_items[n_found] = item
                found_matched[n_found] = matched[item]
                n_found += 1
    return found_texts[:n_found], found_items[:n_found], found_matched[:n_found]
