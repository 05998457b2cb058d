"""The peers' side of loading.py: samples written by each peer's own writer, then read again.

    python loading_peer.py ROWS.npy FOLDER ROUNDS BATCH

Prints one line of JSON: samples a CPU second by reader, and whether the tokens were equal.
"""

import contextlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 64


def best(read: Callable[[], None], rounds: int) -> float:
    """Smallest CPU time of all threads of this process, after one round that is not counted."""
    taken = []
    for _ in range(rounds + 1):
        started = time.process_time()
        read()
        taken.append(time.process_time() - started)
    return min(taken[1:])


def drain(samples: Iterable[object]) -> None:
    for _ in samples:
        pass


def batched(samples: Iterable[Any]) -> Iterator[list[Any]]:
    """Samples in lists as long as a batch, as a trainer wants them."""
    group = []
    for sample in samples:
        group.append(sample)
        if len(group) == BATCH:
            yield group
            group = []


def mosaicml(rows: np.ndarray, folder: Path, rounds: int) -> dict[str, float]:
    from streaming import MDSWriter, StreamingDataset

    place = str(folder / "mds")
    columns = {"tokens": f"ndarray:int32:{rows.shape[1]}"}
    with MDSWriter(columns=columns, out=place) as writer:
        for row in rows:
            writer.write({"tokens": row})
    dataset = StreamingDataset(local=place, shuffle=False, batch_size=64)
    for number, row in enumerate(rows):
        assert np.array_equal(dataset[number]["tokens"], row)
    jumps = np.random.default_rng(3).permutation(len(rows)).tolist()

    def batches() -> None:
        for group in batched(dataset):
            np.stack([sample["tokens"] for sample in group])

    return {
        "single samples, in order": best(lambda: drain(dataset), rounds),
        "single samples, jumping": best(lambda: drain(dataset[n] for n in jumps), rounds),
        "batches, in order": best(batches, rounds),
    }


def litdata(rows: np.ndarray, folder: Path, rounds: int) -> dict[str, float]:
    import torch
    from litdata.streaming import StreamingDataset
    from litdata.streaming.cache import Cache
    from litdata.streaming.item_loader import TokensLoader

    place = str(folder / "litdata")
    cache = Cache(place, chunk_bytes="64MB", item_loader=TokensLoader())
    for number, row in enumerate(rows):
        cache[number] = torch.from_numpy(row)
    cache.done()
    cache.merge()
    length = rows.shape[1]
    dataset = StreamingDataset(place, item_loader=TokensLoader(block_size=length), shuffle=False)
    for item, row in zip(dataset, rows, strict=True):
        assert np.array_equal(item.numpy(), row)
    jumps = np.random.default_rng(3).permutation(len(rows)).tolist()

    def batches() -> None:
        for group in batched(dataset):
            torch.stack(group)

    return {
        "single samples (views), in order": best(lambda: drain(dataset), rounds),
        "single samples (views), jumping": best(lambda: drain(dataset[n] for n in jumps), rounds),
        "batches, in order": best(batches, rounds),
    }


def main() -> None:
    rows = np.load(sys.argv[1])
    folder, rounds = Path(sys.argv[2]), int(sys.argv[3])
    global BATCH
    BATCH = int(sys.argv[4])
    found = {}
    peers = {"mosaicml-streaming": mosaicml, "litdata": litdata}
    with contextlib.redirect_stdout(sys.stderr):
        for package, measure in peers.items():
            for how, spent in measure(rows, folder, rounds).items():
                name = f"{package} {importlib.metadata.version(package)}, {how}"
                found[name] = {"samples_s": len(rows) / spent, "tokens": "equal"}
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # peers keep threads that would wait


if __name__ == "__main__":
    main()
