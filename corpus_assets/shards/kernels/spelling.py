"""Documents spelled from tokens: the bytes of each token, one after the other."""

from typing import Any

import numpy as np

from textkernels.bytes import store64
from textkernels.compiled import kernel


@kernel
def spell_spans(
    tokens: Any, starts: Any, lengths: Any, firsts: Any, table: Any, offsets: Any
) -> tuple[Any, Any]:
    """Return (bytes uint8, offsets int64) of documents that are runs of spans of `tokens`.

    Document d is spans firsts[d] to firsts[d + 1]; span s is tokens[starts[s] : starts[s] +
    lengths[s]]. Token t spells table[offsets[t] : offsets[t + 1]]; an id outside the table
    spells nothing. All index arrays are int64.
    """
    known = np.int64(offsets.size - 1)
    heads, sizes = _heads(table, offsets)
    size = 0
    for span in range(starts.size):
        for i in range(starts[span], starts[span] + lengths[span]):
            token = np.int64(tokens[i])
            if 0 <= token < known:
                size += sizes[token]
    data = np.empty(size + 8, np.uint8)
    ends = np.zeros(firsts.size, np.int64)
    filled = 0
    for document in range(firsts.size - 1):
        for span in range(firsts[document], firsts[document + 1]):
            for i in range(starts[span], starts[span] + lengths[span]):
                token = np.int64(tokens[i])
                if not 0 <= token < known:
                    continue
                # Eight bytes whatever the token: the next one writes over what is too much.
                store64(data, filled, heads[token])
                width = int(sizes[token])
                for place in range(8, width):
                    data[filled + place] = table[offsets[token] + place]
                filled += width
        ends[document + 1] = filled
    return data[:size], ends


@kernel
def _heads(table: Any, offsets: Any) -> tuple[Any, Any]:
    """Return the first eight bytes of each token as a number, and how many bytes it has."""
    known = offsets.size - 1
    heads, sizes = np.zeros(known, np.uint64), np.zeros(known, np.int32)
    for token in range(known):
        start, stop = offsets[token], offsets[token + 1]
        sizes[token] = stop - start
        for place in range(min(stop - start, 8)):
            heads[token] |= np.uint64(table[start + place]) << np.uint64(8 * place)
    return heads, sizes
