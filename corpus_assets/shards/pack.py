"""Route documents to shards and pack them into samples of equal length.

Everything here is a function of the seed and of the documents of one shard, so a document that
goes away can change its own shard and no other. Which shard is a keyed hash of the document's id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import ShardError
from corpus_assets.core.sample import keyed_hashes
from corpus_assets.core.schemas import DOC_ID, SPANS
from corpus_assets.shards.imports import Place, import_order
from corpus_assets.shards.kernels.packing import copy_pieces, lay_best_fit, lay_end_to_end
from corpus_assets.shards.settings import PackSettings
from corpus_assets.shards.tokens import TokenBatch

Ints = npt.NDArray[np.int64]


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
        """Return the pieces as a `SPANS` table, sorted by sample and offset."""
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


Places = Sequence[Place | None]
"""Where documents stand in their repositories; None for a document that is of none."""


def unit_names(doc_ids: Sequence[bytes], places: Places | None) -> Sequence[bytes]:
    """Return what is placed as one, for each document: its repository, or itself."""
    if places is None:
        return doc_ids
    return [d if p is None else p.repository for d, p in zip(doc_ids, places, strict=True)]


def shards_of(seed: int, doc_ids: Sequence[bytes], n_shards: int) -> npt.NDArray[np.int64]:
    """Return the shard, of `n_shards`, that holds each document; about a microsecond each."""
    _check_shard_count(n_shards)
    hashes = keyed_hashes(_key("shard", seed), doc_ids)
    return (hashes % np.uint64(n_shards)).astype(np.int64)


def repository_order(
    seed: int, doc_ids: Sequence[bytes], tokens: TokenBatch, places: Places
) -> tuple[Ints, Ints]:
    """Rows in the order they have inside their shard, and how many there are of each repository:
    repositories, and documents that are of none, by keyed hash; files of one by their imports."""
    units = unit_names(doc_ids, places)
    hashes = keyed_hashes(_key("order", seed), units).tolist()
    keys = [
        (hashes[row], units[row], place.path if place else "", doc_ids[row], tokens[row].tolist())
        for row, place in enumerate(places)
    ]
    by_path = sorted(range(len(doc_ids)), key=keys.__getitem__)
    rows: list[int] = []
    sizes: list[int] = []
    for _, group in groupby(by_path, key=units.__getitem__):
        files = list(group)
        known = [place for row in files if (place := places[row]) is not None]
        rows += [files[i] for i in import_order(known)] if len(known) == len(files) else files
        sizes.append(len(files))
    return np.array(rows, np.int64), np.array(sizes, np.int64)


def document_order(seed: int, doc_ids: Sequence[bytes], tokens: TokenBatch) -> Ints:
    """Rows in the order they have inside their shard: by keyed hash, then by id.

    Rows that share a document id (a page captured twice and kept twice) are ordered by their
    tokens, so that the order of the input never shows.
    """
    if not len(doc_ids):
        return np.empty(0, dtype=np.int64)
    hashes = keyed_hashes(_key("order", seed), doc_ids)
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
    places: Places | None = None,
    separator: int | None = None,
) -> Packed:
    """Lay the documents of one shard into samples of `seq_len` tokens.

    With `places` the files of a repository are laid as one document, and all but the last end with
    `separator`.

    Cost is linear in the tokens; memory is the samples plus about 100 bytes a piece.
    """
    if len(doc_ids) != len(tokens):
        raise ShardError(f"{len(doc_ids)} document ids for {len(tokens)} token arrays")
    if any(len(doc_id) != 16 for doc_id in doc_ids):
        raise ShardError("a document id must have 16 bytes; pass the doc_id column as it is")
    flat = np.ascontiguousarray(tokens.flat, dtype=np.int32)
    sizes = None
    if places is None:
        order = document_order(seed, doc_ids, tokens)
    else:
        order, sizes = repository_order(seed, doc_ids, tokens, places)
        flat = _separated(flat, tokens.offsets[order + 1] - 1, sizes, separator)
    lengths = np.diff(tokens.offsets)[order]
    if len(lengths) and lengths.min() < 1:
        raise ShardError("a document has no tokens; encode it with its end-of-document token")
    laid = lay(lengths, settings) if sizes is None else _lay_units(lengths, sizes, settings)
    owner, sample, offset, length = (
        column.astype(np.int64) for column in (laid.document, laid.sample, laid.offset, laid.length)
    )
    within, count = laid.doc_token_offset, laid.samples
    out = np.full(count * settings.seq_len, pad_id, dtype=np.int32)
    document = order[owner]
    copy_pieces(
        flat,
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


@dataclass(frozen=True, slots=True)
class PieceLayout:
    """Where each piece of a document lies: one row a piece, in document order."""

    document: npt.NDArray[np.int32]  # row in the lengths
    sample: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    doc_token_offset: Ints
    seq_len: int

    @property
    def samples(self) -> int:
        return int(self.sample.max()) + 1 if len(self.sample) else 0

    @property
    def utilisation(self) -> float:
        """Share of the samples' places that hold a document's token; 1.0 for no samples."""
        places = self.samples * self.seq_len
        return int(self.length.sum(dtype=np.int64)) / places if places else 1.0


def lay(lengths: Ints, settings: PackSettings) -> PieceLayout:
    """Lay documents of these lengths, each 1 or more, into samples.

    Ten million documents take about a second and half a gigabyte.
    """
    if len(lengths) >= 2**31:
        raise ShardError(f"too many documents for one shard ({len(lengths):,}); use more shards")
    kernel = lay_best_fit if settings.packing == "best_fit" else lay_end_to_end
    columns = kernel(np.ascontiguousarray(lengths, np.int64), settings.seq_len)
    document, sample, offset, length, within = columns
    return PieceLayout(document, sample, offset, length, within, settings.seq_len)


def _separated(
    flat: npt.NDArray[np.int32], last: Ints, sizes: Ints, separator: int | None
) -> npt.NDArray[np.int32]:
    """Return tokens in which each file that another one follows ends with the separator. `last` has
    the place of each document's last token, `sizes` the files of each repository, in order."""
    if separator is None:
        raise ShardError("files of repositories need a separator; name one in the tokenizer")
    followed = np.ones(len(last), np.bool_)
    followed[np.cumsum(sizes) - 1] = False
    flat = flat.copy()
    flat[last[followed]] = separator
    return flat


def _lay_units(lengths: Ints, sizes: Ints, settings: PackSettings) -> PieceLayout:
    """Lay runs of `sizes` documents as if each were one, and say where each document lies."""
    begins = np.append(0, np.cumsum(lengths))
    units = begins[np.append(0, np.cumsum(sizes))]
    laid = lay(np.diff(units), settings)
    pieces = units[laid.document] + laid.doc_token_offset  # ascending, and none is left out
    bounds = np.union1d(pieces, begins[:-1])
    piece = np.searchsorted(pieces, bounds, side="right") - 1
    document = np.searchsorted(begins, bounds, side="right") - 1
    return PieceLayout(
        document.astype(np.int32),
        laid.sample[piece],
        (laid.offset[piece] + bounds - pieces[piece]).astype(np.int32),
        np.diff(np.append(bounds, begins[-1])).astype(np.int32),
        bounds - begins[document],
        settings.seq_len,
    )


def _check_shard_count(n_shards: int) -> None:
    if n_shards < 1:
        raise ShardError(f"a group needs one shard or more, not {n_shards}")


def _key(purpose: str, seed: int) -> bytes:
    return f"corpus-assets/{purpose}/{seed}".encode()
