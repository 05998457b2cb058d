"""A small store, exports of it, and plain readers of each format, written from its description."""

import itertools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from corpus_assets.shards.export.plan import ExportPlan, make_plan
from corpus_assets.shards.export.run import export_version
from corpus_assets_tests.shards.small_corpus import make_documents, make_store
from corpus_loader import Loader, Manifest

GROUPS = {
    "S1/web/high": make_documents(1, 80, 100),
    "S1/web/low": make_documents(2, 50, 90),
    "S2/code/mid": make_documents(3, 40, 200),
}
PHASES = [
    (4, {"S1/web/high": 8, "S1/web/low": 5, "S2/code/mid": 11}),
    (3, {"S1/web/high": 14, "S2/code/mid": 10}),
]
SMALL_FILES = 4096  # bytes: many parts from a small corpus


def store_at(root: Path, packing_seq_len: int = 64) -> Manifest:
    return make_store(root, GROUPS, PHASES, seq_len=packing_seq_len)


def plan_of(manifest: Manifest, layout: str, **wishes: Any) -> ExportPlan:
    wishes = {"file_bytes": SMALL_FILES} | wishes
    return make_plan(manifest, manifest.digest(), layout, **wishes)


def export_to(
    out: Path, manifest: Manifest, root: Path, layout: str, workers: int = 1, **wishes: Any
) -> dict[str, Any]:
    plan = plan_of(manifest, layout, **wishes)
    return export_version(
        manifest, manifest.dump(), root, plan, out, tokenizer=b"{}", workers=workers
    )


def loader_rows(
    manifest: Manifest, root: Path, seed: int | None = None, first: int = 0, end: int | None = None
) -> np.ndarray:
    """The loader's samples at positions [first, end)."""
    loader = Loader(manifest, root, seed, global_batch=1)
    stop = len(loader.order) if end is None else end
    return np.concatenate([loader.at(step).tokens for step in range(first, stop)])


def read_megatron(folder: Path) -> list[list[int]]:
    """Every document by the index's bytes, as Megatron-LM's IndexedDataset finds it."""
    index, data = (folder / "corpus.idx").read_bytes(), (folder / "corpus.bin").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, bounds = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    letter, size = {4: ("i", 4), 8: ("H", 2)}[code]
    lengths = struct.unpack_from(f"<{sequences}i", index, 34)
    pointers = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
    documents = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * bounds
    assert documents == tuple(range(sequences + 1))
    assert all(at + n * size <= len(data) for at, n in zip(pointers, lengths, strict=True))
    return [
        list(struct.unpack_from(f"<{n}{letter}", data, at))
        for at, n in zip(pointers, lengths, strict=True)
    ]


def read_mds(folder: Path) -> list[list[int]]:
    """Every sample through index.json and the shards' own offsets."""
    samples = []
    for shard in json.loads((folder / "index.json").read_bytes())["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"]
        (count,) = struct.unpack_from("<I", data)
        places = struct.unpack_from(f"<{count + 1}I", data, 4)
        assert (count, places[-1]) == (shard["samples"], len(data))
        own = json.loads(data[4 + 4 * (count + 1) : places[0]])
        assert own.items() <= shard.items()
        kind, dtype, length = shard["column_encodings"][0].split(":")
        assert (kind, shard["column_names"]) == ("ndarray", ["tokens"])
        for first, end in itertools.pairwise(places):
            values = np.frombuffer(data[first:end], dtype)
            assert len(values) == int(length)
            samples.append(values.tolist())
    return samples


def read_datatrove(folder: Path, seq_len: int) -> tuple[list[list[int]], list[list[int]]]:
    """Samples, and in each the ends of documents, file after file."""
    samples: list[list[int]] = []
    ends: list[list[int]] = []
    for path in sorted(folder.glob("*.ds")):
        name, count, _ = path.with_name(path.name + ".metadata").read_text().split("\n")
        size = int(name.rpartition("|")[2])
        tokens = np.frombuffer(path.read_bytes(), {2: np.uint16, 4: np.uint32}[size])
        assert len(tokens) == int(count)
        rows = tokens.reshape(-1, seq_len)
        samples += rows.tolist()
        marks = np.frombuffer(path.with_name(path.name + ".index").read_bytes(), np.uint64)
        assert (np.diff(marks.astype(np.int64)) > 0).all()
        assert int(marks[-1]) == len(tokens)
        for row in range(len(rows)):
            inside = marks[(marks > row * seq_len) & (marks <= (row + 1) * seq_len)]
            ends.append((inside.astype(np.int64) - row * seq_len).tolist())
    return samples, ends


def read_hf(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in sorted((folder / "data").iterdir()):
        rows += pq.read_table(path).to_pylist()
    return rows


def read_samples(folder: Path, layout: str, seq_len: int = 64) -> list[list[int]]:
    """The samples of any format; those of Megatron-LM are without padding."""
    if layout == "megatron":
        return read_megatron(folder)
    if layout == "mds":
        return read_mds(folder)
    if layout == "datatrove":
        return read_datatrove(folder, seq_len)[0]
    return [row["input_ids"] for row in read_hf(folder)]
