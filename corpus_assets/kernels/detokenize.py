"""Bytes of documents from their tokens, a whole shard at once."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def spell_spans(
    tokens: Any, starts: Any, lengths: Any, firsts: Any, table: Any, offsets: Any
) -> tuple[Any, Any]:
    """(bytes uint8, offsets int64) of documents that are runs of spans of `tokens`.

    Document d is spans firsts[d] to firsts[d + 1]; span s is tokens[starts[s] : starts[s] +
    lengths[s]]. Token t spells table[offsets[t] : offsets[t + 1]]; an id outside the table
    spells nothing. All index arrays are int64.
    """
    known = offsets.size - 1
    size = 0
    for span in range(starts.size):
        for i in range(starts[span], starts[span] + lengths[span]):
            token = tokens[i]
            if 0 <= token < known:
                size += offsets[token + 1] - offsets[token]
    data = np.empty(size, np.uint8)
    ends = np.zeros(firsts.size, np.int64)
    filled = 0
    for document in range(firsts.size - 1):
        for span in range(firsts[document], firsts[document + 1]):
            for i in range(starts[span], starts[span] + lengths[span]):
                token = tokens[i]
                if 0 <= token < known:
                    for place in range(offsets[token], offsets[token + 1]):
                        data[filled] = table[place]
                        filled += 1
        ends[document + 1] = filled
    return data, ends
