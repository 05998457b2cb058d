"""Paraphrases of benchmark items: how many are found, and what else is.

    pip download --no-deps --no-binary :all: wordllama==0.4.0.post1     # only for its vectors
    tar xzf wordllama-0.4.0.post1.tar.gz && mkdir VECTORS
    cp wordllama-0.4.0.post1/src/wordllama/weights/l2_supercat_256.safetensors \\
        VECTORS/model.safetensors
    cp wordllama-0.4.0.post1/src/wordllama/tokenizers/l2_supercat_tokenizer_config.json \\
        VECTORS/tokenizer.json
    python benchmarks/paraphrases.py --model VECTORS --evals EVALS/*.jsonl.gz \\
        --paraphrased paraphrased.jsonl.gz --texts pages.jsonl.gz \\
        --pairs rephrase/rephrase_gsm8k/=gsm8k/test/ rephrase/humaneval_python/=humaneval/

`--paraphrased`: records with `id` and `text`; `--pairs A=B` says that the id `A7` is of the item
`B7`. Defaults were chosen by half of the numbers, the even ones; `--texts` hold records with `text` and nothing of the suites.
"""

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from machine import machine

from corpus_assets.decontam.embedders import load_embedder
from corpus_assets.decontam.eval_index import build_eval_index, parse_eval_index
from corpus_assets.decontam.eval_index import read_items as read_suite
from corpus_assets.decontam.paraphrases import Paraphrases
from corpus_assets.decontam.settings import EvalIndexSettings, ParaphraseScan

SIMILARITIES = (0.6, 0.7, 0.75, 0.8, 0.85)
_FRAME = re.compile(r"\AQuestion: |\nAnswer:.*\Z", re.DOTALL)  # around a paraphrase


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--engine", default="static")
    parser.add_argument("--evals", type=Path, nargs="+", required=True)
    parser.add_argument("--paraphrased", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--max-texts", type=int, default=200)
    parser.add_argument("--min-shared", type=float, default=ParaphraseScan().min_shared)
    given = parser.parse_args()

    print(machine())
    suites = [path for path in given.evals if path.name != given.paraphrased.name]
    index = parse_eval_index(build_eval_index(read_suite(suites), EvalIndexSettings()))
    settings = ParaphraseScan(report_similarity=0.01, min_shared=given.min_shared)
    search = Paraphrases(index, load_embedder(given.engine, given.model), settings)
    ids = index.item_ids.to_pylist()
    print(f"{len(set(ids)):,} items, min_shared {given.min_shared}")

    for name in given.pairs:
        start, target = name.split("=")
        pairs = [
            (int(row["id"].removeprefix(start)), _FRAME.sub("", row["text"]))
            for row in records(given.paraphrased)
            if row["id"].startswith(start) and target + row["id"].removeprefix(start) in ids
        ]
        for half in (0, 1):
            own = [pair for pair in pairs if pair[0] % 2 == half]
            report(search, ids, own, target, f"{start}, {'odd' if half else 'even'}")
    for path in given.texts:
        false_alarms(search, path, given.max_texts)


def report(
    search: Paraphrases, ids: Sequence[str], pairs: list[tuple[int, str]], target: str, name: str
) -> None:
    """Print how many paraphrases are found as what they are, and how many as something else."""
    right = dict.fromkeys(SIMILARITIES, 0)
    wrong = dict.fromkeys(SIMILARITIES, 0)
    found: dict[int, list[tuple[str, float]]] = {}
    for one in search.find(pa.array([text for _, text in pairs], pa.large_string())):
        found.setdefault(one.row, []).append((ids[one.item], one.similarity))
    for row, (number, _) in enumerate(pairs):
        for least in SIMILARITIES:
            items = {item for item, near in found.get(row, []) if near >= least}
            right[least] += f"{target}{number}" in items
            wrong[least] += bool(items - {f"{target}{number}"})
    for least in SIMILARITIES:
        print(
            f"{name}: of {len(pairs)} at similarity {least}: {right[least] / len(pairs):.1%} found, "
            f"{wrong[least]} as (also) another item"
        )


def false_alarms(search: Paraphrases, path: Path, most: int) -> None:
    """Print in how many texts that hold no item something is found, and what it cost."""
    texts = [row["text"] for row in records(path)]
    texts = random.Random(1).sample(texts, min(most, len(texts)))
    before = time.process_time()
    found = search.find(pa.array(texts, pa.large_string()))
    spent = time.process_time() - before
    told = ", ".join(
        f"{least}: {len({one.row for one in found if one.similarity >= least})}"
        for least in SIMILARITIES
    )
    n_bytes = sum(len(text.encode()) for text in texts)
    print(f"{path.name}: texts of {len(texts)} with something found at {told}; "
          f"{spent / n_bytes * 1e6:.1f} CPU seconds a MB")  # fmt: skip


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
