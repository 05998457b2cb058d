"""The formats of exports: Megatron-LM, datatrove, MosaicML Streaming and Hugging Face Parquet.

A format writes parts of the stream, independent of each other, and then what spans all parts.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.formats import shards as shard_index
from catalog.formats.manifest import Manifest
from corpus_assets.shards.export.files import (
    PARTS,
    FileEntry,
    HashedFile,
    PartRecord,
    hash_file,
    write_file,
)
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk
from corpus_assets.shards.reader import segments_of


class PartWriter(Protocol):
    """One part, written from its first sample to its last."""

    def add(self, chunk: Chunk) -> None: ...

    def finish(self) -> list[FileEntry]:
        """Complete the part's files."""

    def abandon(self) -> None:
        """Let go of files that will not be completed; harmless after `finish`."""


class Layout(Protocol):
    """A format. Parts are independent of each other, so they can be written at once."""

    takes_lineage: bool
    """Whether lineage is in its own files; else it is written beside them."""

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> PartWriter: ...

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        """Write what spans all parts; gives every file of the export that no part named."""


def packed_tokens(chunk: Chunk, plan: ExportPlan) -> npt.NDArray[np.generic]:
    """Return a chunk's tokens in the type of the export, little-endian."""
    return np.ascontiguousarray(chunk.tokens, dtype=shard_index.numpy_type(plan.dtype))


# Megatron-LM: one `corpus.bin` with one `corpus.idx`.
#
# Sequence i, which is document i too, is sample i without its padding: the index passes over the
# padding in the `.bin`, where samples lie end to end at full length. That gives every part its place
# in advance, so parts are written at once into one file.
#
#     corpus.idx    offset 0   9 bytes   MMIDIDX and two zeros
#                          9   uint64    version: 1
#                         17   uint8     type of tokens: 4 (int32) or 8 (uint16)
#                         18   uint64    number of sequences S
#                         26   uint64    number of documents, and one: S + 1
#                         34   int32[S]  tokens of each sequence
#                              int64[S]  byte offset of each sequence
#                              int64[S + 1]  first sequence of each document

BIN, IDX = "corpus.bin", "corpus.idx"


class Megatron:
    takes_lineage = False

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "MegatronPart":
        return MegatronPart(folder, plan, number)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        os.truncate(folder / BIN, plan.samples * plan.row_bytes)
        with HashedFile(folder, IDX) as index:
            index.write(
                shard_index.HEAD.pack(
                    shard_index.MAGIC,
                    shard_index.VERSION,
                    shard_index.CODES[plan.dtype],
                    plan.samples,
                    plan.samples + 1,
                )
            )
            for part in parts:
                index.write((folder / PARTS / _lengths(part.number)).read_bytes())
            for rows in _stretches(plan.samples):
                index.write((rows * plan.row_bytes).astype("<i8"))
            for rows in _stretches(plan.samples + 1):
                index.write(rows.astype("<i8"))
            return [hash_file(folder, BIN), index.finish()]


class MegatronPart:
    """A stretch of the `.bin`, and the lengths of its sequences until the index is written."""

    def __init__(self, folder: Path, plan: ExportPlan, number: int) -> None:
        self._plan = plan
        self._bin: int | None = os.open(folder / BIN, os.O_WRONLY | os.O_CREAT, 0o644)
        self._lengths = HashedFile(folder / PARTS, _lengths(number))

    def add(self, chunk: Chunk) -> None:
        data = packed_tokens(chunk, self._plan).data.cast("B")
        at = chunk.first * self._plan.row_bytes
        while data and self._bin is not None:
            written = os.pwrite(self._bin, data, at)
            data, at = data[written:], at + written
        self._lengths.write(chunk.filled.astype("<i4"))

    def finish(self) -> list[FileEntry]:
        if self._bin is not None:
            os.fsync(self._bin)
        self._lengths.finish()
        self.abandon()
        return []

    def abandon(self) -> None:
        if self._bin is not None:
            os.close(self._bin)
            self._bin = None
        self._lengths.__exit__(None, None, None)


def _lengths(number: int) -> str:
    return f"{number:06d}.lengths"


def _stretches(count: int) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    for first in range(0, count, 1 << 20):
        yield np.arange(first, min(first + (1 << 20), count), dtype=np.int64)


# datatrove's tokenized files, for `DatatroveFolderDataset(folder, seq_len - 1, token_size=N)`.
#
#     00000_shuffled.ds           samples end to end, N bytes a token, little-endian
#     00000_shuffled.ds.index     uint64: token after the end of each document or piece of one
#     00000_shuffled.ds.metadata  tokenizer|N, number of tokens, the same for people
#
# The dataset hands out `seq_len` + 1 tokens at a time, so asked for one token less than our samples
# have it gives exactly our samples. Each run of padding counts as a document of its own.


class Datatrove:
    takes_lineage = False

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "DatatrovePart":
        return DatatrovePart(folder, plan, number)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        return []


class DatatrovePart:
    def __init__(self, folder: Path, plan: ExportPlan, number: int) -> None:
        self._folder, self._plan = folder, plan
        self._name = f"{number:05d}_shuffled.ds"
        self._tokens = HashedFile(folder, self._name)
        self._index = HashedFile(folder, f"{self._name}.index")

    def add(self, chunk: Chunk) -> None:
        before = self._tokens.bytes // self._plan.token_bytes
        self._tokens.write(packed_tokens(chunk, self._plan))
        bounds = segments_of(chunk.tokens, self._plan.eod_id, self._plan.pad_id).cu_seqlens
        self._index.write((bounds[1:].astype(np.uint64) + np.uint64(before)).astype("<u8"))

    def finish(self) -> list[FileEntry]:
        count = self._tokens.bytes // self._plan.token_bytes
        lines = [f"tokenizer.json|{self._plan.token_bytes}", str(count), _for_people(count)]
        return [
            self._tokens.finish(),
            self._index.finish(),
            write_file(self._folder, f"{self._name}.metadata", "\n".join(lines).encode()),
        ]

    def abandon(self) -> None:
        self._tokens.__exit__(None, None, None)
        self._index.__exit__(None, None, None)


def _for_people(count: int) -> str:
    """`1.23 MT`: tokens with an SI prefix, three digits."""
    value, prefix = float(count), ""
    for following in ("k", "M", "G", "T", "P"):
        if value < 999.5:
            break
        value, prefix = value / 1000, following
    return f"{value:.3g} {prefix}T"


# MosaicML Streaming's MDS shards, for `StreamingDataset(local=folder, shuffle=False)`.
#
# One column, `tokens`: a numpy array of fixed length. A shard is
#
#     uint32        number of samples S
#     uint32[S + 1] byte where each sample begins in the file, then the file's size
#     JSON          how the shard was written: columns, encodings, limits
#     samples       end to end, nothing between them
#
# and `index.json` lists the shards with their sizes and hashes.

MDS_VERSION = 2


class Mds:
    takes_lineage = False

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "MdsPart":
        return MdsPart(folder, plan, number)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        shards = []
        for part in parts:
            file = next(file for file in part.files if file.name.endswith(".mds"))
            raw = {"basename": file.name, "bytes": file.bytes, "hashes": {"sha256": file.sha256}}
            shards.append(
                {**_config(plan), "samples": part.samples, "raw_data": raw, "zip_data": None}
            )
        index = json.dumps({"version": MDS_VERSION, "shards": shards}, sort_keys=True)
        return [write_file(folder, "index.json", index.encode())]


class MdsPart:
    def __init__(self, folder: Path, plan: ExportPlan, number: int) -> None:
        self._plan = plan
        self._file = HashedFile(folder, f"shard.{number:05d}.mds")
        first, end = plan.part_range(number)
        config = json.dumps(_config(plan), sort_keys=True).encode()
        head = 4 + 4 * (end - first + 1) + len(config)
        places = head + np.arange(end - first + 1, dtype=np.int64) * plan.row_bytes
        self._file.write(np.array([end - first], "<u4"))
        self._file.write(places.astype("<u4"))
        self._file.write(config)

    def add(self, chunk: Chunk) -> None:
        self._file.write(packed_tokens(chunk, self._plan))

    def finish(self) -> list[FileEntry]:
        return [self._file.finish()]

    def abandon(self) -> None:
        self._file.__exit__(None, None, None)


def _config(plan: ExportPlan) -> dict[str, Any]:
    return {
        "version": MDS_VERSION,
        "format": "mds",
        "compression": None,
        "hashes": ["sha256"],
        "size_limit": plan.file_samples * plan.row_bytes,
        "column_names": ["tokens"],
        "column_encodings": [f"ndarray:{plan.dtype}:{plan.seq_len}"],
        "column_sizes": [plan.row_bytes],
    }


# Parquet for Hugging Face `datasets`: `load_dataset(folder)`, or any reader of Parquet.
#
#     data/train-00000-of-00012.parquet
#
# Column `input_ids` (list of int32) is a sample, padded. With lineage also `position` in the run's
# order, `group`, `shard` and `sample` of the version, and for each piece of a document in the sample
# `doc_ids` (hex), `doc_offsets`, `doc_lengths` and `doc_token_offsets`, as in the shards' spans.

COLUMNS: dict[str, tuple[str, bool]] = {"input_ids": ("int32", True)}
LINEAGE_COLUMNS: dict[str, tuple[str, bool]] = {
    "position": ("int64", False),
    "group": ("string", False),
    "shard": ("string", False),
    "sample": ("int32", False),
    "doc_ids": ("string", True),
    "doc_offsets": ("int32", True),
    "doc_lengths": ("int32", True),
    "doc_token_offsets": ("int32", True),
}
"""Name: type, and whether it is a list."""


class HfParquet:
    takes_lineage = True

    def __init__(self, manifest: Manifest) -> None:
        self._groups = np.array([group.id for group in manifest.groups])
        self._shards = np.array([s.name for group in manifest.groups for s in group.shards])

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "HfPart":
        return HfPart(folder, plan, number, self._groups, self._shards)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        return []


class HfPart:
    """One file; a chunk of the stream is a row group."""

    def __init__(
        self, folder: Path, plan: ExportPlan, number: int, groups: Any, shards: Any
    ) -> None:
        self._groups, self._shards = groups, shards
        self._schema = schema(plan.has_lineage)
        self._file = HashedFile(folder, f"data/train-{number:05d}-of-{plan.parts:05d}.parquet")
        self._writer = pq.ParquetWriter(
            self._file, self._schema, compression="zstd", compression_level=3, use_dictionary=False
        )

    def add(self, chunk: Chunk) -> None:
        bounds = np.arange(len(chunk.tokens) + 1) * chunk.tokens.shape[1]
        columns = [_lists(pa.array(bounds, pa.int32()), pa.array(chunk.tokens.ravel()))]
        if chunk.spans is not None:
            spans, bounds = chunk.spans.spans, chunk.spans.offsets()
            hexed = pa.array([doc_id.hex() for doc_id in chunk.spans.doc_ids().to_pylist()])
            columns += [
                pa.array(chunk.positions),
                pa.array(self._groups[chunk.groups]),
                pa.array(self._shards[chunk.shards]),
                pa.array(chunk.samples, pa.int32()),
                _lists(bounds, hexed.cast(pa.string())),
                *(_lists(bounds, pa.array(spans[name])) for name in ("offset", "length", "within")),
            ]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, len(chunk.tokens)))

    def finish(self) -> list[FileEntry]:
        self._writer.close()
        return [self._file.finish()]

    def abandon(self) -> None:
        self._file.__exit__(None, None, None)


def schema(has_lineage: bool) -> pa.Schema:
    """Columns with the features that `datasets` reads from the file's metadata."""
    columns = COLUMNS | (LINEAGE_COLUMNS if has_lineage else {})
    fields, features = [], {}
    for name, (kind, is_list) in columns.items():
        value = pa.type_for_alias(kind)
        feature: dict[str, Any] = {"dtype": kind, "_type": "Value"}
        fields.append(pa.field(name, pa.list_(value) if is_list else value))
        features[name] = {"feature": feature, "_type": "Sequence"} if is_list else feature
    note = json.dumps({"info": {"features": features}}, sort_keys=True)
    return pa.schema(fields, metadata={"huggingface": note})


def _lists(bounds: pa.Array, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(bounds, values)
