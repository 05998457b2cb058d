"""Keys that break ties between documents of equal score, at random but repeatably.

A share of documents cannot be dropped by a score that many of them have: which of those go is
drawn. A document's key depends on its id and the recipe's seed alone, so neither other documents
nor the order of rows change what happens to it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.identity import digest
from textkernels.hashing import GOLDEN, mix_all

BITS = 24  # all that float32 tells apart in [0, 1)


def tie_keys(doc_ids: pa.ChunkedArray | pa.Array, seed: int) -> npt.NDArray[np.float32]:
    """float32[n], uniform in [0, 1): the key of each document (splitmix64 over its id)."""
    whole = doc_ids.combine_chunks() if isinstance(doc_ids, pa.ChunkedArray) else doc_ids
    words = np.frombuffer(whole.buffers()[1], "<u8")[2 * whole.offset :][: 2 * len(whole)]
    mixed = np.full(len(whole), int(digest({"ties": seed})[:16], 16), np.uint64)
    with np.errstate(over="ignore"):
        for half in words.reshape(-1, 2).T:
            mixed = mix_all((mixed ^ half) + GOLDEN)
    keys: npt.NDArray[np.float32] = (mixed >> np.uint64(64 - BITS)).astype(np.float32)
    return keys * np.float32(2.0**-BITS)


FLAT_SHARE = 0.5
"""Where more than this share of documents have one score, its ranks are lots."""
FLAT_DOCUMENTS = 20  # as many may be equal by chance where documents are few
MOST_BARS = 10


def flat_line(values: npt.NDArray[Any], value: Any) -> str | None:
    """Describe how many documents have exactly `value`, with a histogram of all, if a rank among them
    would be meaningless; else None."""
    equal = int(np.count_nonzero(values == value))
    if equal <= max(FLAT_SHARE * values.size, FLAT_DOCUMENTS):
        return None
    return (
        f"{equal:,} of {values.size:,} documents have just the value {value!s} "
        f"({_histogram_line(values)})"
    )


def _histogram_line(values: npt.NDArray[Any]) -> str:
    """Each value with its documents, or ranges of equal width where values are many."""
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size <= MOST_BARS:
        return ", ".join(f"{v!s}: {n:,}" for v, n in zip(distinct, counts.tolist(), strict=True))
    counts, edges = np.histogram(values.astype(np.float64), MOST_BARS)
    bars = zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
    return ", ".join(f"{low:.4g} to {high:.4g}: {n:,}" for low, high, n in bars if n)
