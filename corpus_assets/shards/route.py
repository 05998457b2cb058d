"""From final text to shards: an exchange in two steps, each a task that can be repeated.

Map: each part's documents are tokenized and laid out by (domain, tier, shard), one row group a
shard, with a hash of each slice. Reduce: a shard reads its slices of all parts and packs them.
A shard's identity is the hashes of its own slices, so a change elsewhere leaves it alone.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.schemas import DOC_ID
from corpus_assets.shards.pack import shards_of
from corpus_assets.shards.tokens import TokenBatch

VERSION = 2

CHARS_PER_TOKEN = 4
"""A usual compression of byte-level BPE; only the number of shards hangs on it."""

TOKENS = pa.schema([("doc_id", DOC_ID), ("tokens", pa.list_(pa.int32()))])


@dataclass(frozen=True)
class Slice:
    """A part's documents for one shard: row group `row_group` of the part's token file."""

    row_group: int
    sha256: str
    documents: int
    tokens: int


def group_name(domain: str, tier: str) -> str:
    return f"{domain}/{tier}"


def shard_counts(chars_by_group: Mapping[str, int], tokens_per_shard: int) -> dict[str, int]:
    """Shards of each group; a group that exists has at least one."""
    room = tokens_per_shard * CHARS_PER_TOKEN
    return {group: max(1, -(-chars // room)) for group, chars in sorted(chars_by_group.items())}


def route_tokens(
    final: pa.Table, batch: TokenBatch, counts: Mapping[str, int], seed: int
) -> tuple[bytes, dict[str, Slice]]:
    """Tokens of a part as a Parquet file with one row group a slice, and the slices by name.

    `batch` has the tokens of each row. A group that the pinned counts do not know gets one shard.
    """
    doc_ids: list[bytes] = final["doc_id"].to_pylist()
    rows: dict[str, list[int]] = {}
    groups = np.array(
        [
            group_name(domain, tier)
            for domain, tier in zip(
                final["domain"].to_pylist(), final["tier"].to_pylist(), strict=True
            )
        ]
    )
    for group in sorted(set(groups.tolist())):
        members = np.flatnonzero(groups == group)
        places = shards_of(seed, [doc_ids[i] for i in members], counts.get(group, 1))
        for row, place in zip(members.tolist(), places.tolist(), strict=True):
            rows.setdefault(f"{group}/{place:05d}", []).append(row)
    sink = io.BytesIO()
    slices: dict[str, Slice] = {}
    with pq.ParquetWriter(sink, TOKENS, compression="zstd", use_dictionary=False) as writer:
        for number, name in enumerate(sorted(rows)):
            picked = [batch[i] for i in rows[name]]
            ids = [doc_ids[i] for i in rows[name]]
            writer.write_table(_token_table(ids, picked), row_group_size=max(1, len(ids)))
            total = sum(len(tokens) for tokens in picked)
            slices[name] = Slice(number, slice_hash(ids, picked), len(ids), total)
    return sink.getvalue(), slices


def read_tokens(data: bytes) -> Iterator[tuple[list[bytes], TokenBatch]]:
    """All slices of a part's token file."""
    file = pq.ParquetFile(pa.BufferReader(data))
    for row_group in range(file.num_row_groups):
        yield read_slice(file, row_group)


def read_slice(file: pq.ParquetFile, row_group: int) -> tuple[list[bytes], TokenBatch]:
    table = file.read_row_group(row_group, use_threads=False).combine_chunks()
    column = table["tokens"].chunk(0)
    offsets = column.offsets.to_numpy().astype(np.int64)
    flat = column.values.to_numpy()
    return table["doc_id"].to_pylist(), TokenBatch(
        flat[offsets[0] : offsets[-1]], offsets - offsets[0]
    )


def join_slices(parts: Iterator[tuple[list[bytes], TokenBatch]]) -> tuple[list[bytes], TokenBatch]:
    """All documents of a shard, part after part."""
    doc_ids: list[bytes] = []
    arrays: list[Any] = []
    for ids, batch in parts:
        doc_ids += ids
        arrays += [batch[i] for i in range(len(batch))]
    return doc_ids, TokenBatch.of(arrays)


def _token_table(doc_ids: Sequence[bytes], tokens: Sequence[Any]) -> pa.Table:
    batch = TokenBatch.of(tokens)
    lists = pa.ListArray.from_arrays(
        pa.array(batch.offsets, pa.int32()), pa.array(batch.flat, pa.int32())
    )
    return pa.Table.from_arrays([pa.array(doc_ids, DOC_ID), lists], schema=TOKENS)


def slice_hash(doc_ids: Sequence[bytes], tokens: Iterable[Any]) -> str:
    """Identity of a slice: its documents and their tokens, in order."""
    state = hashlib.sha256()
    for doc_id, ids in zip(doc_ids, tokens, strict=True):
        state.update(doc_id)
        state.update(len(ids).to_bytes(8, "little"))
        state.update(np.asarray(ids, dtype="<i4").tobytes())
    return state.hexdigest()
