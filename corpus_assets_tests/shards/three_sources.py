"""A corpus of three sources of a dozen texts each, and a recipe that tests change."""

import json
from pathlib import Path
from typing import Any

import yaml

from corpus_assets_tests.small_corpus import prose

RECIPE: dict[str, Any] = {
    "name": "grouped",
    "seed": 5,
    "sources": [
        {
            "name": name,
            "format": "jsonl",
            "domain": domain,
            "fields": {"key": "id"},
            "snapshots": {f"{name}-1": f"{name}.jsonl"},
        }
        for name, domain in (("forum", "web"), ("news", "web"), ("library", "books"))
    ],
    "signals": {"families": [{"family": "gopher_quality"}]},
    "selection": {
        "rules": [{"name": "words", "signal": "n_words", "min": 5}],
        "tiers": {
            "signal": "n_words", "names": ["high", "low"], "shares": [0.5, 0.5],
            "default": "low", "min_documents": 1,
        },
    },
    "clean_text": {"boilerplate": {"domains": []}},
    "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
    "shards": {"seq_len": 64, "tokens_per_shard": 2048},
    "mixture": {
        "shares": {"domain": {"web": 0.67, "books": 0.33}},
        "weights": {"tier": {"high": 2, "low": 1}},
        "block_samples": 24,
        "max_epochs": 100,
    },
}  # fmt: skip
TEXTS = {
    name: {f"{name}-{i}": prose(name, i) + "\n" + prose(f"{name} again", i) * (i % 3)
           for i in range(12)}
    for name in ("forum", "news", "library")
}  # fmt: skip


TOPICS = ("algebra", "geometry", "golf", None)


def write(folder: Path, changes: dict[str, Any], texts: dict[str, dict[str, str]] = TEXTS) -> Path:
    """Write a corpus and its recipe; dotted keys of `changes` enter lists by number."""
    folder.mkdir(parents=True)
    for name, entries in texts.items():
        rows = (
            {"id": key, "text": text, "topic": TOPICS[i % 4]}
            for i, (key, text) in enumerate(entries.items())
        )
        lines = (json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    recipe = json.loads(json.dumps(RECIPE))
    for dotted, value in changes.items():
        *parents, last = dotted.split(".")
        place: Any = recipe
        for key in parents:
            place = place[int(key)] if key.isdigit() else place.setdefault(key, {})
        place[last] = value
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    return path
