"""The reading side of export_readers.py, for an environment that has the readers."""

import contextlib
import importlib
import importlib.metadata
import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ["HF_DATASETS_OFFLINE"] = "1"


def read_megatron(folder: Path, rows: np.ndarray, eod_id: int, pad_id: int) -> int:
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    dataset = IndexedDataset(str(folder / "megatron" / "corpus"), multimodal=False, mmap=True)
    assert len(dataset) == len(rows)
    assert dataset.document_indices.tolist() == list(range(len(rows) + 1))
    for number, row in enumerate(rows):
        assert np.array_equal(dataset[number], row[row != pad_id])
    return len(dataset)


def read_datatrove(folder: Path, rows: np.ndarray, eod_id: int, pad_id: int) -> int:
    from datatrove.utils.dataset import DatatroveFolderDataset

    dataset = DatatroveFolderDataset(
        str(folder / "datatrove"), rows.shape[1] - 1, token_size=4, return_positions=True
    )
    assert len(dataset) == len(rows)
    for number, row in enumerate(rows):
        item = dataset[number]
        assert np.array_equal(item["input_ids"].numpy(), row)
        starts = np.zeros(len(row), dtype=bool)
        starts[1:] = (row[:-1] == eod_id) | ((row[1:] == pad_id) & (row[:-1] != pad_id))
        since = np.maximum.accumulate(np.where(starts, np.arange(len(row)), 0))
        assert np.array_equal(item["positions"].numpy(), np.arange(len(row)) - since)
    return len(dataset)


def read_streaming(folder: Path, rows: np.ndarray, eod_id: int, pad_id: int) -> int:
    from streaming import StreamingDataset

    dataset = StreamingDataset(
        local=str(folder / "mds"), shuffle=False, batch_size=1, validate_hash="sha256"
    )
    assert dataset.num_samples == len(rows)
    for number, row in enumerate(rows):
        assert np.array_equal(dataset[number]["tokens"], row)
    read = 0
    for sample, row in zip(dataset, rows, strict=True):
        assert np.array_equal(sample["tokens"], row)
        read += 1
    return read


def read_datasets(folder: Path, rows: np.ndarray, eod_id: int, pad_id: int) -> int:
    from datasets import load_dataset

    dataset = load_dataset(str(folder / "hf-parquet"), split="train", cache_dir=str(folder / "hf"))
    assert len(dataset) == len(rows)
    assert dataset.features["input_ids"].feature.dtype == "int32"
    for row, item in zip(rows, dataset.with_format("numpy"), strict=True):
        assert np.array_equal(item["input_ids"], row)
    streamed = load_dataset(str(folder / "hf-parquet"), split="train", streaming=True)
    for row, item in zip(rows, streamed, strict=True):
        assert item["input_ids"] == row.tolist()
    return len(dataset)


READERS = {
    "megatron-core": ("megatron.core", read_megatron),
    "datatrove": ("datatrove", read_datatrove),
    "mosaicml-streaming": ("streaming", read_streaming),
    "datasets": ("datasets", read_datasets),
}


def main() -> None:
    folder, eod_id, pad_id = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rows = np.load(folder / "rows.npy", mmap_mode="r")
    found = {}
    for name, (module, read) in READERS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        with contextlib.redirect_stdout(sys.stderr):
            samples = read(folder, rows, eod_id, pad_id)
        version = importlib.metadata.version(name)
        found[f"{name} {version}"] = {"samples": samples, "tokens": "equal to the loader's"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
