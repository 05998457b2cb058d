"""Where documents begin and end in samples, from the tokens alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PADDING = -1
"""Segment id of padding."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Document boundaries of one sample or of a batch of samples.

    `ids` has the shape of the tokens: 0, 1, 2 ... for the documents of each sample, `PADDING` for
    padding. `cu_seqlens` are the boundaries in the flattened tokens, from 0 to their number, as
    variable-length attention takes them; padding is a segment of its own there, and
    `is_padding[k]` says that segment k is one. No segment crosses from one sample to the next.
    """

    ids: npt.NDArray[np.int32]
    cu_seqlens: npt.NDArray[np.int32]
    is_padding: npt.NDArray[np.bool_]

    @property
    def max_seqlen(self) -> int:
        """Tokens of the longest segment, which variable-length attention asks for too."""
        return int(np.diff(self.cu_seqlens).max(initial=0))


def segments_of(
    tokens: npt.NDArray[np.int32] | npt.NDArray[np.uint16], eod_id: int, pad_id: int
) -> Segments:
    """Document boundaries of tokens, [seq_len] or [samples, seq_len], below 2^31 in all.

    Sound because the end-of-document id is at the end of every document and nowhere else, and the
    padding id in no document. Files of a repository that were packed as one are one segment. A segment begins with every sample, after every `eod_id`, and where
    padding begins. Each token is compared twice and its id written once; all else goes by
    boundaries.
    """
    flat = np.ascontiguousarray(tokens).reshape(-1)
    seq_len = max(1, tokens.shape[-1])
    found = np.empty(flat.size, np.bool_)
    np.equal(flat[:-1], eod_id, out=found[1:])
    found[::seq_len] = True
    documents = np.flatnonzero(found)
    pads = np.flatnonzero(np.equal(flat, pad_id, out=found))
    runs = pads[np.concatenate(([True], pads[1:] > pads[:-1] + 1))] if len(pads) else pads
    bounds = np.sort(np.concatenate((documents, runs, [flat.size])), kind="stable")
    bounds = bounds[np.concatenate(([True], bounds[1:] > bounds[:-1]))]
    # A document's number in its sample is its number less that of the sample's first one.
    firsts = np.flatnonzero(documents % seq_len == 0)
    numbers = np.arange(len(documents)) - firsts[documents // seq_len]
    lengths = np.concatenate((documents[1:], [flat.size])) - documents
    ids = np.repeat(numbers.astype(np.int32), lengths)
    ids[pads] = PADDING
    return Segments(
        ids=ids.reshape(tokens.shape),
        cu_seqlens=bounds.astype(np.int32),
        is_padding=flat[bounds[:-1]] == pad_id,
    )
