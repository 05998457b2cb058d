"""MosaicML Streaming's MDS shards, for `StreamingDataset(local=folder, shuffle=False)`.

One column, `tokens`: a numpy array of fixed length. A shard is

    uint32        number of samples S
    uint32[S + 1] byte where each sample begins in the file, then the file's size
    JSON          how the shard was written: columns, encodings, limits
    samples       end to end, nothing between them

and `index.json` lists the shards with their sizes and hashes.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus_assets.shards.export.files import FileEntry, HashedFile, PartRecord, write_file
from corpus_assets.shards.export.layout import packed_tokens
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk

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
