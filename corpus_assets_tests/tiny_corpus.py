"""A corpus of a dozen pages, as a person makes it in the first minutes: one file and one recipe."""

import json
from collections.abc import Mapping
from pathlib import Path

from corpus_assets_tests.small_corpus import prose

RECIPE = """name: tiny
seed: 7
sources:
  - name: pages
    format: jsonl
    domain: web
    fields: {url: url}
    snapshots: {pages-1: pages.jsonl}
signals:
  families: [{family: gopher_quality}]
selection:
  rules:
    - {name: word_count, signal: n_words, min: 50}
tokenizer: {train: {TRAIN}}
shards: {seq_len: 256}
mixture:
  block_samples: 8
"""
HOST = "tiny.example.org"


def make_tiny_corpus(
    folder: Path, pages: int = 12, others: Mapping[str, str] = {}, vocab_size: int | None = None
) -> Path:
    """Write pages and recipe to a folder; returns the recipe's path. `others`: more pages, text by
    address. A vocabulary of some hundred saves half a second."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"url": f"https://{HOST}/page-{i}", "text": prose("tiny", i, sentences=30)}
        for i in range(pages)
    ]
    rows += [{"url": url, "text": text} for url, text in others.items()]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pages.jsonl").write_text(lines, encoding="utf-8")
    recipe = folder / "tiny.yaml"
    train = "" if vocab_size is None else f"vocab_size: {vocab_size}"
    recipe.write_text(RECIPE.replace("TRAIN", train), encoding="utf-8")
    return recipe
