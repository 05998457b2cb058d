"""Random recipes for the property test of erasure: small, cheap to run, each different."""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus_assets.recipe.load import parse_recipe
from corpus_assets.recipe.recipe import Recipe

SPANS = {
    1: {"min_bytes": 60, "join_share": 0.9},
    3: {"min_words": 9, "paragraph_share": 0.6},
    5: {"min_words": 12},
}
"""What is compared of repeated passages, for some of eight seeds."""

RECORD = ("url", "key", "text", "derived_from")  # columns of JSONL and Parquet sources

SIGNATURES = ((14, 8), (20, 5), (32, 2), (5, 4), (4, 6))
"""(bands, rows). Few bands: two members may share one bucket only, and hang on its centre."""


UNREADABLE = {"name": "unreadable", "signal": "token_divergence_m", "cutoff": "far"}
ELDEST = {
    "name": "eldest", "signal": "n_words", "min": 25, "where": {"signal": "named", "in": ["k0"]},
}  # fmt: skip
FAR = {"signal": "token_divergence_m", "drop_share": 0.04, "drop": "highest", "min_documents": 5}


def draw_sources(draw: random.Random, formats: Sequence[str]) -> list[dict[str, Any]]:
    """One source of all snapshots, or two with the last snapshot in a source of its own."""
    names = [f"s{number}" for number in range(len(formats))]
    split = len(names) if len(set(formats)) == 1 and draw.random() < 0.5 else len(names) - 1
    sources = []
    for name, some in (("first", names[:split]), ("second", names[split:])):
        if some:
            kind = formats[names.index(some[0])]
            sources.append(
                {
                    "name": name,
                    "format": kind,
                    "domain": "web" if name == "first" else "notes",
                    "fields": {} if kind == "warc" else {column: column for column in RECORD},
                    "snapshots": {n: f"snapshot-{names.index(n)}" for n in some},
                }
            )
    return sources


def draw_recipe(draw: random.Random, sources: list[dict[str, Any]], tokenizer: Path) -> Recipe:
    """A recipe over given sources. `tokenizer` is pinned by its digest."""
    keep = draw.choice(("longest", "earliest", "best_quality"))
    learned = ["classifier", "ensemble"] if keep == "best_quality" else []
    families = ["gopher_quality", "characters", *learned]
    bands, rows = draw.choice(SIGNATURES)
    tiers = {
        "signal": "mean_word_chars",
        "names": ["high", "low"],
        "shares": [0.5, 0.5],
        "default": "high",
        "min_documents": 5,
    }
    learns = {
        "positives": ["good.jsonl"],
        "negatives": ["poor.jsonl", {"snapshots": ["s0"], "max_documents": 9}],
        "train": {"epochs": 5, "dim": 4, "bucket": 100, "word_ngrams": 1},
    }
    seed = draw.randrange(2**32)
    # In every second recipe all sources are of one domain, and their weights divide it.
    if seed % 2:
        sources = [source | {"domain": "web"} for source in sources]
    is_one = len({source["domain"] for source in sources}) == 1
    domains = {"web": 1.0} if is_one else {"web": 0.7, "notes": 0.3}
    # One recipe in five says the tier of one source by hand.
    if seed % 5 == 3:
        sources = [sources[0] | {"tier": "low"}, *sources[1:]]
    # One recipe in three carries labels of its sources, and asks a rule of those that have one.
    has_labels = seed % 3 == 2
    if has_labels:
        sources = [
            source | {"fields": source["fields"] | {"labels": {"named": "key"}}}
            if source["format"] != "warc"
            else source
            for source in sources
        ]
        has_labels = any("labels" in source["fields"] for source in sources)
    is_given = all("tier" in source for source in sources)
    # One recipe in four has a language model, and grades by perplexity: low is good.
    has_model = seed % 4 == 2
    reading = [{"family": name, "models": ["m"]} for name in ("perplexity", "token_divergence")]
    if has_model:
        tiers |= {"signal": "perplexity_m", "best": "lowest"}
    # One recipe in seven grades by buckets of equal shares, and weighs them by a curve.
    curve = {"buckets": 3, "discard": 0.2, "mean": 1, "largest": 2} if seed % 7 == 1 else None
    if curve is not None:
        tiers = {key: tiers[key] for key in tiers.keys() - {"names", "shares"}} | {"buckets": 3}
    # One recipe in five keeps documents with benchmark items, and leaves them out of a phase.
    suites: list[Any] = ["evals/*.jsonl"]
    if seed % 5 == 0:
        suites = [{"files": "evals/*.jsonl", "benchmark": "mill", "split": "train"}]
    # Every second recipe with a classifier cuts sentences by their scores.
    cuts = [{"name": "quality", "min_score": 0.6}] if learned and seed % 2 else []
    # One recipe in three rewrites the text of one domain: short lines are cut out.
    step = {"family": "c4_lines", "end_marks": "", "min_words": 7, "domains": ["web"]}
    # Every second recipe rearranges half of the documents of a domain for filling in the middle.
    cut = {"fill_in_the_middle": {"domains": ["web"]}} if seed % 2 == 0 else {}
    raw: dict[str, Any] = {
        "name": "random",
        "seed": seed,
        "sources": sources,
        "signals": {
            "families": [
                *([step] if seed % 3 == 0 else []),
                *({"family": family} for family in families),
                *(reading if has_model else []),
                *([{"family": "source_labels", "labels": ["named"]}] if has_labels else []),
            ]
        },
        "perplexity": {"m": {"texts": ["good.jsonl"]}} if has_model else {},
        "classifiers": {"quality": learns} if keep == "best_quality" else {},
        "selection": {
            "rules": [
                {"name": "few_words", "signal": "n_words", "min": 20},
                {"name": "short_words", "signal": "mean_word_chars", "cutoff": "short"},
                *([UNREADABLE] if has_model else []),
                *([ELDEST] if has_labels else []),
            ],
            "cutoffs": {
                "short": {
                    "signal": "mean_word_chars",
                    "drop_share": 0.04,
                    "min_documents": 5,
                    "among": ("survivors", "distinct_survivors", "all")[seed % 3],
                    "weigh": ("documents", "characters")[seed % 2],
                },
                **({"far": FAR} if has_model else {}),
            },
            "tiers": tiers if draw.random() < 0.5 and not is_given else None,
        },
        "signatures": {"bands": bands, "rows_per_band": rows},
        "clusters": {
            "scope": draw.choice(("per_snapshot", "all", "all", 1)),
            "keep": keep,
            "min_similarity": draw.choice((0.6, 0.7, 0.7, 0.8)),
            "url": draw.random() < 0.9,
            "exact": draw.random() < 0.9,
        },
        "eval_suites": suites if draw.random() < 0.7 else [],
        # Two recipes in five cut items out; in one of five an item in two texts is common.
        "contamination": {
            "action": "cut" if seed % 5 < 2 else "drop",
            "common_documents": 1 if seed % 5 == 4 else 100,
        },
        "clean_text": {
            "boilerplate": {"min_documents": 3},
            "repeated_spans": SPANS.get(seed % 8),
            "sentences": cuts,
            "min_chars": 40,
            "tiers_by_copies": [2, 3] if seed % 5 == 2 else [],
        },
        "tokenizer": {
            "pinned": {
                "path": str(tokenizer),
                "sha256": hashlib.sha256(tokenizer.read_bytes()).hexdigest(),
            },
        },
        "shards": {
            "seq_len": draw.choice((32, 64, 200)),
            "packing": draw.choice(("best_fit", "concat")),
            "tokens_per_shard": 1024,
            "dtype": "auto" if seed % 3 == 1 else "int32",
            "group_by": {"main_script": ["latin"]} if seed % 3 == 2 else {},
            **cut,
        },
        "mixture": {
            **(
                {"temperature": {"domain": 2.0}}
                if seed % 3 == 1
                else {"shares": {"domain": domains}}
            ),
            "inside": {"domain": {"*": {"temperature": {"source": 1.0 + seed % 2}}}},
            "weights": {
                "source": {"first": 2.0},
                **({"copies": {2: 1.5, 3: 2}} if seed % 5 == 2 else {}),
                **({"main_script": {"other": 2}} if seed % 3 == 2 else {}),
            },
            "block_samples": 16,
            "max_epochs": 1000,
        },
    }
    if raw["selection"]["tiers"] is not None:
        by_tier = {"tier": {"high": 2.0, "low": 1.0}}
        raw["mixture"]["curve"] = curve
        raw["mixture"]["weights"] |= by_tier if curve is None else {}
    if seed % 5 == 0 and raw["eval_suites"]:
        raw["mixture"]["phases"] = [
            {"name": "main", "share": 0.5},
            {"name": "cooldown", "share": 0.5, "weights": {"held_back": {True: 0}}},
        ]
    return parse_recipe(raw, "random recipe")
