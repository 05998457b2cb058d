"""What a recipe says of one source: how it is read, where its snapshots are, how they come here."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from catalog.names import check_name
from corpus_assets.core.identity import Settings
from corpus_assets.ingest.crawl.settings import CrawlSettings
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.signals.classifier import MODEL
from corpus_assets.signals.stages.classifier_training import TrainSettings


class SourceEntry(SourceSpec):
    """A source and where its snapshots are: snapshot name -> folder, file or glob.

    The snapshots of a crawl are crawls: a list of their names, or snapshot name -> crawl.
    """

    snapshots: dict[str, str] = Field(default={})
    site_files: dict[str, str] = Field(
        default={},
        description="snapshot name -> robots.txt, ai.txt and tdmrep.json of its sites: WARC files "
        "with their records, or a folder `HOST/robots.txt` ...",
    )
    crawl: CrawlSettings | None = Field(
        default=None, description="the source is a crawl in Common Crawl's layout"
    )
    fetch: FetchSettings = Field(
        default=FetchSettings(), description="how snapshots at https:// and s3:// are fetched"
    )

    @model_validator(mode="before")
    @classmethod
    def _crawls_by_name(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.get("crawl") and isinstance(raw.get("snapshots"), list):
            return raw | {"snapshots": {str(name): str(name) for name in raw["snapshots"]}}
        return raw

    @field_validator("snapshots")
    @classmethod
    def _plain_names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:  # as a type of keys, the error would name the key as it is written
            check_name("snapshot", name)
        return value

    @model_validator(mode="after")
    def _is_complete(self) -> "SourceEntry":
        if self.crawl is None and not self.snapshots:
            raise ValueError(f"source {self.name}: `snapshots` must name at least one")
        strange = sorted(set(self.site_files) - set(self.snapshots))
        if strange:
            raise ValueError(f"site_files names {strange[0]}, which is not among the snapshots")
        if self.crawl is None:
            return self
        if self.format not in ("warc", self.crawl.kind):
            raise ValueError(f"source {self.name}: a crawl of {self.crawl.kind} has that format")
        unknown = sorted(set(self.crawl.take) - set(self.snapshots))
        if unknown:
            raise ValueError(f"crawl.take names {unknown[0]}, which is not among the snapshots")
        return self

    def without_robots(self) -> str | None:
        """The first snapshot of web pages whose sites' robots.txt are not given."""
        if self.format not in ("warc", "wet") or (self.crawl is not None and self.crawl.robots):
            return None
        return next((name for name in self.snapshots if name not in self.site_files), None)

    def identity(self) -> dict[str, Any]:
        """What can change a byte: not where files lie, nor how they are fetched."""
        body = super().identity()
        del body["fetch"], body["crawl"], body["site_files"]
        if self.crawl is not None:
            body["crawl"] = self.crawl.identity()
        return body


# --------------------------------------------------------------------------------------------------
# Classifiers as a recipe names them: trained here from named texts, or pinned by digest.

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


# --------------------------------------------------------------------------------------------------
# How far a snapshot may stand from those before it. Never part of an identity: it judges, and
# changes no byte.


class DriftBounds(Settings):
    """Distances from which on a check warns, and fails."""

    warn: float | None = Field(default=None, ge=0, description="a warning above it; null: never")
    error: float | None = Field(default=None, ge=0, description="an error above it; null: never")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is not None and self.error is not None and self.warn > self.error:
            raise ValueError(f"warn {self.warn:g} is above error {self.error:g}")
        return self


class QualityDrift(DriftBounds):
    """Of the mean of a signal over kept documents."""

    warn: float | None = Field(default=0.05, ge=0, description="as above, in the signal's unit")
    error: float | None = Field(default=None, ge=0, description="as above")
    signal: str = Field(default="quality_score", description="whose mean is compared")


class DriftSettings(Settings):
    """What `selection` keeps of a snapshot, against the snapshots of its source before it."""

    survival: DriftBounds = Field(
        default=DriftBounds(warn=0.1),
        description="difference of the shares that selection keeps",
    )
    languages: DriftBounds = Field(
        default=DriftBounds(warn=0.1),
        description="total variation distance of the languages of kept documents, 0 to 1",
    )
    quality: QualityDrift = Field(
        default=QualityDrift(), description="difference of the mean quality of kept documents"
    )
    previous: int = Field(default=3, ge=1, description="how many snapshots before it count")
    min_documents: int = Field(
        default=200, ge=1, description="with fewer kept documents on either side nothing is said"
    )


# --------------------------------------------------------------------------------------------------
# When takedowns are carried out. None of it changes a byte of a version, so none of it is part
# of a recipe's identity.


class TakedownSettings(Settings):
    """How long requests are gathered before a run, and what becomes of revoked versions."""

    window_minutes: float = Field(
        default=0.0,
        ge=0,
        description="the sensor starts a run when the oldest request has waited so long",
    )
    max_batch: int = Field(
        default=1000, ge=1, description="or when so many requests wait, whatever the window"
    )
    keep_revoked: bool = Field(
        default=False,
        description="leave revoked versions and their text to `corpus gc` instead of deleting them",
    )
