"""Tokenizing: our encoder beside the Hugging Face library it must agree with.

    python benchmarks/tokenizing.py --texts FILE.jsonl[.gz] ... [--vocab 128000]

Trains a byte-level BPE tokenizer on the texts (or takes `--tokenizer tokenizer.json`), then
encodes them by turns with `Encoder` (fast engine, the sample that is checked against the oracle
included) and with `tokenizers.Tokenizer.encode_batch`, one thread each. Prints CPU seconds per
1,000 documents and the ratio, and compares every id. Without `--texts` the demo's books serve.
"""

import argparse
import gzip
import json
import os
import statistics
import time
from pathlib import Path

from machine import machine

os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

from tokenizers import Tokenizer

from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="JSON lines with `text`")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json to use")
    parser.add_argument("--vocab", type=int, default=128_000)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine()}\n")
    texts = read_texts(options.texts)[: options.documents]
    data = (
        options.tokenizer.read_bytes()
        if options.tokenizer
        else train_tokenizer(texts, TokenizerSettings(vocab_size=options.vocab))
    )
    ours, theirs = Encoder(data), Tokenizer.from_str(data.decode())
    theirs.encode_special_tokens = True
    if not ours.has_fast_engine:
        print("no fast engine for this tokenizer: both columns are the same library")
    fast, slow = [], []
    for _ in range(options.rounds):
        started = time.process_time()
        batch = ours.encode_batch(texts)
        fast.append(time.process_time() - started)
        started = time.process_time()
        encodings = theirs.encode_batch(texts, add_special_tokens=False)
        slow.append(time.process_time() - started)
    different = sum(batch[i][:-1].tolist() != encoding.ids for i, encoding in enumerate(encodings))
    size = sum(len(text.encode()) for text in texts)
    print(f"{len(texts):,} documents, {size / 1e6:.1f} MB, vocabulary {ours.vocab_size:,}")
    for name, seconds in (("Encoder", fast), ("tokenizers encode_batch", slow)):
        best = statistics.median(seconds)
        print(
            f"{name:26}{best / len(texts) * 1000:9.3f} CPU-s per 1,000 documents"
            f"{size / best / 1e6:9.1f} MB/s"
        )
    print(
        f"ratio {statistics.median(slow) / statistics.median(fast):.1f}x, ids differ in {different} documents"
    )


def read_texts(paths: list[Path]) -> list[str]:
    if not paths:
        library = ROOT / "corpus_assets" / "demo" / "library"
        return [p.read_text(encoding="utf-8") for p in sorted(library.rglob("*.*")) if p.is_file()]
    texts: list[str] = []
    for path in paths:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return texts


if __name__ == "__main__":
    main()
