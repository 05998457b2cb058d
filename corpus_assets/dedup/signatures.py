"""Signatures: what near-duplicate search knows of a document.

1. Shingles: word 5-grams by default. In scripts that write no spaces (Han, kana, Thai ...) each
   character is a word, so their shingles are of characters. With `shingle_chars` they are runs of characters in every script, spaces and punctuation included.
2. Bands: 112 MinHash permutations as 14 bands of 8, after FineWeb (Penedo et al. 2024). A band
   is kept as a 64-bit hash; documents that share one are candidates.
3. The sketch: 512 bytes that say how alike two candidates are (`text.minhash`).
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.schemas import SIGNATURES
from corpus_assets.dedup.kernels.buckets import band_keys
from corpus_assets.dedup.settings import SignatureSettings
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.minhash import BINS, affine32_permutations, sign_texts

VERSION = 2

SEED = 1  # of the permutations

_INT32_MAX = 2**31 - 1
_ROWS_AT_ONCE = 1 << 14  # 7 MB of minima beside the texts


@dataclass(frozen=True)
class Signatures:
    """Row-aligned with the documents they were made from."""

    table: pa.Table  # schema SIGNATURES
    band_keys: npt.NDArray[np.uint64]  # [rows, bands]
    sketches: npt.NDArray[np.uint8]  # [rows, BINS]


def compute_signatures(documents: pa.Table, settings: SignatureSettings) -> Signatures:
    """Signatures of the texts of DOCUMENTS.

    A document without a word (or character) has n_shingles 0 and an empty sketch, and is never a near duplicate
    of anything; its band keys mean nothing. `n_shingles` counts places, not distinct shingles,
    and stays at 2^31 - 1 for a text with more.
    """
    counts = np.empty(documents.num_rows, np.int32)
    keys = np.empty((documents.num_rows, settings.bands), np.uint64)
    sketches = np.empty((documents.num_rows, BINS), np.uint8)
    first = 0
    for minima, some, n_shingles in sign_in_batches(documents.column("text"), settings):
        rows = slice(first, first + len(some))
        counts[rows] = saturate_int32(n_shingles)
        keys[rows] = band_keys(minima, settings.bands, settings.rows_per_band)
        sketches[rows] = some
        first += len(some)
    table = pa.table([documents.column("doc_id"), pa.array(counts)], schema=SIGNATURES)
    return Signatures(table, keys, sketches)


def sign_in_batches(
    texts: pa.ChunkedArray, settings: SignatureSettings
) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """Yield minima [rows, permutations], sketches [rows, BINS] and shingle counts of texts."""
    a, b = affine32_permutations(settings.permutations, SEED)
    tables = char_tables()
    length = settings.shingle_chars or settings.shingle_words
    for chunk in texts.chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            data, offsets = text_buffers(nfkc(chunk.slice(start, _ROWS_AT_ONCE)))
            yield sign_texts(
                data, offsets, tables, length, a, b, settings.shingle_chars is not None
            )


def saturate_int32(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return counts as int32, cut off at its largest value and never wrapped."""
    return np.minimum(counts, _INT32_MAX).astype(np.int32)


def sketch_bytes(sketches: npt.NDArray[np.uint8]) -> bytes:
    """Sketches as a NumPy file (.npy), which any reader of arrays can map."""
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.ascontiguousarray(sketches), (1, 0), allow_pickle=False)
    return sink.getvalue()


def parse_sketches(data: bytes) -> npt.NDArray[np.uint8]:
    """Return the sketches of such a file, read-only and not copied."""
    source = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(source) != (1, 0):
            raise ValueError("another version of the format")
        shape, is_column_major, dtype = np.lib.format.read_array_header_1_0(source)
        flat = np.frombuffer(data, np.uint8, offset=source.tell())
    except ValueError as error:
        raise CorruptArtifact(f"these are not sketches: {error}; build the part again") from error
    if dtype != np.uint8 or is_column_major or shape != (flat.size // BINS, BINS):
        raise CorruptArtifact(
            f"an array of {dtype} {shape} is not an array of sketches: build the part again"
        )
    return flat.reshape(shape)
