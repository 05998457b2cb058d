"""Parquet for Hugging Face `datasets`: `load_dataset(folder)`, or any reader of Parquet.

    data/train-00000-of-00012.parquet

Column `input_ids` (list of int32) is a sample, padded. With lineage also `position` in the run's
order, `group`, `shard` and `sample` of the version, and for each piece of a document in the sample
`doc_ids` (hex), `doc_offsets`, `doc_lengths` and `doc_token_offsets`, as in the shards' spans.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.shards.export.files import FileEntry, HashedFile, PartRecord
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk
from corpus_loader import Manifest

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
