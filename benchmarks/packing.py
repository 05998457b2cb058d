"""Packing ten million document lengths: time, memory, utilisation, documents cut.

    python benchmarks/packing.py

Lengths are log-normal (median 665 tokens, mean 1,100: web text). Peak memory is of the whole
process, interpreter and kernels included; the lengths alone are 80 MB. Compilation is not counted.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from machine import machine

from corpus_assets.shards.pack import lay
from corpus_assets.shards.settings import PackSettings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--seq-len", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--one", choices=["best_fit", "concat"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.documents, options.one, options.seq_len[0])
        return
    print(f"{machine()}\n")
    print(f"{options.documents:,} documents")
    print()
    print("| packing | seq_len | CPU s | peak MiB | utilisation | samples over the fewest possible "
          "| documents cut that fit a sample |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for seq_len in options.seq_len:
        for packing in ("best_fit", "concat"):
            command = [sys.executable, __file__, "--one", packing, "--seq-len", str(seq_len)]
            command += ["--documents", str(options.documents)]
            sys.stdout.flush()
            subprocess.run(command, check=True)  # its own process: its own peak of memory


def measure(documents: int, packing: str, seq_len: int) -> None:
    settings = PackSettings.model_validate({"seq_len": seq_len, "packing": packing})
    generator = np.random.default_rng(1)
    lay(np.array([1, seq_len + 1], dtype=np.int64), settings)
    lengths = generator.lognormal(6.5, 1.0, documents).astype(np.int64) + 1
    started = time.process_time()
    laid = lay(lengths, settings)
    spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fewest = -(-int(lengths.sum()) // seq_len)
    pieces = np.bincount(laid.document, minlength=documents)
    cut = int(np.count_nonzero((pieces > 1) & (lengths <= seq_len)))
    print(
        f"| {packing} | {seq_len} | {spent:.2f} | {peak:,.0f} | {laid.utilisation:.4%} | "
        f"{laid.samples - fewest:,} of {fewest:,} | {cut / documents:.1%} |"
    )


if __name__ == "__main__":
    main()
