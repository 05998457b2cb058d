"""Classifiers stage: small fastText models that tell one kind of text from another.

Trained on texts the recipe names (say, books and reference pages against a crawl), after the
manner of DCLM (Li et al. 2024). Each is a calibration: trained once, pinned by digest in the
lock. Training is bit-identical for the same sets of texts, in whatever order they come and on
every processor.

A model outlives the texts it learned from, so it spells none of their words: it has hashes of those
that stand in `min_documents` of them, and rows for runs of all.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.core.sample import Sample, held_out
from corpus_assets.models import (
    END_OF_LINE,
    LABEL,
    FastTextModel,
    dump_model,
    identify,
    label_scores,
    parse_model,
    train_rows,
    without_spelling,
)
from corpus_assets.signals.classifier import NEGATIVE, POSITIVE, ReadsTexts
from corpus_assets.signals.stages.classifier_settings import TrainSettings
from corpus_assets.text.batch import TextBatch

VERSION = 3

LABELS = (POSITIVE, NEGATIVE)

T = TypeVar("T")


@dataclass(frozen=True)
class TrainLimits:
    """What bounds a model, and what is kept for measuring."""

    max_vocabulary: int = 20_000  # min_documents is raised until no more words than this are left
    holdout_share: float = 0.2  # of the texts on each side
    seed: int = 0  # of the training, and of the choice of held-out texts


LIMITS = TrainLimits()


@dataclass(frozen=True)
class TrainedClassifier:
    """The model file's bytes and how it did on the texts held out."""

    model: bytes
    metrics: dict[str, Any]


def train_classifier(
    positives: Sequence[str],
    negatives: Sequence[str],
    family: ReadsTexts,
    settings: TrainSettings,
    limits: TrainLimits = LIMITS,
) -> TrainedClassifier:
    """Train on most of the texts, measure on the rest. `family` says how texts are read.

    1. Texts are read as in scoring; those that are empty, repeated, or on both sides are left out.
    2. On each side, the `holdout_share` with the smallest keyed hashes is held out.
    3. Train on the others, one after the other in the order of their keyed hashes.
    4. Score what was held out exactly as the signal scores documents.
    """
    good, poor = (_distinct(texts, family) for texts in (positives, negatives))
    ambiguous = good & poor
    good_held, good_train = _split(good - ambiguous, "positive", family.name, settings, limits)
    poor_held, poor_train = _split(poor - ambiguous, "negative", family.name, settings, limits)
    examples = [(text, POSITIVE) for text in good_train] + [(text, NEGATIVE) for text in poor_train]
    examples = _ordered(examples, lambda example: example[0], limits)
    texts_with = _texts_with(text for text, _ in examples)
    least = _min_documents(texts_with, settings, limits)
    content, model = _train(examples, texts_with, least, family.name, settings, limits)
    metrics = {
        "n_train_positives": len(good_train),
        "n_train_negatives": len(poor_train),
        "n_ambiguous": len(ambiguous),
        "min_documents": least,
        "model_bytes": len(content),
        **_measure(model, good_held, poor_held),
    }
    return TrainedClassifier(content, metrics)


def train_labels(
    texts: Sequence[str],
    labels: Sequence[str],
    family: ReadsTexts,
    settings: TrainSettings,
    limits: TrainLimits = LIMITS,
) -> TrainedClassifier:
    """Train on labelled texts, as `train_classifier` does on two sides. A text with two labels is
    left out, and so is a label with fewer than `min_examples` texts."""
    by_label: dict[str, list[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        by_label.setdefault(label, []).append(text)
    lines = {label: _distinct(some, family) for label, some in sorted(by_label.items())}
    met = Counter(line for some in lines.values() for line in some)
    left = {label: {x for x in some if met[x] == 1} for label, some in lines.items()}
    rare = [label for label, some in left.items() if len(some) < settings.min_examples]
    known = [label for label in left if label not in rare]
    if len(known) < 2:
        raise RecipeError(
            f"classifiers.{family.name}: {len(known)} labels have {settings.min_examples} texts or "
            "more (min_examples), needed: 2; draw more documents, or name another signal"
        )
    parts = {label: _split(left[label], label, family.name, settings, limits) for label in known}
    examples = [(text, label) for label, (_, some) in parts.items() for text in some]
    examples = _ordered(examples, lambda example: example[0], limits)
    texts_with = _texts_with(text for text, _ in examples)
    least = _min_documents(texts_with, settings, limits)
    content, model = _train(examples, texts_with, least, family.name, settings, limits, known)
    right = {label: _right(model, label, held) for label, (held, _) in parts.items()}
    n_held = sum(len(held) for held, _ in parts.values())
    metrics = {
        "n_train": len(examples),
        "n_holdout": n_held,
        "n_ambiguous": sum(n > 1 for n in met.values()),
        "rare_labels": rare,
        "min_documents": least,
        "model_bytes": len(content),
        "accuracy": round(sum(right.values()) / n_held, 4),
        "recall": {label: round(right[label] / len(parts[label][0]), 4) for label in known},
    }
    return TrainedClassifier(content, metrics)


def _right(model: FastTextModel, label: str, held: list[str]) -> int:
    """Count the held-out texts of a label that get it."""
    batch = TextBatch.from_arrow(pa.array(held, pa.large_string()))
    best, _ = identify(model, batch.data, batch.offsets, k=1)
    return int((best[:, 0] == model.labels.index(label)).sum())


def auc(good: Sequence[float], poor: Sequence[float]) -> float:
    """Chance that a positive text scores above a negative one; a tie counts half."""
    scores = np.sort(np.asarray(poor, dtype=np.float64))
    below = np.searchsorted(scores, good, side="left")
    not_above = np.searchsorted(scores, good, side="right")
    return float((below + not_above).sum() / (2 * len(good) * len(poor)))


def _distinct(texts: Sequence[str], family: ReadsTexts) -> set[str]:
    """One line a text; in plain text, words that fastText would obey are left out."""
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    lines = family.reading.read(batch).texts.to_pylist()
    if family.reading.text == "plain":
        lines = [
            " ".join(w for w in line.replace("\0", " ").split() if not _is_obeyed(w))
            for line in lines
        ]
    return set(lines) - {""}


def _is_obeyed(word: str) -> bool:
    return word == END_OF_LINE.decode() or word.startswith(LABEL)


def _ordered(items: Iterable[T], text: Callable[[T], str], limits: TrainLimits) -> list[T]:
    sample = Sample(f"quality-model-{limits.seed}".encode())  # another key changes every model
    return sample.ordered(items, lambda item: text(item).encode("utf-8", "replace"))


def _split(
    texts: set[str], side: str, name: str, settings: TrainSettings, limits: TrainLimits
) -> tuple[list[str], list[str]]:
    """(held out, to train on), both ordered by keyed hash and neither empty."""
    if len(texts) < settings.min_examples:
        raise RecipeError(
            f"classifiers.{name}: {len(texts)} distinct {side} texts, needed: "
            f"{settings.min_examples} (min_examples); name more {side} sources"
        )
    held, rest = held_out(_ordered(sorted(texts), str, limits), limits.holdout_share)
    return list(held), list(rest)


def _words(text: str) -> list[bytes]:
    """Return the words that the scoring of documents sees."""
    return text.encode("utf-8", "replace").replace(b"\0", b" ").split()


def _texts_with(texts: Iterable[str]) -> Counter[bytes]:
    """In how many texts each word stands."""
    return Counter(chain.from_iterable(set(_words(text)) for text in texts))


def _min_documents(texts_with: Counter[bytes], settings: TrainSettings, limits: TrainLimits) -> int:
    """Return the smallest number, from `min_documents` up, that leaves at most `max_vocabulary`
    words."""
    words_with = Counter(texts_with.values())
    least = settings.min_documents
    words = sum(n for count, n in words_with.items() if count >= least)
    while words > limits.max_vocabulary:
        words -= words_with[least]
        least += 1
    return least


def _train(
    examples: list[tuple[str, str]],
    texts_with: Counter[bytes],
    least: int,
    name: str,
    settings: TrainSettings,
    limits: TrainLimits,
    labels: Sequence[str] = LABELS,
) -> tuple[bytes, FastTextModel]:
    spelled = sorted(texts_with, key=lambda word: (-texts_with[word], word))
    number = {word: place for place, word in enumerate(spelled)}
    lines = [np.array([number[w] for w in _words(text)], dtype=np.int32) for text, _ in examples]
    n_rows = sum(n >= least for n in texts_with.values())
    rows, output = train_rows(
        np.concatenate(lines),
        np.cumsum([0, *map(len, lines)], dtype=np.int64),
        np.array([labels.index(label) for _, label in examples], dtype=np.int32),
        spelled,
        n_rows,
        n_labels=len(labels),
        dim=settings.dim,
        word_ngrams=settings.word_ngrams,
        buckets=settings.bucket,
        epochs=settings.epochs,
        rate=settings.lr,
        seed=limits.seed,
    )
    if not (np.isfinite(rows).all() and np.isfinite(output).all()):
        raise ModelError(
            f"training did not converge: numbers grew out of range; lower classifiers.{name}."
            "train.lr"
        )
    n_texts = Counter(label for _, label in examples)
    content = dump_model(
        [(END_OF_LINE, len(examples)), *((word, texts_with[word]) for word in spelled[:n_rows])],
        [(label, n_texts[label]) for label in labels],
        rows,
        output,
        word_ngrams=settings.word_ngrams,
        buckets=settings.bucket,
        epochs=settings.epochs,
        min_count=least,
    )
    content = without_spelling(content)
    return content, parse_model(content)  # as it will be read


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
