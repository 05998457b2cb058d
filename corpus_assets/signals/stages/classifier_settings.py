"""Classifiers as a recipe names them: trained here from named texts, or pinned by digest."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.core.model_choice import Model
from corpus_assets.signals.classifier import MODEL, Reading

SIDES = ("positives", "negatives")
LABELLED = "labels"  # in their place where labels are learned


class TrainSettings(Settings):
    """Mostly fastText's names, and what bounds the model: about 64 bytes a word and bucket."""

    word_ngrams: int = Field(default=2, ge=1, le=5)
    dim: int = Field(default=16, ge=1, le=256)
    epochs: int = Field(default=5, ge=1, le=1000)
    lr: float = Field(default=0.5, gt=0, le=10)
    bucket: int = Field(default=50_000, ge=1, le=5_000_000)
    min_documents: int = Field(
        default=5,
        ge=1,
        description="training texts that a word must occur in to be stored as a hash",
    )
    min_examples: int = Field(default=10, ge=2, description="distinct texts needed per side")


class TextFiles(Settings):
    """Texts in files of their own: JSONL (plain, .gz, .zst) or Parquet."""

    files: tuple[str, ...] = Field(min_length=1, description="paths or patterns")
    text: str = Field(default="text", description="field or column of the text")

    def identity(self) -> dict[str, Any]:
        """Where files lie is no identity; their digests are inputs."""
        return {"text": self.text}


class SnapshotSample(Settings):
    """Documents of snapshots of this recipe, drawn by keyed hash of their ids.

    Taken from the extracted text, before any rule. What is taken down does not get in.
    """

    snapshots: tuple[str, ...] = Field(min_length=1, description="snapshots of this recipe")
    max_documents: int = Field(
        default=20_000, ge=1, description="documents to draw from all of them together"
    )
    languages: tuple[str, ...] | None = Field(default=None, description="languages to draw")
    urls: tuple[str, ...] = Field(
        default=(),
        description="lists of pages to draw from, one per line: a URL, a prefix with `*`, or a "
        "host with its subdomains",
    )

    def identity(self) -> dict[str, Any]:
        body = super().identity()
        body["urls"] = len(self.urls)
        return body


def _files(value: Any) -> Any:
    return {"files": [value]} if isinstance(value, str) else value


TrainingTexts = Annotated[TextFiles | SnapshotSample, BeforeValidator(_files)]


class ClassifierEntry(Reading):
    """Train a classifier on positives and negatives, or take a fastText model."""

    positives: tuple[TrainingTexts, ...] = Field(
        default=(), description="what to look for: files, or samples of snapshots"
    )
    negatives: tuple[TrainingTexts, ...] = Field(default=(), description="counterexamples")
    labels_from: str | None = Field(
        default=None,
        description="instead: learn this label signal (struct members as `name.member`)",
    )
    documents: SnapshotSample | None = Field(
        default=None,
        description="documents to learn `labels_from` from",
    )
    train: TrainSettings = Field(default=TrainSettings(), description="training settings")
    model: Model | None = Field(
        default=None, description="a fastText model, instead of training one"
    )

    @model_validator(mode="after")
    def _one_way(self) -> "ClassifierEntry":
        if not self.is_trained:
            if self.positives or self.negatives or self.labels_from or self.documents:
                raise ValueError("set either `model`, or `positives` and `negatives`")
        elif self.labels_from is not None:
            if self.positives or self.negatives:
                raise ValueError("set either `labels_from` or `positives` and `negatives`")
            if self.documents is None:
                raise ValueError("`labels_from` needs `documents` to learn from")
        elif not self.positives or not self.negatives:
            raise ValueError("set `positives` and `negatives`, or `model`")
        return self

    @property
    def is_trained(self) -> bool:
        return self.model is None

    def identity(self) -> dict[str, Any]:
        """Return what changes the model or how it is asked: never where something lies."""
        reading = super().identity()
        if self.model is not None:
            return reading | {"model": self.model.identity()}
        train = reading | {"train": self.train.identity()}
        if self.labels_from is not None:
            documents = self.documents.identity() if self.documents else None
            return train | {"labels_from": self.labels_from, "documents": documents}
        return train | {side: [texts.identity() for texts in self.texts(side)] for side in SIDES}

    def texts(self, side: str) -> tuple[TextFiles | SnapshotSample, ...]:
        return self.positives if side == "positives" else self.negatives

    def samples(self) -> list[tuple[str, int, SnapshotSample]]:
        """(side, place, sample) of every sample of snapshots, in a fixed order."""
        if self.documents is not None:
            return [(LABELLED, 0, self.documents)]
        return [
            (side, place, texts)
            for side in SIDES
            for place, texts in enumerate(self.texts(side))
            if isinstance(texts, SnapshotSample)
        ]


def check_classifiers(
    entries: Mapping[str, ClassifierEntry], needs: Sequence[str], snapshots: Sequence[str]
) -> None:
    """Refuse names that do not fit: of classifiers in the signals, of snapshots in samples."""
    read = {need.removeprefix(MODEL) for need in needs if need.startswith(MODEL)}
    for name in sorted(read - set(entries)):
        raise ValueError(
            f"classifiers.{name}: a signal family or a cut of sentences needs it; configure "
            "its training"
        )
    for name in sorted(set(entries) - read):
        raise ValueError(
            f"classifiers.{name}: no signal family reads it; add {{family: classifier, name: "
            f"{name}}} to signals.families, name it in clean_text.sentences, or remove it"
        )
    for name, entry in entries.items():
        for side, _, sample in entry.samples():
            unknown = sorted(set(sample.snapshots) - set(snapshots))
            if unknown:
                raise ValueError(
                    f"classifiers.{name}.{side}: the recipe has no snapshot {unknown[0]}; known: "
                    f"{', '.join(snapshots)}"
                )
