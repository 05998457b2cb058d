"""Classifiers stage: small fastText models that tell one kind of text from another.

Trained on texts the recipe names (say, books and reference pages against a crawl), after the
manner of DCLM (Li et al. 2024). Each is a calibration: trained once, pinned by digest in the
lock. Training is bit-identical for the same sets of texts, in whatever order they come.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.errors import ModelError, RecipeError
from corpus_assets.kernels.fasttext_labels import label_scores
from corpus_assets.kernels.fasttext_model import LABEL, FastTextModel, read_model
from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.classifier import NEGATIVE, POSITIVE, Classifier, read_batch
from corpus_assets.step import Settings, keyed_hash

VERSION = 1

MIN_WORD_TEXTS = 3  # a word in fewer training texts is no evidence and is not reported
END_OF_LINE = "</s>"


class TrainSettings(Settings):
    """fastText's own names, and what bounds the model: about 64 bytes a word and bucket."""

    word_ngrams: int = Field(default=2, ge=1, le=5)
    dim: int = Field(default=16, ge=1, le=256)
    epochs: int = Field(default=5, ge=1, le=1000)
    lr: float = Field(default=0.5, gt=0, le=10)
    bucket: int = Field(default=50_000, ge=1, le=5_000_000)
    min_count: int = Field(default=1, ge=1)
    max_vocabulary: int = Field(
        default=20_000,
        ge=1,
        description="min_count is raised until no more words than this are left",
    )
    holdout_share: float = Field(default=0.2, gt=0, lt=1)
    min_examples: int = Field(default=10, ge=2, description="distinct texts needed on each side")
    top_words: int = Field(default=25, ge=0)
    seed: int = Field(default=0, ge=0, lt=2**31)


@dataclass(frozen=True)
class TrainedClassifier:
    """The model file's bytes and how it did on the texts held out."""

    model: bytes
    metrics: dict[str, Any]


def train_classifier(
    positives: Sequence[str], negatives: Sequence[str], family: Classifier, settings: TrainSettings
) -> TrainedClassifier:
    """Train on most of the texts, measure on the rest. `family` says how texts are read.

    1. Texts are read as in scoring; those that are empty, repeated, or on both sides are left out.
    2. On each side, the `holdout_share` with the smallest keyed hashes is held out.
    3. Write the others, in the order of their keyed hashes, and train with one thread: more
       would race, and the bytes would differ from run to run.
    4. Score what was held out exactly as the signal scores documents.
    """
    good, poor = (_distinct(texts, family) for texts in (positives, negatives))
    ambiguous = good & poor
    good_held, good_train = _split(good - ambiguous, "positive", family.name, settings)
    poor_held, poor_train = _split(poor - ambiguous, "negative", family.name, settings)
    examples = [(text, POSITIVE) for text in good_train] + [(text, NEGATIVE) for text in poor_train]
    examples.sort(key=lambda example: _order(example[0], settings))
    min_count = _min_count((text for text, _ in examples), settings)
    lines = [f"{LABEL}{label} {text}" for text, label in examples]
    content, model = _train(lines, min_count, family.name, settings)
    metrics = {
        "n_train_positives": len(good_train),
        "n_train_negatives": len(poor_train),
        "n_ambiguous": len(ambiguous),
        "min_count": min_count,
        "model_bytes": len(content),
        **_measure(model, good_held, poor_held),
        **_weights(model, examples, settings.top_words),
    }
    return TrainedClassifier(content, metrics)


def auc(good: Sequence[float], poor: Sequence[float]) -> float:
    """Chance that a positive text scores above a negative one; a tie counts half."""
    scores = np.sort(np.asarray(poor, dtype=np.float64))
    below = np.searchsorted(scores, good, side="left")
    not_above = np.searchsorted(scores, good, side="right")
    return float((below + not_above).sum() / (2 * len(good) * len(poor)))


def _distinct(texts: Sequence[str], family: Classifier) -> set[str]:
    """One line a text; in plain text, words that fastText would obey are left out."""
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    lines = read_batch(batch, family.text, family.max_chars).texts.to_pylist()
    if family.text == "plain":
        lines = [
            " ".join(w for w in line.replace("\0", " ").split() if not _is_obeyed(w))
            for line in lines
        ]
    return set(lines) - {""}


def _is_obeyed(word: str) -> bool:
    return word == END_OF_LINE or word.startswith(LABEL)


def _order(text: str, settings: TrainSettings) -> tuple[int, str]:
    key = f"quality-model-{settings.seed}".encode()  # another one would change every model
    return keyed_hash(key, text.encode("utf-8", "replace")), text


def _split(
    texts: set[str], side: str, name: str, settings: TrainSettings
) -> tuple[list[str], list[str]]:
    """(held out, to train on), both ordered by keyed hash and neither empty."""
    if len(texts) < settings.min_examples:
        raise RecipeError(
            f"classifiers.{name}: {len(texts)} distinct {side} texts, needed: "
            f"{settings.min_examples} (min_examples); name more {side} sources"
        )
    ordered = sorted(texts, key=lambda text: _order(text, settings))
    n_held = min(max(round(settings.holdout_share * len(ordered)), 1), len(ordered) - 1)
    return ordered[:n_held], ordered[n_held:]


def _min_count(texts: Iterable[str], settings: TrainSettings) -> int:
    """The smallest count, from `min_count` up, that leaves at most `max_vocabulary` words."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.split(" "))
    words_with = Counter(counts.values())
    words = sum(n for count, n in words_with.items() if count >= settings.min_count)
    least = settings.min_count
    while words > settings.max_vocabulary:
        words -= words_with[least]
        least += 1
    return least


def _train(
    lines: list[str], min_count: int, name: str, settings: TrainSettings
) -> tuple[bytes, FastTextModel]:
    import fasttext  # 0.1 s, and only this task needs it

    # fastText reads and writes by name; these have none that would outlive a killed process.
    with tempfile.TemporaryFile() as examples, tempfile.TemporaryFile() as saved:
        examples.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        examples.seek(0)
        try:
            model = fasttext.train_supervised(
                input=f"/dev/fd/{examples.fileno()}",
                lr=settings.lr,
                dim=settings.dim,
                epoch=settings.epochs,
                wordNgrams=settings.word_ngrams,
                bucket=settings.bucket,
                minCount=min_count,
                minn=0,
                maxn=0,
                loss="softmax",
                thread=1,
                seed=settings.seed,
                verbose=0,
            )
            model.save_model(f"/dev/fd/{saved.fileno()}")
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"fastText could not train the classifier ({error}): lower classifiers.{name}."
                "train.lr"
            ) from error
        saved.seek(0)
        return saved.read(), read_model(Path(f"/dev/fd/{saved.fileno()}"))


def _scores(model: FastTextModel, lines: list[str]) -> list[float]:
    batch = TextBatch.from_arrow(pa.array(lines, pa.large_string()))
    scores = label_scores(model, batch.data, batch.offsets)[:, model.labels.index(POSITIVE)]
    return [round(min(float(score), 1.0), 4) for score in scores]


def _measure(model: FastTextModel, good: list[str], poor: list[str]) -> dict[str, float | int]:
    """Precision and recall of positives at a score of one half, and the AUC, on held-out texts."""
    good_scores, poor_scores = _scores(model, good), _scores(model, poor)
    hits = sum(score >= 0.5 for score in good_scores)
    false_alarms = sum(score >= 0.5 for score in poor_scores)
    return {
        "n_holdout_positives": len(good),
        "n_holdout_negatives": len(poor),
        "precision": round(hits / (hits + false_alarms), 4) if hits else 0.0,
        "recall": round(hits / len(good), 4),
        "auc": round(auc(good_scores, poor_scores), 4),
    }


def _weights(model: FastTextModel, examples: list[tuple[str, str]], top: int) -> dict[str, Any]:
    """The words that pull hardest to either side: their vectors times the labels' difference."""
    spelled = model.word_bytes.tobytes()
    words = [
        spelled[start:end].decode("utf-8", "replace")
        for start, end in pairwise(model.word_starts.tolist())
    ]
    texts_with = Counter(word for text, _ in examples for word in set(text.split(" ")))
    output: npt.NDArray[np.float32] = model.output
    direction = output[:, model.labels.index(POSITIVE)] - output[:, model.labels.index(NEGATIVE)]
    pulls = model.rows[: len(words)].astype(np.float64) @ direction
    ranked = sorted(
        (round(float(pull), 4), word)
        for pull, word in zip(pulls, words, strict=True)
        if texts_with[word] >= MIN_WORD_TEXTS
    )
    best = sorted(ranked, key=lambda item: (-item[0], item[1]))[:top]
    return {
        "positive_words": [{"word": word, "weight": pull} for pull, word in best if pull > 0],
        "negative_words": [
            {"word": word, "weight": pull} for pull, word in ranked[:top] if pull < 0
        ],
    }
