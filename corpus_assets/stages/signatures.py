"""Signatures: the MinHash sketch of every document, for near-duplicate search.

Defaults after FineWeb (Penedo et al. 2024): word 5-grams, 112 permutations as 14 bands of 8.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.documents import SIGNATURES
from corpus_assets.kernels.characters import char_tables, nfkc, text_buffers
from corpus_assets.kernels.minhash import affine32_permutations, minhash_texts
from corpus_assets.step import Settings

VERSION = 1

_INT32_MAX = 2**31 - 1
_ROWS_PER_CHUNK = 1 << 16  # keeps a chunk's signature bytes far below binary's 2 GiB


class SignatureSettings(Settings):
    """What a signature is made of; permutations = bands * rows_per_band."""

    shingle_words: int = Field(default=5, ge=1, le=64)
    bands: int = Field(default=14, ge=1, le=256)
    rows_per_band: int = Field(default=8, ge=1, le=64)
    seed: int = Field(default=1, ge=0, lt=2**32)

    @property
    def permutations(self) -> int:
        """Length of a signature."""
        return self.bands * self.rows_per_band


def compute_signatures(documents: pa.Table, settings: SignatureSettings) -> pa.Table:
    """Schema SIGNATURES, row-aligned with DOCUMENTS.

    A document without a word has n_shingles 0 and a signature of all ones, and is never a near
    duplicate of anything. `n_shingles` counts places, not distinct shingles, and stays at
    2^31 - 1 for a text with more.
    """
    a, b = affine32_permutations(settings.permutations, settings.seed)
    counts: list[pa.Array] = []
    signatures: list[pa.Array] = []
    for chunk in documents.column("text").chunks:
        for start in range(0, len(chunk), _ROWS_PER_CHUNK):
            data, offsets = text_buffers(nfkc(chunk.slice(start, _ROWS_PER_CHUNK)))
            minima, n_shingles = minhash_texts(
                data, offsets, char_tables(), settings.shingle_words, a, b
            )
            counts.append(pa.array(saturate_int32(n_shingles)))
            signatures.append(_as_binary(minima))
    return pa.table(
        [
            documents.column("doc_id"),
            pa.chunked_array(counts, pa.int32()),
            pa.chunked_array(signatures, pa.binary()),
        ],
        schema=SIGNATURES,
    )


def saturate_int32(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Counts as int32, cut off at its largest value and never wrapped."""
    return np.minimum(counts, _INT32_MAX).astype(np.int32)


def _as_binary(minima: npt.NDArray[np.uint32]) -> pa.Array:
    """Rows of uint32 as one little-endian byte string each."""
    width = 4 * minima.shape[1]
    offsets = np.arange(0, (minima.shape[0] + 1) * width, width, dtype=np.int32)
    data = np.ascontiguousarray(minima.astype("<u4", copy=False))
    return pa.Array.from_buffers(
        pa.binary(), minima.shape[0], [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
