"""Exports opened by the real readers: every token compared with the loader, and time to write.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-export.txt
    python benchmarks/export_readers.py --peer-python PEER/bin/python

Made-up documents are packed into shards and exported in every format. Megatron-LM's
`IndexedDataset`, datatrove's `DatatroveFolderDataset`, mosaicml-streaming's `StreamingDataset`
and Hugging Face `load_dataset` then read them. Where the libraries do not install together, give
`--peer-python` once for each environment; a reader that an environment lacks is left out there.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from loading import make_store
from machine import machine

from corpus_assets.shards.export.plan import FORMATS, make_plan
from corpus_assets.shards.export.run import export_version
from corpus_loader import Loader

PEER = Path(__file__).with_name("export_readers_peer.py")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python", type=Path, action="append", default=[])
    parser.add_argument("--seq-len", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=2**24)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "store").mkdir()
        manifest = make_store(folder / "store", options)
        loader = Loader(manifest, folder / "store", 5, global_batch=options.batch)
        rows = np.concatenate([loader.at(step).tokens for step in range(len(loader))])
        np.save(folder / "rows.npy", rows)
        print(f"{len(rows)} samples of {options.seq_len} tokens, {rows.nbytes / 2**20:.0f} MiB\n")
        small = make_plan(manifest, manifest.digest(), "datatrove", tokens=4 * options.seq_len)
        export_version(
            manifest, manifest.dump(), folder / "store", small, folder / "kernels"
        )  # compiled
        print("| format | files | MiB | written, MiB of tokens a CPU second |")
        print("|---|---|---|---|")
        for layout in FORMATS:
            plan = make_plan(manifest, manifest.digest(), layout, seed=5, file_bytes=2**24)
            started = time.process_time()
            body = export_version(
                manifest, manifest.dump(), folder / "store", plan, folder / layout,
                workers=options.workers,
            )  # fmt: skip
            rate = rows.nbytes / 2**20 / (time.process_time() - started)
            size = sum(file["bytes"] for file in body.files) / 2**20
            print(f"| {layout} | {len(body.files)} | {size:.1f} | {rate:,.0f} |")
        print("\n| reader | samples read | tokens |")
        print("|---|---|---|")
        for python in options.peer_python:
            command = [python, PEER, folder, manifest.tokenizer.eod_id, manifest.tokenizer.pad_id]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            for name, found in json.loads(done.stdout.splitlines()[-1]).items():
                print(f"| {name} | {found['samples']} | {found['tokens']} |")


if __name__ == "__main__":
    main()
