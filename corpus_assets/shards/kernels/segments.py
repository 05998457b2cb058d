"""Document boundaries of samples from their tokens alone, in one pass."""

from typing import Any

import numpy as np

from corpus_assets.text.compiled import kernel


@kernel(nogil=True)
def mark_segments(tokens: Any, eod_id: int, pad_id: int, padding: int) -> Any:
    """(segment of each token, first token of each segment, whether a segment is padding).

    `tokens` int32 [samples, seq_len]. A segment begins with every sample, after every `eod_id`,
    and where padding begins. Ids are int32 of the shape of `tokens`: 0, 1, 2 ... in each sample,
    `padding` on `pad_id`. First tokens (int32) count through the flattened tokens and end with
    their number, which must be below 2^31.
    """
    samples, seq_len = tokens.shape
    ids = np.empty((samples, seq_len), dtype=np.int32)
    firsts = np.empty(samples * seq_len + 1, dtype=np.int32)
    is_padding = np.empty(samples * seq_len, dtype=np.bool_)
    found = 0
    for sample in range(samples):
        segment = 0
        previous = tokens[sample, 0] if seq_len else 0
        for place in range(seq_len):
            token = tokens[sample, place]
            pads = token == pad_id
            after_end = place > 0 and previous == eod_id
            if after_end:
                segment += 1
            if place == 0 or after_end or (pads and previous != pad_id):
                firsts[found] = sample * seq_len + place
                is_padding[found] = pads
                found += 1
            ids[sample, place] = padding if pads else segment
            previous = token
    firsts[found] = samples * seq_len
    return ids, firsts[: found + 1].copy(), is_padding[:found].copy()
