"""Write a shard: its four files, as bytes (`corpus_loader.header` says what they are)."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import ShardError
from corpus_assets.shards.pack import Packed, Places, pack
from corpus_assets.shards.settings import NARROW_IDS, PackSettings
from corpus_assets.shards.tokens import TokenBatch, TokenizerInfo
from corpus_loader.header import FileInfo, ShardHeader
from corpus_loader.index import Dtype, dump_index, numpy_type

VERSION = 1
"""Raised whenever placement, order, packing or layout could give other bytes."""

SPANS_ROW_GROUP = 1 << 14


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """A shard in memory: the caller writes `files`, the header's last."""

    header: ShardHeader
    files: dict[str, bytes]  # by file name: .bin, .idx, .spans.parquet, .header.json


def token_dtype(asked: str, vocab_size: int) -> Dtype:
    """Return the type of a shard's tokens: as asked for, or by `auto` the narrowest that fits."""
    if asked == "uint16" and vocab_size > NARROW_IDS:
        raise ShardError(
            f"shards.dtype is uint16 and the tokenizer has {vocab_size} ids, more than {NARROW_IDS};"
            " use int32 or auto"
        )
    return "uint16" if asked != "int32" and vocab_size <= NARROW_IDS else "int32"


def shard_name(number: int) -> str:
    """`shard_00042`: the stem of a shard's file names."""
    return f"shard_{number:05d}"


def build_shard(
    group: str,
    number: int,
    doc_ids: Sequence[bytes],
    tokens: TokenBatch,
    *,
    seed: int,
    settings: PackSettings,
    tokenizer: TokenizerInfo,
    dtype: Dtype = "int32",
    places: Places | None = None,
) -> ShardFiles:
    """Pack the documents of shard `number` of `group`; no documents give an empty shard.

    The bytes depend on the set of documents, not on the order they come in.
    """
    _check_tokens(tokens, tokenizer)
    packed = pack(
        seed, doc_ids, tokens, settings, tokenizer.pad_id, places, tokenizer.file_separator
    )
    stem = shard_name(number)
    content = {
        f"{stem}.bin": packed.samples.astype(numpy_type(dtype), copy=False).tobytes(),
        f"{stem}.idx": _idx(packed, settings.seq_len, dtype),
        f"{stem}.spans.parquet": _parquet(packed.spans(doc_ids)),
    }
    infos = [
        FileInfo(name=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        for name, data in content.items()
    ]
    header = ShardHeader(
        group=group,
        number=number,
        seed=seed,
        seq_len=settings.seq_len,
        dtype=dtype,
        packing=settings.packing,
        tokenizer_sha256=tokenizer.sha256,
        eod_id=tokenizer.eod_id,
        pad_id=tokenizer.pad_id,
        samples=len(packed.samples),
        tokens=int(tokens.offsets[-1]),
        documents=len(doc_ids),
        bin=infos[0],
        idx=infos[1],
        spans=infos[2],
    )
    content[f"{stem}.header.json"] = header.dump()
    return ShardFiles(header, content)


def _check_tokens(tokens: TokenBatch, tokenizer: TokenizerInfo) -> None:
    if not len(tokens):
        return
    flat, ends = tokens.flat, tokens.offsets[1:] - 1
    if np.diff(tokens.offsets).min() < 1:
        raise ShardError("a document has no tokens; encode it with its end-of-document token")
    if flat.min() < 0 or flat.max() >= tokenizer.vocab_size:
        raise ShardError(
            f"token ids outside 0..{tokenizer.vocab_size - 1}; encode with the shard's tokenizer"
        )
    closed = (flat[ends] == tokenizer.eod_id).all()
    if not closed or np.count_nonzero(flat == tokenizer.eod_id) != len(tokens):
        raise ShardError("each document must end with its only end-of-document token")
    if (flat == tokenizer.pad_id).any():
        raise ShardError("a document contains the padding token; encode text, not padded samples")


def _idx(packed: Packed, seq_len: int, dtype: Dtype) -> bytes:
    pointers = numpy_type(dtype).itemsize * (packed.sample * seq_len + packed.offset)
    documents = np.concatenate(([0], np.cumsum(packed.pieces_of)))
    return dump_index(packed.length, pointers, documents, dtype)


def _parquet(spans: pa.Table) -> bytes:
    integers = [field.name for field in spans.schema if pa.types.is_integer(field.type)]
    sink = io.BytesIO()
    pq.write_table(
        spans,
        sink,
        compression="zstd",
        compression_level=3,
        use_dictionary=False,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        row_group_size=SPANS_ROW_GROUP,
        version="2.6",
        data_page_version="1.0",
    )
    return sink.getvalue()
