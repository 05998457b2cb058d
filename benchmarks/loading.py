"""The loader beside mosaicml-streaming and litdata, and beside a bare copy of memory.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-loading.txt
    python benchmarks/loading.py --peer-python PEER/bin/python

Made-up documents are packed into shards; the same samples are written by each peer's own writer
in its own format. Then everybody reads all of them, one process, files in the page cache: ours in
the global shuffled order of a run, the peers in file order (which spares them the jumps), sample by
sample and stacked to batches, and sample by sample with jumps. Every peer's tokens are compared
with ours once, outside the clock. A bare copy is `numpy.copyto` of as many rows, one by one in the same order, from
an array in memory. Figures are samples a CPU second, the best of the rounds, the sides in turn.
"""

import argparse
import hashlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

from corpus_assets.shards.format import build_shard
from corpus_assets.shards.settings import PackSettings
from corpus_assets.shards.tokens import TokenBatch, TokenizerInfo
from corpus_loader import Loader
from corpus_loader.manifest import (
    FileRef,
    Group,
    Manifest,
    Phase,
    RecipeRef,
    ShardRef,
    TokenizerRef,
)

PEER = Path(__file__).with_name("loading_peer.py")
TOKENIZER = TokenizerInfo(hashlib.sha256(b"made up").hexdigest(), 128_000, 0, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--seq-len", type=int, default=8192)
    parser.add_argument("--tokens", type=int, default=2**26)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        manifest = make_store(folder, options)
        loader = Loader(manifest, folder, global_batch=options.batch)
        steps = len(loader)
        rows = np.concatenate([loader.at(step).tokens for step in range(steps)])
        print(
            f"{len(rows)} samples of {options.seq_len} tokens, {rows.nbytes / 2**20:.0f} MiB, "
            f"{options.shards} shards, batches of {options.batch}\n"
        )
        figures = measure(loader, rows, options)
        if options.peer_python:
            figures |= measure_peers(folder, rows, options)
        show(figures, 4 * options.seq_len)
        print()
        seek(manifest, folder, options)


def make_store(folder: Path, options: argparse.Namespace) -> Manifest:
    """One group of shards of made-up documents, and a run that is one pass over it."""
    generator = np.random.default_rng(1)
    each = options.tokens // options.shards
    refs = []
    for number in range(options.shards):
        lengths = generator.lognormal(6.5, 1.0, each // 1000).astype(np.int64) + 2
        lengths = lengths[np.cumsum(lengths) <= each]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        flat = generator.integers(2, 128_000, int(offsets[-1]), dtype=np.int32)
        flat[offsets[1:] - 1] = 0
        ids = [hashlib.blake2b(b"%d/%d" % (number, i), digest_size=16).digest()
               for i in range(len(lengths))]  # fmt: skip
        made = build_shard(
            "S/web/mid", number, ids, TokenBatch(flat, offsets), seed=1,
            settings=PackSettings(seq_len=options.seq_len), tokenizer=TOKENIZER,
        )  # fmt: skip
        files = []
        for name, content in made.files.items():
            (folder / name).write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            files.append(FileRef(path=name, sha256=digest, bytes=len(content)))
        header = made.header
        refs.append(
            ShardRef(
                name=f"shard_{number:05d}",
                bin=files[0],
                idx=files[1],
                spans=files[2],
                header=files[3],
                samples=header.samples,
                tokens=header.tokens,
                documents=header.documents,
            )
        )
    totals = {
        what: sum(getattr(ref, what) for ref in refs) for what in ("samples", "tokens", "documents")
    }
    group = Group(id="S/web/mid", snapshot="S", domain="web", tier="mid", shards=refs, **totals)
    blocks = totals["samples"] // options.batch
    return Manifest(
        version="made-up", recipe=RecipeRef(name="made-up", digest="0" * 64), lock_digest="0" * 64,
        seed=1, seq_len=options.seq_len, block_samples=options.batch, groups=(group,),
        tokenizer=TokenizerRef(path="t.json", sha256=TOKENIZER.sha256, vocab_size=128_000,
                               eod_id=0, pad_id=1),
        phases=(Phase(name="main", blocks=blocks, counts={"S/web/mid": options.batch}),),
    )  # fmt: skip


def every(call: Callable[[int], object], steps: int) -> None:
    for step in range(steps):
        call(step)


def best(work: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Smallest CPU time of each, in turn, after one round that is not counted.

    Nobody waits for a disk here, so it is the wall time of a machine with nothing else to do.
    """
    taken: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, call in work.items():
            started = time.process_time()
            call()
            spent = time.process_time() - started
            if number:
                taken[name] = min(taken.get(name, spent), spent)
    return taken


def measure(
    loader: Loader, rows: np.ndarray, options: argparse.Namespace
) -> dict[str, tuple[float, str]]:
    """Samples a second of the loader and of a bare copy of the same rows in the same order."""
    steps, batch = len(loader), options.batch
    memory = rows[np.random.default_rng(2).permutation(len(rows))]  # the corpus, in memory
    jumps = np.random.default_rng(3).permutation(len(rows)).reshape(steps, batch)
    buffer = np.empty((batch, options.seq_len), np.int32)

    def copy_new() -> None:
        for step in range(steps):
            fresh = np.empty((batch, options.seq_len), np.int32)
            for row, place in enumerate(jumps[step].tolist()):
                np.copyto(fresh[row], memory[place])

    def copy_reused() -> None:
        for step in range(steps):
            for row, place in enumerate(jumps[step].tolist()):
                np.copyto(buffer[row], memory[place])

    def iterate() -> None:
        loader.step = 0
        for _ in loader:
            pass

    def with_segments() -> None:
        for step in range(steps):
            loader.segments(loader.at(step, buffer))

    work = {
        "bare copy, new arrays": copy_new,
        "ours, at(step)": lambda: every(loader.at, steps),
        "ours, iterating with prefetch hints": iterate,
        "bare copy, one buffer": copy_reused,
        "ours, at(step, buffer)": lambda: every(lambda step: loader.at(step, buffer), steps),
        "ours, at(step, buffer) and segments": with_segments,
        "ours, views(step)": lambda: every(loader.views, steps),
    }
    taken = best(work, options.rounds)
    return {name: (len(rows) / spent, "equal") for name, spent in taken.items()}


def measure_peers(
    folder: Path, rows: np.ndarray, options: argparse.Namespace
) -> dict[str, tuple[float, str]]:
    np.save(folder / "rows.npy", rows)
    command = [options.peer_python, PEER, folder / "rows.npy", folder / "peers",
               options.rounds, options.batch]  # fmt: skip
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {name: (each["samples_s"], each["tokens"]) for name, each in found.items()}


def show(figures: dict[str, tuple[float, str]], row_bytes: int) -> None:
    ours = figures["ours, at(step)"][0]
    print("| | samples/s | GB/s | ours, at(step), is so many times as fast | tokens |")
    print("|---|---|---|---|---|")
    for name, (rate, tokens) in figures.items():
        shown = f"{rate:,.0f} | {rate * row_bytes / 1e9:.1f} | {ours / rate:.2f}"
        print(f"| {name} | {shown} | {tokens} |")


def seek(manifest: Manifest, folder: Path, options: argparse.Namespace) -> None:
    """Time from a step number to its sample: for steps drawn at random in runs that were nowhere
    yet, and for the steps after those."""
    one = Loader(manifest, folder, global_batch=1)
    buffer = np.empty((1, options.seq_len), np.int32)
    jumps, steps = [], []
    for seed, step in enumerate(np.random.default_rng(4).integers(0, len(one) - 1, 400).tolist()):
        run = one.with_seed(seed)
        for taken, place in ((jumps, step), (steps, step + 1)):
            started = time.perf_counter()
            run.at(place, buffer)
            taken.append(time.perf_counter() - started)
    for name, taken in (("a jump to a random step", jumps), ("the step after it", steps)):
        middle, late = np.percentile(taken, [50, 99]) * 1e6
        print(f"{name}, its sample copied: {middle:,.0f} us (median), {late:,.0f} us (99 of 100)")


if __name__ == "__main__":
    main()
