"""How much of a document stands in n-grams of words that repeat.

Words are known by their 64-bit hashes (see `hash_spans` for the odds of a collision). From
there on everything is exact: repeated words get small numbers, and an (n + 1)-gram is the
pair of the numbers of its two n-grams, which fits 64 bits without hashing. An (n + 1)-gram
can only repeat where both of its n-grams do, so each size looks at the places that are left
of the size before, and sizes above three cost next to nothing on ordinary text.
"""

import numpy as np

from corpus_assets.text.split import CHARS, Bytes, Hashes, Ints, table_size
from textkernels.compiled import kernel
from textkernels.hashing import splitmix64

TOP, ALL, LATER, FIRST, FIRST_COUNT, LONGEST, EVERY = range(7)


@kernel
def number_keys(
    keys: Hashes, n_keys: int, slots: Ints, number: Ints, count: Ints, first: Ints
) -> None:
    """Number equal keys alike, by first appearance; `count[g]` says how often number g came.

    `slots` is scratch for at least `table_size(n_keys)`, the others for `n_keys`.
    """
    size = table_size(n_keys)
    slots[:size] = -1
    groups = 0
    for k in range(n_keys):
        slot = np.int64(splitmix64(keys[k]) & np.uint64(size - 1))
        while slots[slot] >= 0 and keys[first[slots[slot]]] != keys[k]:
            slot = (slot + 1) & (size - 1)
        group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            first[group] = k
            count[group] = 0
            groups += 1
        number[k] = group
        count[group] += 1


@kernel
def repeated_ngram_chars(hashes: Hashes, words: Ints, rows: Ints, max_n: int) -> Ints:
    """int64[n, max_n + 1, 7]: characters of words inside repeated n-grams, for n = 1..max_n.

    `hashes: uint64[k]`, `words: int64[k, 3]` and `rows: int64[n + 1]` are the batch's words;
    a document has fewer than 2**31 of them. White space never counts, and overlapping
    n-grams never count a word twice. The last axis, for n-grams that occur at least twice:

    * TOP: the words covered by the most frequent n-gram; of several, the one that covers most;
    * ALL: the words covered by any n-gram, its first occurrence included;
    * LATER: the words of second and later occurrences, read from the left, where a repeat is
      jumped over as a whole before reading on.

    And the counts of other dialects, in which overlapping n-grams do count a word twice:

    * FIRST: characters times occurrences of the most frequent n-gram, of several the first;
      FIRST_COUNT: its occurrences;
    * LONGEST: the same for the longest of the most frequent;
    * EVERY: characters times occurrences, over all n-grams.

    Cost: one hash-table pass over the words for n = 1, 2, then over what still repeats.
    Memory: about 100 bytes for each word of the longest document.
    """
    n = rows.shape[0] - 1
    out = np.zeros((n, max_n + 1, 7), dtype=np.int64)
    longest = 0
    for d in range(n):
        longest = max(longest, rows[d + 1] - rows[d])
    keys = np.empty(longest, dtype=np.uint64)
    place = np.empty(longest, dtype=np.int64)
    number = np.empty(longest, dtype=np.int64)
    count = np.empty(longest, dtype=np.int64)
    first = np.empty(longest, dtype=np.int64)
    covered = np.empty(longest, dtype=np.int64)
    reached = np.empty(longest, dtype=np.int64)
    seen = np.empty(longest, dtype=np.uint8)
    chars_before = np.empty(longest + 1, dtype=np.int64)
    slots = np.empty(table_size(longest), dtype=np.int64)
    for d in range(n):
        low = rows[d]
        active = rows[d + 1] - low
        chars_before[0] = 0
        for k in range(active):
            chars_before[k + 1] = chars_before[k] + words[low + k, CHARS]
            keys[k] = hashes[low + k]
            place[k] = k
        for size in range(1, max_n + 1):
            if size > 1:
                active = _join_neighbours(place, number, active, keys)
            if active < 2:
                break
            number_keys(keys, active, slots, number, count, first)
            active = drop_single(place, number, active, count)
            _measure(
                place,
                number,
                active,
                count,
                size,
                chars_before,
                covered,
                reached,
                seen,
                out[d, size],
            )
    return out


@kernel
def _join_neighbours(place: Ints, number: Ints, active: int, keys: Hashes) -> int:
    """Make (n + 1)-grams of adjacent repeated n-grams, in place; returns how many."""
    left = 0
    for k in range(active - 1):
        if place[k + 1] == place[k] + 1:
            keys[left] = (np.uint64(number[k]) << np.uint64(32)) | np.uint64(number[k + 1])
            place[left] = place[k]
            left += 1
    return left


@kernel
def drop_single(place: Ints, number: Ints, active: int, count: Ints) -> int:
    """Keep only the places whose n-gram occurs at least twice; returns how many."""
    left = 0
    for k in range(active):
        if count[number[k]] > 1:
            place[left] = place[k]
            number[left] = number[k]
            left += 1
    return left


@kernel
def _measure(
    place: Ints,
    number: Ints,
    active: int,
    count: Ints,
    size: int,
    chars_before: Ints,
    covered: Ints,
    reached: Ints,
    seen: Bytes,
    out: Ints,
) -> None:
    """Fill `out` from the repeated n-grams of one size, in order of place."""
    most = 0
    for k in range(active):
        group = number[k]
        most = max(most, count[group])
        covered[group] = 0
        reached[group] = 0
        seen[group] = 0
    all_reached = 0
    later_reached = 0
    for k in range(active):
        group = number[k]
        start, end = place[k], place[k] + size
        chars = chars_before[end] - chars_before[start]
        out[EVERY] += chars
        out[ALL] += chars_before[end] - chars_before[max(start, all_reached)]
        all_reached = end
        if count[group] == most:
            covered[group] += chars_before[end] - chars_before[max(start, reached[group])]
            reached[group] = end
            out[TOP] = max(out[TOP], covered[group])
            out[LONGEST] = max(out[LONGEST], most * chars)
            if out[FIRST_COUNT] == 0:
                out[FIRST] = most * chars
                out[FIRST_COUNT] = most
        if start >= later_reached:
            if seen[group]:
                out[LATER] += chars
                later_reached = end
            else:
                seen[group] = 1


@kernel
def window_chars(words: Ints, rows: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """int64[n, len(sizes)] each: characters of all n-grams together, and of the first one.

    A word counts once for every n-gram it stands in. Documents with fewer words have 0.
    """
    n = rows.shape[0] - 1
    total = np.zeros((n, sizes.shape[0]), dtype=np.int64)
    first = np.zeros((n, sizes.shape[0]), dtype=np.int64)
    for d in range(n):
        low, high = rows[d], rows[d + 1]
        for s in range(sizes.shape[0]):
            if high - low < sizes[s]:
                continue
            window = 0
            for k in range(low, low + sizes[s]):
                window += words[k, CHARS]
            first[d, s] = window
            total[d, s] = window
            for k in range(low + sizes[s], high):
                window += words[k, CHARS] - words[k - sizes[s], CHARS]
                total[d, s] += window
    return total, first
