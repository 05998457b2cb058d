"""Kernels over samples: gather them from mapped files, mark documents, spell tokens as bytes."""

from typing import Any

import numpy as np

from textkernels.bytes import store64
from textkernels.compiled import InCode, kernel

_copy_bytes: Any = InCode("copy_memory")


@kernel(nogil=True)
def gather_rows(addresses: Any, files: Any, samples: Any, rows: Any, out: Any) -> None:
    """Copy sample `samples[k]` of file `files[k]` to `out[rows[k]]`, for every k.

    Each file is known by the address of its first token, so one call serves a batch that is spread
    over any number of files, and other threads run meanwhile. The caller keeps the mappings alive
    for the time of the call and checks the bounds: neither can be checked here.

    `addresses` uint64 [files]: first token of each mapped file of samples as long as a row of `out`
    and of its type (int32 or uint16, contiguous, [rows, seq_len]); `files`, `samples` and `rows`
    int64.
    """
    row_bytes = out.itemsize * out.shape[1]
    target = np.uint64(out.ctypes.data)
    for k in range(len(files)):
        source = addresses[files[k]] + np.uint64(samples[k]) * np.uint64(row_bytes)
        place = target + np.uint64(rows[k]) * np.uint64(row_bytes)
        _copy_bytes(place, source, row_bytes)


@kernel(nogil=True)
def mark_segments(tokens: Any, eod_id: int, pad_id: int, padding: int) -> Any:
    """Return (segment of each token, first token of each segment, whether one is padding).

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
