"""Where the n-grams of known items stand in texts, for the few texts in which some were found."""

from typing import Any

import numpy as np

from corpus_assets.text.ngrams import first_gram, is_in_bitmap, is_spelled, longer
from corpus_assets.text.words import next_word, ngram_hash, power, roll, scan_words, word_room
from textkernels.compiled import kernel


@kernel
def item_places(
    data: Any,
    offsets: Any,
    tables: Any,
    grams: Any,
    lookup: Any,
    texts: Any,
    wanted: Any,
    gap: int,
) -> tuple[Any, Any, Any, Any]:
    """(text, item, start, stop) of every stretch that n-grams of an item cover in a text.

    `texts` (ascending) and `wanted` name pairs of text and item, as `find_items` gives them.
    Results are int64, start and stop in bytes from the start of the text. Stretches of an item
    with at most `gap` words between them are one: an edited word inside a quotation belongs to it.
    """
    words, starts = word_room(offsets)
    n_items = grams.item_totals.size
    asked = np.full(n_items, -1, np.int64)
    begins, ends = np.full(n_items, -1, np.int64), np.full(n_items, -1, np.int64)
    found = (np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64))
    found_text = np.empty(64, np.int64)
    n_found = 0
    pair = 0
    while pair < texts.size:
        text, first_pair = texts[pair], pair
        while pair < texts.size and texts[pair] == text:
            asked[wanted[pair]] = text
            begins[wanted[pair]] = -1
            pair += 1
        base, end = offsets[text], offsets[text + 1]
        n_words = scan_words(data, base, end, tables, words, starts)
        first_found = n_found
        for length in lookup.lengths:
            weight = power(length)
            window = np.uint64(0)
            for i in range(n_words):
                leaving = words[i - length] if i >= length else np.uint64(0)
                window = roll(window, words[i], leaving, weight)
                key = ngram_hash(window, length)
                if i + 1 < length or not is_in_bitmap(key, lookup.bitmap):
                    continue
                low = i + 1 - length
                gram = first_gram(key, grams.hashes, lookup.slots)
                while 0 <= gram < grams.hashes.size and grams.hashes[gram] == key:
                    if grams.hashed[gram] == length and is_spelled(
                        data, starts[low], end, tables, grams, gram
                    ):
                        for p in range(
                            grams.posting_offsets[gram], grams.posting_offsets[gram + 1]
                        ):
                            item = grams.posting_items[p]
                            if asked[item] != text:
                                continue
                            if begins[item] >= 0 and low > ends[item] + gap:
                                found_text, found = _noted(found_text, found, n_found)
                                found_text[n_found] = text
                                found[0][n_found] = item
                                found[1][n_found] = begins[item]
                                found[2][n_found] = ends[item]
                                n_found += 1
                                begins[item] = -1
                            if begins[item] < 0:
                                begins[item], ends[item] = low, low
                            ends[item] = max(ends[item], low + grams.lengths[gram])
                    gram += 1
        for item in wanted[first_pair:pair]:
            if begins[item] >= 0:
                found_text, found = _noted(found_text, found, n_found)
                found_text[n_found], found[0][n_found] = text, item
                found[1][n_found], found[2][n_found] = begins[item], ends[item]
                n_found += 1
        for k in range(first_found, n_found):
            found[1][k] = next_word(data, starts[found[1][k]], end, tables)[0] - base
            found[2][k] = next_word(data, starts[found[2][k] - 1], end, tables)[1] - base
    return found_text[:n_found], found[0][:n_found], found[1][:n_found], found[2][:n_found]


@kernel
def _noted(texts: Any, found: Any, count: Any) -> tuple[Any, Any]:
    """Return the same arrays, or longer ones where they are full."""
    if count < texts.size:
        return texts, found
    return longer(texts), (longer(found[0]), longer(found[1]), longer(found[2]))
