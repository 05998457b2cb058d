"""Calibrations: what a lock pins, and what each may still tell of a document that was removed.

A takedown resolves no calibration again, so what one holds outlives the documents it was resolved
from. Each entry says what that is; certificates and documentation quote it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corpus_assets.core.lock import Lock

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Calibration:
    """A node that a lock pins: the one file it writes, and what that may hold of a document."""

    file: str
    may_hold: Callable[[Settings, str], str]
    """From the recipe in the lock, and what follows the node in the calibration's name."""


def _always(sentence: str) -> Callable[[Settings, str], str]:
    return lambda recipe, name: sentence


def _classifier(recipe: Settings, name: str) -> str:
    least = recipe["classifiers"][name]["train"].get("min_documents")
    if least is None:
        return "every word of the texts it was trained on, readable, and how it weighs"
    return (
        f"words that stand in {least} or more of the texts it was trained on, readable, and how "
        "they weigh; rarer words and runs of words only as weights in hashed places, without their "
        "spelling"
    )


def _tokenizer(recipe: Settings, name: str) -> str:
    train = recipe["tokenizer"].get("train")
    if train is None:
        return "nothing of this corpus: it was trained elsewhere"
    least = train.get("min_documents")
    if least is None:
        return "pieces of words that stand in the sample it was trained on, readable"
    return (
        f"pieces of words that stand in {least} or more different texts of the sample it was "
        "trained on, readable; nothing longer or rarer"
    )


CALIBRATIONS: Mapping[str, Calibration] = {
    "classifiers": Calibration("classifier.bin", _classifier),
    "score_ranks": Calibration(
        "ranks.json", _always("quantiles of scores over many documents; no text")
    ),
    "perplexity_models": Calibration(
        "perplexity.bin",
        _always(
            "64-bit hashes of words, and how often they follow each other, from files that the "
            "recipe names; no spelling, and no documents of snapshots"
        ),
    ),
    "eval_index": Calibration(
        "eval_index.bin", _always("items of evaluation suites; nothing of documents")
    ),
    "common_items": Calibration(
        "common_items.parquet",
        _always("names of evaluation items, and in how many documents each was found; no text"),
    ),
    "quality_cutoffs": Calibration(
        "cutoffs.json", _always("quantiles of scores over many documents; no text")
    ),
    "boilerplate": Calibration(
        "boilerplate.parquet",
        _always(
            "64-bit hashes of lines that many documents of a host share, and the ids of documents "
            "that keep one; no text"
        ),
    ),
    "repeated_spans": Calibration(
        "repeated_spans.parquet",
        _always("64-bit hashes of runs of words in several documents, and document ids; no text"),
    ),
    "tokenizer": Calibration("tokenizer.json", _tokenizer),
    "shard_counts": Calibration("shard_counts.json", _always("numbers of shards; no text")),
}
"""The nodes that a lock pins."""


def may_hold(lock: Lock) -> dict[str, str]:
    """Say of every calibration in a lock what it may still hold of a removed document."""
    said = {}
    for name in sorted(lock.calibrations):
        node, _, rest = name.partition("/")
        said[name] = CALIBRATIONS[node].may_hold(lock.recipe, rest)
    return said
