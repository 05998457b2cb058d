"""Documents to samples of equal length: placement, order and packing inside one shard.

Everything here is a function of the seed and of the documents of one shard, so a document that
goes away can change its own shard and no other. Which shard is a keyed hash of the document's id.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.documents import DOC_ID, SPANS
from corpus_assets.errors import ShardError
from corpus_assets.kernels.packing import best_fit, copy_pieces
from corpus_assets.shards.tokens import TokenBatch
from corpus_assets.step import Settings, keyed_hash

Ints = npt.NDArray[np.int64]
Packing = Literal["best_fit", "concat"]


class PackSettings(Settings):
    """How documents are laid into samples."""

    seq_len: int = Field(default=2048, ge=2, le=2**24)
    """Tokens in a sample."""
    packing: Packing = "best_fit"
    """`best_fit` cuts a document only where it is longer than a sample and pads the rest;
    `concat` lays documents end to end and cuts at every sample's end."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One shard's samples and where each piece of a document lies in them.

    Pieces are listed in document order: `documents` in the shard's keyed order, a document's
    pieces from its first token to its last.
    """

    samples: npt.NDArray[np.int32]  # [samples, seq_len], padded
    document: Ints  # row of the piece's document in the input
    sample: Ints
    offset: Ints
    length: Ints
    doc_token_offset: Ints
    pieces_of: Ints  # pieces of each document, in document order

    def spans(self, doc_ids: Sequence[bytes]) -> pa.Table:
        """The pieces as a `SPANS` table, sorted by sample and offset."""
        rows = np.lexsort((self.offset, self.sample))
        ids = np.frombuffer(b"".join(doc_ids), dtype=np.uint8).reshape(-1, 16)
        picked = pa.py_buffer(np.ascontiguousarray(ids[self.document[rows]]).tobytes())
        columns = [
            pa.array(self.sample[rows], pa.int32()),
            pa.array(self.offset[rows], pa.int32()),
            pa.array(self.length[rows], pa.int32()),
            pa.FixedSizeBinaryArray.from_buffers(DOC_ID, len(rows), [None, picked]),
            pa.array(self.doc_token_offset[rows], pa.int32()),
        ]
        return pa.Table.from_arrays(columns, schema=SPANS)


def shard_of(seed: int, doc_id: bytes, n_shards: int) -> int:
    """The shard, of `n_shards`, that holds the document."""
    _check_shard_count(n_shards)
    return keyed_hash(_key("shard", seed), doc_id) % n_shards


def shards_of(seed: int, doc_ids: Sequence[bytes], n_shards: int) -> npt.NDArray[np.int64]:
    """`shard_of` for many documents; about a microsecond each."""
    _check_shard_count(n_shards)
    hashes = _keyed_hashes(_key("shard", seed), doc_ids)
    return (hashes % np.uint64(n_shards)).astype(np.int64)


def document_order(seed: int, doc_ids: Sequence[bytes], tokens: TokenBatch) -> Ints:
    """Rows in the order they have inside their shard: by keyed hash, then by id.

    Rows that share a document id (a page captured twice and kept twice) are ordered by their
    tokens, so that the order of the input never shows.
    """
    if not len(doc_ids):
        return np.empty(0, dtype=np.int64)
    hashes = _keyed_hashes(_key("order", seed), doc_ids)
    halves = np.frombuffer(b"".join(doc_ids), dtype=">u8").reshape(-1, 2)
    rows = np.lexsort((halves[:, 1], halves[:, 0], hashes)).astype(np.int64)
    ordered = halves[rows]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    for first in same[np.insert(np.diff(same) > 1, 0, True)] if len(same) else ():
        end = first + 1
        while end < len(rows) and (ordered[end] == ordered[first]).all():
            end += 1
        rows[first:end] = sorted(rows[first:end], key=lambda row: tokens[row].tolist())
    return rows


def pack(
    seed: int,
    doc_ids: Sequence[bytes],
    tokens: TokenBatch,
    settings: PackSettings,
    pad_id: int,
) -> Packed:
    """Lay the documents of one shard into samples of `seq_len` tokens.

    Cost is linear in the tokens; memory is the samples plus about 100 bytes a piece.
    """
    if len(doc_ids) != len(tokens):
        raise ShardError(f"{len(doc_ids)} document ids for {len(tokens)} token arrays")
    if any(len(doc_id) != 16 for doc_id in doc_ids):
        raise ShardError("a document id must have 16 bytes; pass the doc_id column as it is")
    order = document_order(seed, doc_ids, tokens)
    lengths = np.diff(tokens.offsets)[order]
    if len(lengths) and lengths.min() < 1:
        raise ShardError("a document has no tokens; encode it with its end-of-document token")
    lay = _lay_best_fit if settings.packing == "best_fit" else _lay_end_to_end
    owner, sample, offset, length, within = lay(lengths, settings.seq_len)
    count = int(sample.max()) + 1 if len(sample) else 0
    out = np.full(count * settings.seq_len, pad_id, dtype=np.int32)
    document = order[owner]
    copy_pieces(
        np.ascontiguousarray(tokens.flat, dtype=np.int32),
        tokens.offsets[document] + within,
        length,
        sample * settings.seq_len + offset,
        out,
    )
    return Packed(
        samples=out.reshape(count, settings.seq_len),
        document=document,
        sample=sample,
        offset=offset,
        length=length,
        doc_token_offset=within,
        pieces_of=np.bincount(owner, minlength=len(order)).astype(np.int64),
    )


def _lay_best_fit(lengths: Ints, seq_len: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Full pieces fill samples of their own; what remains of each document is packed.

    Samples that a full piece fills come first, in document order; inside a packed sample the
    pieces stand in document order too, so that a long document is not always the first.
    """
    whole, rest = np.divmod(lengths, seq_len)
    pieces = whole + (rest > 0)
    owner = np.repeat(np.arange(len(lengths), dtype=np.int64), pieces)
    number = np.arange(len(owner), dtype=np.int64) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    within = number * seq_len
    length = np.minimum(lengths[owner] - within, seq_len)
    is_whole = length == seq_len
    filled = int(is_whole.sum())
    sample = np.empty(len(owner), dtype=np.int64)
    offset = np.zeros(len(owner), dtype=np.int64)
    sample[is_whole] = np.arange(filled)
    remainder = np.flatnonzero(~is_whole)
    bins, _ = best_fit(length[remainder].astype(np.int32), seq_len)
    sample[remainder] = filled + bins.astype(np.int64)
    by_bin = remainder[np.argsort(bins, kind="stable")]
    ends = np.cumsum(length[by_bin])
    starts = ends - length[by_bin]
    opens = np.insert(np.diff(sample[by_bin]) != 0, 0, True) if len(by_bin) else by_bin > 0
    offset[by_bin] = starts - np.maximum.accumulate(np.where(opens, starts, 0))
    return owner, sample, offset, length, within


def _lay_end_to_end(lengths: Ints, seq_len: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Documents in order without a gap, cut where a sample ends; only the last is padded."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    first, last = starts // seq_len, (ends - 1) // seq_len
    pieces = last - first + 1
    owner = np.repeat(np.arange(len(lengths), dtype=np.int64), pieces)
    number = np.arange(len(owner), dtype=np.int64) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    sample = first[owner] + number
    begin = np.maximum(starts[owner], sample * seq_len)
    length = np.minimum(ends[owner], (sample + 1) * seq_len) - begin
    return owner, sample, begin - sample * seq_len, length, begin - starts[owner]


def _check_shard_count(n_shards: int) -> None:
    if n_shards < 1:
        raise ShardError(f"{n_shards} shards cannot hold documents; a group needs one or more")


def _key(purpose: str, seed: int) -> bytes:
    return f"corpus-assets/{purpose}/{seed}".encode()


def _keyed_hashes(key: bytes, doc_ids: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """`step.keyed_hash` of each id, the keyed state set up once and copied."""
    state = hashlib.blake2b(digest_size=8, key=key[:64])
    digests = bytearray()
    for doc_id in doc_ids:
        one = state.copy()
        one.update(doc_id)
        digests += one.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
