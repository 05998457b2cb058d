"""Search for known pieces of code in a batch of texts, names renamed, confirmed token by token.

The way of one token: a rolling hash (`code_tokens`), one bit of a bitmap, a slot of a hash table,
and only then the comparison of the tokens themselves: spelling where they stand for themselves,
and for names that the same places hold the same name on both sides. A collision never counts.

Which names an item lets be renamed is known of the item alone (`KEPT`: spelled as they are), so
whatever a copy calls them they are hashed by their places, in the item and in every text.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.decontam.kernels.code_tokens import (
    END,
    KEPT,
    NAME,
    STRING,
    is_fixed,
    next_token,
    push_token,
    token_memo,
    window_room,
)
from corpus_assets.text.ngrams import fill_lookup, first_gram, is_in_bitmap, longer
from textkernels.compiled import kernel
from textkernels.hashing import murmur64

_DOT = 46


class CodeTokens(NamedTuple):
    """The tokens of many pieces of code, end to end."""

    data: npt.NDArray[np.uint8]  # the code itself
    starts: npt.NDArray[np.int64]  # bytes of `data`
    stops: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]  # first token of each piece, one more than pieces
    reserved: npt.NDArray[
        np.uint64
    ]  # table of words that no copy can have called a name of its own


class CodeGrams(NamedTuple):
    """One row for each distinct n-gram of each item, sorted by (hash, item)."""

    hashes: npt.NDArray[np.uint64]
    items: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]  # where the n-gram first stands in the item, in all tokens
    item_totals: npt.NDArray[np.int64]
    bitmap: npt.NDArray[np.uint8]
    slots: npt.NDArray[np.int64]


@kernel
def split_tokens(data: Any, offsets: Any, style: int, fixed: Any) -> Any:
    """Return starts, stops, kinds of all tokens, and the first token of each text (int64 each)."""
    n_texts = offsets.size - 1
    room = offsets[n_texts] - offsets[0] + 1
    starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
    kinds = np.empty(room, np.int64)
    firsts = np.zeros(n_texts + 1, np.int64)
    count = 0
    for text in range(n_texts):
        pos, end = offsets[text], offsets[text + 1]
        memo = token_memo()
        after_dot = False
        while True:
            kind, start, pos, _ = next_token(data, pos, end, style, fixed, after_dot, memo)
            if kind == END:
                break
            starts[count], stops[count], kinds[count] = start, pos, kind
            after_dot = pos - start == 1 and data[start] == _DOT
            count += 1
        firsts[text + 1] = count
    return starts[:count], stops[:count], kinds[:count], firsts


@kernel
def code_hashes(data: Any, offsets: Any, style: int, fixed: Any, length: int) -> tuple[Any, Any]:
    """Hashes (uint64) of all n-grams of `length` tokens, and each text's first (int64)."""
    n_texts = offsets.size - 1
    hashes = np.empty(offsets[n_texts] - offsets[0] + 1, np.uint64)
    firsts = np.zeros(n_texts + 1, np.int64)
    filled = 0
    for text in range(n_texts):
        pos, end = offsets[text], offsets[text + 1]
        memo = token_memo()
        ring = window_room(length)
        window = np.uint64(0)
        after_dot = False
        count = 0
        while True:
            kind, start, pos, key = next_token(data, pos, end, style, fixed, after_dot, memo)
            if kind == END:
                break
            window = push_token(ring, window, count, length, kind, start, pos, key)
            after_dot = pos - start == 1 and data[start] == _DOT
            count += 1
            if count >= length:
                hashes[filled] = murmur64(window)
                filled += 1
        firsts[text + 1] = filled
    return hashes[:filled], firsts


def make_code_grams(
    hashes: npt.NDArray[np.uint64],
    items: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int64],
    n_items: int,
) -> CodeGrams:
    """Return the search table of n-grams given in the order of (item, token)."""
    order = np.lexsort((tokens, items, hashes))
    hashes, items, tokens = hashes[order], items[order], tokens[order]
    new = np.ones(hashes.size, np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (items[1:] != items[:-1])
    hashes, items, tokens = hashes[new], items[new], tokens[new]
    n_slots = 1 << max(4, (2 * hashes.size - 1).bit_length())
    bitmap = np.zeros(max(1 << 13, n_slots), np.uint8)
    slots = np.full(n_slots, -1, np.int64)
    fill_lookup(hashes, bitmap, slots)
    totals = np.bincount(items, minlength=n_items).astype(np.int64)
    return CodeGrams(hashes, items, tokens, totals, bitmap, slots)


@kernel
def _same(left: Any, at: Any, stop: Any, right: Any, other: Any, other_stop: Any) -> bool:
    if stop - at != other_stop - other:
        return False
    size = stop - at
    for i in range(size):  # noqa: SIM110 - no generators in a kernel
        if left[at + i] != right[other + i]:
            return False
    return True


@kernel
def _is_same_gram(data: Any, ring: Any, last: Any, length: int, known: Any, first: Any) -> bool:
    """Whether the window that ends with token `last` is the item's n-gram from token `first`."""
    names, _, _, kinds, starts, stops, _ = ring
    mask = kinds.size - 1
    for i in range(length):
        here = (last - length + 1 + i) & mask
        there = first + i
        is_kept = known.kinds[there] == KEPT
        if kinds[here] != (NAME if is_kept else known.kinds[there]):
            return False
        if kinds[here] == NAME and not is_kept and is_fixed(names[here], known.reserved):
            return False
        if kinds[here] != NAME or is_kept:
            edge = 1 if kinds[here] == STRING else 0
            if not _same(
                data, starts[here] + edge, stops[here] - edge,
                known.data, known.starts[there] + edge, known.stops[there] - edge,
            ):  # fmt: skip
                return False
            if not is_kept:
                continue
        seen_here = seen_there = 0
        for back in range(1, i + 1):
            before = (last - length + 1 + i - back) & mask
            if (
                seen_here == 0
                and kinds[before] == NAME
                and _same(data, starts[before], stops[before], data, starts[here], stops[here])
            ):
                seen_here = back
            if (
                seen_there == 0
                and known.kinds[there - back] in (NAME, KEPT)
                and _same(
                    known.data, known.starts[there - back], known.stops[there - back],
                    known.data, known.starts[there], known.stops[there],
                )
            ):  # fmt: skip
                seen_there = back
        if seen_here != seen_there:
            return False
    return True


@kernel
def find_code(
    data: Any,
    offsets: Any,
    style: int,
    fixed: Any,
    known: Any,
    grams: Any,
    length: int,
    min_share: float,
) -> tuple[Any, Any, Any]:
    """(text, item, matched n-grams), int64 each, where matched / total >= `min_share` and > 0.

    Ordered by text. An n-gram of an item counts once a text, however often it stands there.
    """
    n_items = grams.item_totals.size
    gram_text = np.full(grams.hashes.size, -1, np.int64)
    item_text = np.full(n_items, -1, np.int64)
    matched = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int64)
    texts, items = np.empty(64, np.int64), np.empty(64, np.int64)
    counts = np.empty(64, np.int64)
    n_found = 0
    for text in range(offsets.size - 1):
        pos, end = offsets[text], offsets[text + 1]
        memo = token_memo()
        ring = window_room(length)
        window = np.uint64(0)
        after_dot = False
        count = 0
        n_touched = 0
        while True:
            kind, start, pos, key = next_token(data, pos, end, style, fixed, after_dot, memo)
            if kind == END:
                break
            window = push_token(ring, window, count, length, kind, start, pos, key)
            after_dot = pos - start == 1 and data[start] == _DOT
            count += 1
            if count < length:
                continue
            key = murmur64(window)
            if not is_in_bitmap(key, grams.bitmap):
                continue
            gram = first_gram(key, grams.hashes, grams.slots)
            while 0 <= gram < grams.hashes.size and grams.hashes[gram] == key:
                if gram_text[gram] != text and _is_same_gram(
                    data, ring, count - 1, length, known, grams.tokens[gram]
                ):
                    gram_text[gram] = text
                    item = grams.items[gram]
                    if item_text[item] != text:
                        item_text[item] = text
                        matched[item] = 0
                        touched[n_touched] = item
                        n_touched += 1
                    matched[item] += 1
                gram += 1
        for item in touched[:n_touched]:
            if matched[item] / grams.item_totals[item] >= min_share:
                if n_found == texts.size:
                    texts, items, counts = longer(texts), longer(items), longer(counts)
                texts[n_found], items[n_found], counts[n_found] = text, item, matched[item]
                n_found += 1
    return texts[:n_found], items[:n_found], counts[:n_found]


@kernel
def code_places(
    data: Any,
    style: int,
    fixed: Any,
    known: Any,
    grams: Any,
    length: int,
    wanted: Any,
) -> tuple[Any, Any, Any]:
    """(item, start, stop) of every stretch of one text, in bytes, that n-grams of wanted items
    cover; `wanted` is a bool an item. Stretches of an item that touch are one."""
    n_items = grams.item_totals.size
    begins, ends = np.full(n_items, -1, np.int64), np.full(n_items, -1, np.int64)
    items, starts, stops = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    n_found = 0
    memo = token_memo()
    ring = window_room(length)
    window = np.uint64(0)
    after_dot = False
    count = 0
    pos = 0
    while True:
        kind, start, pos, key = next_token(data, pos, data.size, style, fixed, after_dot, memo)
        if kind == END:
            break
        window = push_token(ring, window, count, length, kind, start, pos, key)
        after_dot = pos - start == 1 and data[start] == _DOT
        count += 1
        if count < length:
            continue
        key = murmur64(window)
        if not is_in_bitmap(key, grams.bitmap):
            continue
        gram = first_gram(key, grams.hashes, grams.slots)
        while 0 <= gram < grams.hashes.size and grams.hashes[gram] == key:
            item = grams.items[gram]
            if wanted[item] and _is_same_gram(
                data, ring, count - 1, length, known, grams.tokens[gram]
            ):
                first = ring[4][(count - length) & (ring[4].size - 1)]
                if begins[item] >= 0 and first > ends[item]:
                    if n_found == items.size:
                        items, starts, stops = longer(items), longer(starts), longer(stops)
                    items[n_found], starts[n_found] = item, begins[item]
                    stops[n_found] = ends[item]
                    n_found += 1
                    begins[item] = -1
                if begins[item] < 0:
                    begins[item] = first
                ends[item] = pos
            gram += 1
    for item in range(n_items):
        if begins[item] >= 0:
            if n_found == items.size:
                items, starts, stops = longer(items), longer(starts), longer(stops)
            items[n_found], starts[n_found], stops[n_found] = item, begins[item], ends[item]
            n_found += 1
    return items[:n_found], starts[:n_found], stops[:n_found]
