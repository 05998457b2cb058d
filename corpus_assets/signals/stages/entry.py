"""Classifiers as a recipe names them: trained here from named texts, or pinned by digest."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.signals.classifier import MODEL
from corpus_assets.signals.stages.classifier_training import TrainSettings

SIDES = ("positives", "negatives")


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

    snapshots: tuple[str, ...] = Field(min_length=1, description="of this recipe")
    max_documents: int = Field(default=20_000, ge=1, description="drawn from all of them together")
    languages: tuple[str, ...] | None = Field(
        default=None, description="by the language model; null: all"
    )
    urls: tuple[str, ...] = Field(
        default=(),
        description="lists of the pages to draw from, one a line: an address, the begin of "
        "addresses with `*` after it, or a host with its subdomains; empty: all pages",
    )

    def identity(self) -> dict[str, Any]:
        body = super().identity()
        body["urls"] = len(self.urls)
        return body


def _files(value: Any) -> Any:
    return {"files": [value]} if isinstance(value, str) else value


TrainingTexts = Annotated[TextFiles | SnapshotSample, BeforeValidator(_files)]


class ClassifierEntry(Settings):
    """Train a classifier on positives and negatives, or pin a fastText model by its digest."""

    positives: tuple[TrainingTexts, ...] = Field(
        default=(), description="what it looks for: files, or samples of snapshots"
    )
    negatives: tuple[TrainingTexts, ...] = Field(
        default=(), description="what that is to be told from"
    )
    train: TrainSettings = Field(default=TrainSettings(), description="how it is trained")
    pinned: str | None = Field(
        default=None, description="path of a fastText model; then nothing is trained"
    )
    sha256: str | None = Field(default=None, description="digest of the pinned file")

    @model_validator(mode="after")
    def _one_way(self) -> "ClassifierEntry":
        if self.pinned is not None:
            if self.positives or self.negatives:
                raise ValueError("say either `pinned` or `positives` and `negatives`")
            if self.sha256 is None:
                raise ValueError("a pinned classifier needs its `sha256`")
        elif not self.positives or not self.negatives:
            raise ValueError("say `positives` and `negatives`, or `pinned` and `sha256`")
        return self

    def identity(self) -> dict[str, Any]:
        """What changes the model: never where something lies."""
        if self.pinned is not None:
            return {"sha256": self.sha256}
        return {
            "train": self.train.identity(),
            **{side: [texts.identity() for texts in self.texts(side)] for side in SIDES},
        }

    def texts(self, side: str) -> tuple[TextFiles | SnapshotSample, ...]:
        return self.positives if side == "positives" else self.negatives

    def samples(self) -> list[tuple[str, int, SnapshotSample]]:
        """(side, place, sample) of every sample of snapshots, in a fixed order."""
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
        raise ValueError(f"classifiers.{name}: a signal family needs it; say what it learns from")
    for name in sorted(set(entries) - read):
        raise ValueError(
            f"classifiers.{name}: no signal family reads it; add {{family: classifier, name: "
            f"{name}}} to signals.families, or take it out"
        )
    for name, entry in entries.items():
        for side, _, sample in entry.samples():
            unknown = sorted(set(sample.snapshots) - set(snapshots))
            if unknown:
                raise ValueError(
                    f"classifiers.{name}.{side}: the recipe has no snapshot {unknown[0]}; known: "
                    f"{', '.join(snapshots)}"
                )
