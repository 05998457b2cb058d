"""Compare sizes of vocabulary: each trained on the sample of a recipe, measured on its held-out
text, beside what its embedding costs a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from corpus_assets.core import files
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.store import Output, Store
from corpus_assets.core.task import read_table
from corpus_assets.graph import AssetReport, pin_snapshot, run_stage, snapshots_of
from corpus_assets.session import Session, build_lease
from corpus_assets.tokenizer import (
    MIN_SCRIPT_SHARE,
    SAMPLE,
    Passage,
    Subject,
    TokenizerSettings,
    measure_tokenizer,
    own_scripts,
    rows_of,
    train_tokenizer,
)


@dataclass(frozen=True)
class Model:
    """The model that a vocabulary is for."""

    width: int
    params: int  # without the embeddings
    is_tied: bool  # one matrix for input and output

    def cost(self, vocab_size: int) -> dict[str, Any]:
        """Parameters of the embeddings, and their share of all."""
        embedding = vocab_size * self.width * (1 if self.is_tied else 2)
        return {
            "embedding_params": embedding,
            "embedding_share": round(embedding / (embedding + self.params), 4),
        }


def layer_params(width: int, layers: int) -> int:
    """Parameters of a transformer's layers: 12 layers width^2 (Kaplan et al. 2020, table 1)."""
    return 12 * layers * width**2


@dataclass(frozen=True)
class _Sample:
    """One side of the sample of a recipe, read again at every iteration."""

    store: Store
    parts: Sequence[Output]
    held_out: bool

    def rows(self) -> Iterator[tuple[str, str, str]]:
        return rows_of((read_table(self.store, part) for part in self.parts), self.held_out)

    def __iter__(self) -> Iterator[str]:
        return (text for text, *_ in self.rows())


def sweep_sizes(session: Session, sizes: Sequence[int], model: Model) -> list[Mapping[str, Any]]:
    """Train a tokenizer of each size on the same sample; what is missing of it is built first.

    A tokenizer that a lock pins does not matter here.
    """
    entry = session.pipeline.recipe.tokenizer
    if entry.train is None:
        raise RecipeError(
            "the recipe pins its tokenizer, so there is no text to train on; say "
            "tokenizer.train in its place"
        )
    asked = [_of_size(entry.train, size) for size in sizes]
    parts = _sample(session)
    training, held_out = (_Sample(session.pipeline.store, parts, side) for side in (False, True))
    scripts = entry.train.scripts or own_scripts(
        training.rows(), MIN_SCRIPT_SHARE, entry.train.min_documents
    )
    special = entry.special_names()
    rows: list[Mapping[str, Any]] = []
    for settings in asked:
        session.progress.log(f"training {settings.max_ids:,} ids")
        subject = Subject(
            train_tokenizer(training, settings, scripts), special["eod"], special["pad"]
        )
        found = measure_tokenizer(subject, (Passage(*row) for row in held_out.rows()))
        rows.append(
            {
                "vocab_size": settings.max_ids,
                "ids": len(subject.spelled),
                "bytes_per_token": found.total.row()["bytes_per_token"],
                "by_domain": {
                    name: tally.row()["bytes_per_token"]
                    for name, tally in sorted(found.by_domain.items())
                },
                **model.cost(settings.max_ids),
            }
        )
    return rows


def _of_size(settings: TokenizerSettings, vocab_size: int) -> TokenizerSettings:
    try:
        return TokenizerSettings.model_validate(settings.model_dump() | {"vocab_size": vocab_size})
    except ValidationError as error:
        raise RecipeError(f"size {vocab_size}: {error.errors()[0]['msg']}") from error


def _sample(session: Session) -> list[Output]:
    """Build what is missing up to the sample, and return its parts."""
    pins = {name: pin for name, pin in session.pipeline.pins.items() if name != "tokenizer"}
    pipeline = session.pipeline = replace(session.pipeline, pins=pins)
    needed = pipeline.graph.upstream([SAMPLE.name])
    with build_lease(session):
        for name in pipeline.recipe.snapshots:
            pin_snapshot(pipeline, session.registry, name)
        for stage in pipeline.graph:
            for snapshot in snapshots_of(pipeline, stage, None) if stage.name in needed else ():
                report = AssetReport(pipeline.graph.asset_of(stage.name).name, snapshot)
                run_stage(
                    pipeline,
                    session.engine,
                    session.registry,
                    session.progress,
                    report,
                    stage,
                    snapshot,
                )
    return [
        part
        for snapshot in pipeline.recipe.calibration_snapshots
        for part in pipeline.parts(files.TOKENIZER_SAMPLE, snapshot)
    ]
