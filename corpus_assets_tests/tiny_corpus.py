"""A corpus of a dozen pages, as a person makes it in the first minutes: one file and one recipe."""

import json
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
tokenizer: {train: {}}
shards: {seq_len: 256}
mixture:
  domains: {web: 1.0}
  tiers: {all: 1.0}
  block_samples: 8
"""
HOST = "tiny.example.org"


def make_tiny_corpus(folder: Path, pages: int = 12) -> Path:
    """Write pages and recipe to a folder; returns the recipe's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"url": f"https://{HOST}/page-{i}", "text": prose("tiny", i, sentences=30)}
        for i in range(pages)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pages.jsonl").write_text(lines, encoding="utf-8")
    recipe = folder / "tiny.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe
