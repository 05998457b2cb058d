"""Search for lightly edited copies of known texts: words inserted, left out or replaced.

1. Seeds: short n-grams of words (5) that the known texts share with the text, by a rolling hash,
   a bitmap and a hash table. Seeds that many known texts have say nothing and are left out.
2. A known text with enough seeds near one diagonal (place in the text minus place in the known
   text) is a candidate, at the diagonal that has most, the first of several.
3. Candidates are aligned there: edit distance in words, free at both ends, inside a band around
   the diagonal. Similarity is 1 - distance / words of the known text.

Cost: one hash and one bit for a word; for a candidate, its words times the width of the band.
Each known text is aligned once a text at most. Words are compared by 64-bit hash: good enough to
show somebody a place to look at, and nothing here removes anything.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.text.ngrams import fill_lookup, first_gram, is_in_bitmap, longer
from corpus_assets.text.words import next_word, ngram_hash, power, roll, scan_words, word_room
from textkernels.compiled import kernel

MAX_BAND = 64
MAX_POSTINGS = 16
_SEEDS_FOR = 8  # one more seed is asked for with every so many words


class Seeds(NamedTuple):
    """Known texts by their words, and where each seed stands in them."""

    words: npt.NDArray[np.uint64]  # hashes of all words, end to end
    firsts: npt.NDArray[np.int64]  # first word of each item, one more than items
    hashes: npt.NDArray[np.uint64]  # of seeds, sorted, one row for each place
    items: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]  # in words of the item
    bitmap: npt.NDArray[np.uint8]
    slots: npt.NDArray[np.int64]


@kernel
def word_hashes(data: Any, offsets: Any, tables: Any) -> tuple[Any, Any]:
    """Hashes (uint64) of all words, and the first word of each text (int64)."""
    n_texts = offsets.size - 1
    hashes = np.empty((offsets[n_texts] - offsets[0] + n_texts) // 2 + 1, np.uint64)
    firsts = np.zeros(n_texts + 1, np.int64)
    words, starts = word_room(offsets)
    filled = 0
    for text in range(n_texts):
        n_words = scan_words(data, offsets[text], offsets[text + 1], tables, words, starts)
        hashes[filled : filled + n_words] = words[:n_words]
        filled += n_words
        firsts[text + 1] = filled
    return hashes[:filled], firsts


@kernel
def _all_seeds(words: Any, firsts: Any, length: int, min_words: int) -> tuple[Any, Any, Any]:
    """(hash, item, place) of every seed of items of at least `min_words` words."""
    hashes = np.empty(words.size, np.uint64)
    items, places = np.empty(words.size, np.int64), np.empty(words.size, np.int64)
    weight = power(length)
    filled = 0
    for item in range(firsts.size - 1):
        first, last = firsts[item], firsts[item + 1]
        if last - first < min_words:
            continue
        window = np.uint64(0)
        for i in range(first, last):
            leaving = words[i - length] if i - first >= length else np.uint64(0)
            window = roll(window, words[i], leaving, weight)
            if i - first + 1 >= length:
                hashes[filled] = ngram_hash(window, length)
                items[filled], places[filled] = item, i - first + 1 - length
                filled += 1
    return hashes[:filled], items[:filled], places[:filled]


def build_seeds(
    words: npt.NDArray[np.uint64],
    firsts: npt.NDArray[np.int64],
    length: int,
    min_words: int,
    is_counted: npt.NDArray[np.bool_],
) -> Seeds:
    """Return the search tables; seeds of more than 16 places in texts that count are left out."""
    hashes, items, places = _all_seeds(words, firsts, length, max(min_words, length))
    order = np.lexsort((places, items, hashes))
    hashes = hashes[order]
    _, where = np.unique(hashes, return_inverse=True)
    rare = (np.bincount(where, is_counted[items[order]]) <= MAX_POSTINGS)[where]
    hashes, order = hashes[rare], order[rare]
    n_slots = 1 << max(4, (2 * hashes.size - 1).bit_length())
    bitmap = np.zeros(max(1 << 13, n_slots), np.uint8)
    slots = np.full(n_slots, -1, np.int64)
    fill_lookup(hashes, bitmap, slots)
    return Seeds(words, firsts, hashes, items[order], places[order], bitmap, slots)


@kernel
def seeds_needed(n_words: Any) -> Any:
    """Seeds inside a stretch that make a text of `n_words` words a candidate."""
    return max(2, n_words // _SEEDS_FOR)


@kernel
def band_of(n_words: Any) -> Any:
    """How far from the diagonal an alignment looks: words put in less words left out."""
    return min(MAX_BAND, 16 + n_words // 8)


@kernel
def align(known: Any, words: Any, n_words: Any, diagonal: Any) -> tuple[Any, Any, Any]:
    """(edit distance, first word, behind the last word) of `known` in words[:n_words].

    Only places near the diagonal (place in the text minus place in `known`) are looked at.
    """
    band = band_of(known.size)
    width = 2 * band + 1
    far = known.size + 1
    costs = np.zeros(width + 1, np.int64)
    froms = np.zeros(width + 1, np.int64)
    for b in range(width + 1):
        froms[b] = min(max(0, diagonal + b - band), n_words)
    costs[width] = far
    for j in range(known.size):
        left, left_from = far, 0
        for b in range(width):
            at = j + diagonal + b - band  # the word of the text that meets word j
            best = costs[b + 1] + 1  # word j was left out
            source = froms[b + 1]
            if 0 <= at < n_words:
                met = costs[b] + (0 if words[at] == known[j] else 1)
                if met <= best:
                    best, source = met, froms[b]
            if left + 1 < best:  # a word was put in
                best, source = left + 1, left_from
            costs[b], froms[b] = best, source
            left, left_from = best, source
        costs[width] = far
    best, end = far, 0
    for b in range(width):
        if costs[b] < best:
            best, end = costs[b], b
    stop = min(max(0, known.size + diagonal + end - band), n_words)
    return best, min(froms[end], stop), stop


@kernel
def _densest(diagonals: Any, span: Any) -> tuple[Any, Any]:
    """(most diagonals inside `span`, the middle one of them); they ascend, the first of ties."""
    most, middle, low = 0, 0, 0
    for high in range(diagonals.size):
        while diagonals[high] - diagonals[low] > span:
            low += 1
        if high - low + 1 > most:
            most, middle = high - low + 1, (low + high) // 2
    return most, diagonals[middle]


@kernel
def find_near_misses(
    data: Any, offsets: Any, tables: Any, seeds: Any, length: int, min_similarity: float
) -> tuple[Any, Any, Any, Any, Any]:
    """(text, item, similarity, start, stop): int64, int64, float64 and bytes of `data`, int64.

    Ordered by text; start and stop count from the start of the text.
    """
    words, starts = word_room(offsets)
    n_items = seeds.firsts.size - 1
    weight = power(length)
    item_text = np.full(n_items, -1, np.int64)
    item_count = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int64)
    met_seeds, met_places = np.empty(1 << 10, np.int64), np.empty(1 << 10, np.int64)
    texts, items = np.empty(64, np.int64), np.empty(64, np.int64)
    begins, ends = np.empty(64, np.int64), np.empty(64, np.int64)
    shares = np.empty(0, np.float64)
    n_found = 0
    for text in range(offsets.size - 1):
        end = offsets[text + 1]
        n_words = scan_words(data, offsets[text], end, tables, words, starts)
        window = np.uint64(0)
        n_met = 0
        n_touched = 0
        for i in range(n_words):
            leaving = words[i - length] if i >= length else np.uint64(0)
            window = roll(window, words[i], leaving, weight)
            if i + 1 < length:
                continue
            key = ngram_hash(window, length)
            if not is_in_bitmap(key, seeds.bitmap):
                continue
            seed = first_gram(key, seeds.hashes, seeds.slots)
            while 0 <= seed < seeds.hashes.size and seeds.hashes[seed] == key:
                item = seeds.items[seed]
                if item_text[item] != text:
                    item_text[item] = text
                    item_count[item] = 0
                    touched[n_touched] = item
                    n_touched += 1
                item_count[item] += 1
                if n_met == met_seeds.size:
                    met_seeds, met_places = longer(met_seeds), longer(met_places)
                met_seeds[n_met], met_places[n_met] = seed, i + 1 - length
                n_met += 1
                seed += 1
        # Items with enough seeds in all get a row of their own in `own`, filled in text order.
        n_candidates = 0
        room = 0
        for item in touched[:n_touched]:
            needed = seeds_needed(seeds.firsts[item + 1] - seeds.firsts[item])
            if item_count[item] >= needed:
                count = item_count[item]
                touched[n_candidates] = item
                n_candidates += 1
                item_count[item] = room
                room += count
            else:
                item_count[item] = -1
        if n_candidates == 0:
            continue
        own = np.empty(room, np.int64)
        for m in range(n_met):
            item = seeds.items[met_seeds[m]]
            if item_count[item] >= 0:
                own[item_count[item]] = m
                item_count[item] += 1
        at = 0
        for c in range(n_candidates):
            item = touched[c]
            mine = own[at : item_count[item]]
            at = item_count[item]
            first, last = seeds.firsts[item], seeds.firsts[item + 1]
            size = last - first
            diagonals = np.sort(met_places[mine] - seeds.places[met_seeds[mine]])
            most, diagonal = _densest(diagonals, band_of(size))
            if most < seeds_needed(size):
                continue
            distance, begin, stop = align(seeds.words[first:last], words, n_words, diagonal)
            share = 1 - distance / size
            if share < min_similarity or stop <= begin:
                continue
            if n_found == texts.size:
                texts, items = longer(texts), longer(items)
                begins, ends = longer(begins), longer(ends)
            if n_found >= shares.size:
                grown = np.empty(texts.size, np.float64)
                grown[:n_found] = shares[:n_found]
                shares = grown
            texts[n_found], items[n_found], shares[n_found] = text, item, share
            begins[n_found] = next_word(data, starts[begin], end, tables)[0] - offsets[text]
            ends[n_found] = next_word(data, starts[stop - 1], end, tables)[1] - offsets[text]
            n_found += 1
    return texts[:n_found], items[:n_found], shares[:n_found], begins[:n_found], ends[:n_found]
