"""Candidate keys: for each part, the 64-bit keys by which its documents could match others.

One table for captures (doc_id), one for URLs, one for exact texts, and one a band. Each holds
(key, row) in 256 ranges of the key, so that all parts' rows of one range can be brought together
without reading the rest, and a new snapshot joins old ones by reading their tables. What one
part's file holds depends on that part alone: when a document leaves, its rows go with the part.

Equal values always have equal keys; that unequal ones may share a key costs a comparison and
decides nothing. Layout, all little-endian:

    bytes  8                     "CATIES1\\n"
    uint32 tables, rows
    uint32 [tables][257]         where each range starts in its table, and the table's length
    (zeros up to a multiple of 8)
    uint64 keys of table 0, 1 ...
    uint32 rows of table 0, 1 ...
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.dedup.kernels.components import RANGES, by_range, id_keys

CAPTURE, URL, EXACT, BANDS = range(4)
"""Numbers of the tables; bands begin at the last."""

MAGIC = b"CATIES1\n"
_HEAD = 16

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]


def pack_candidate_keys(documents: pa.Table, band_keys: Keys) -> bytes:
    """Return the file of a part, from doc_id, url_key, text_id and n_shingles of its documents.

    A missing or empty url_key is in no table, nor are bands of documents without a shingle.
    """
    able = np.flatnonzero(documents["n_shingles"].to_numpy() > 0).astype(np.uint32)
    urls, addressed = _url_keys(documents["url_key"])
    texts = documents["text_id"]
    known = np.flatnonzero(texts.is_valid().to_numpy()).astype(np.uint32)
    everyone = np.arange(documents.num_rows, dtype=np.uint32)
    tables = [
        (_id_keys(documents["doc_id"]), everyone),
        (urls, addressed),
        (_id_keys(texts.drop_null()), known),
        *((np.ascontiguousarray(band[able]), able) for band in band_keys.T),
    ]
    parts = [by_range(keys, rows) for keys, rows in tables]
    head = MAGIC + np.array([len(tables), documents.num_rows], "<u4").tobytes()
    head += np.stack([starts for _, _, starts in parts]).astype("<u4").tobytes()
    head += bytes(-len(head) % 8)
    return b"".join(
        [
            head,
            *(keys.astype("<u8", copy=False).tobytes() for keys, _, _ in parts),
            *(rows.astype("<u4", copy=False).tobytes() for _, rows, _ in parts),
        ]
    )


def _id_keys(column: pa.ChunkedArray) -> Keys:
    found: list[Keys] = [
        id_keys(np.frombuffer(chunk.buffers()[1], "<u8", 2 * len(chunk), 16 * chunk.offset)
                .reshape(-1, 2))
        for chunk in column.chunks
        if len(chunk)
    ]  # fmt: skip
    return np.concatenate(found) if found else np.empty(0, np.uint64)


def _url_keys(column: pa.ChunkedArray) -> tuple[Keys, Rows]:
    """BLAKE2b, so that no one can craft addresses that crowd one range."""
    rows = np.flatnonzero(pc.fill_null(pc.not_equal(column, ""), False).to_numpy())
    urls = column.take(pa.array(rows)).to_pylist()
    raw = b"".join(hashlib.blake2b(url.encode(), digest_size=8).digest() for url in urls)
    return np.frombuffer(raw, "<u8").astype(np.uint64), rows.astype(np.uint32)


@dataclass(frozen=True)
class CandidateKeys:
    """A part's candidate keys on disk: what is asked for is read, nothing is kept or mapped."""

    path: Path
    n_rows: int
    starts: npt.NDArray[np.uint32]  # [tables, RANGES + 1]

    @classmethod
    def open(cls, path: Path) -> "CandidateKeys":
        """Read the head of a file: about a kilobyte a table."""
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if head[:8] != MAGIC or len(head) < _HEAD:
                raise CorruptArtifact(f"{path} holds no candidate keys: build its part again")
            tables, rows = np.frombuffer(head[8:], "<u4").tolist()
            starts = np.frombuffer(file.read(4 * tables * (RANGES + 1)), "<u4")
        if starts.size != tables * (RANGES + 1):
            raise CorruptArtifact(f"{path} is truncated: build its part again")
        return cls(path, rows, starts.reshape(tables, RANGES + 1))

    @property
    def bands(self) -> int:
        return len(self.starts) - BANDS

    def read(self, table: int, first: int, stop: int) -> tuple[Keys, Rows]:
        """Keys and rows of the ranges [first, stop) of a table."""
        lengths = self.starts[:, RANGES].astype(np.int64)
        before = int(lengths[:table].sum())
        low, high = int(self.starts[table, first]), int(self.starts[table, stop])
        head = _HEAD + self.starts.nbytes
        head += -head % 8
        keys_at = head + 8 * (before + low)
        rows_at = head + 8 * int(lengths.sum()) + 4 * (before + low)
        handle = os.open(self.path, os.O_RDONLY)
        try:
            keys = os.pread(handle, 8 * (high - low), keys_at)
            rows = os.pread(handle, 4 * (high - low), rows_at)
        finally:
            os.close(handle)
        if len(keys) != 8 * (high - low) or len(rows) != 4 * (high - low):
            raise CorruptArtifact(f"{self.path} is truncated: build its part again")
        return np.frombuffer(keys, "<u8"), np.frombuffer(rows, "<u4")

    def band_keys(self) -> Keys:
        """uint64[rows, bands]: the keys of each row; 0 for a document without a shingle."""
        found = np.zeros((self.n_rows, self.bands), np.uint64)
        for band in range(self.bands):
            keys, rows = self.read(BANDS + band, 0, RANGES)
            found[rows, band] = keys
        return found
