"""Compare sizes of vocabulary: each trained on the sample of a recipe, measured on its held-out
text, beside what its embedding costs a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import ValidationError

from catalog.answers import Count, Percent, Shown
from corpus_assets.core import files
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.store import Output, Store
from corpus_assets.core.task import read_table
from corpus_assets.graph import AssetReport, pin_snapshot, run_stage
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


def _by_domain(measured: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in measured.items())


@dataclass(frozen=True)
class Model:
    """The model that a vocabulary is for."""

    width: Annotated[Count, Shown("width of the model")]
    params: Annotated[Count, Shown("parameters without embeddings")]
    is_tied: Annotated[bool, Shown("input and output tied")]

    def embedding_params(self, vocab_size: int) -> int:
        return vocab_size * self.width * (1 if self.is_tied else 2)


@dataclass(frozen=True)
class VocabularySize:
    """A tokenizer of one size, measured on held-out text, and what its embedding costs a model."""

    vocab_size: Annotated[Count, Shown("vocabulary")]
    ids: Count
    bytes_per_token: Annotated[float, Shown(form="{:.3f}".format)]
    by_domain: Annotated[dict[str, float], Shown(form=_by_domain)]
    embedding_params: Annotated[Count, Shown("embedding")]
    embedding_share: Annotated[Percent, Shown("share of parameters")]


@dataclass(frozen=True)
class Sweep:
    """Sizes of vocabulary for one model."""

    model: Model
    sizes: list[VocabularySize]

    @property
    def conclusion(self) -> str:
        """Say which sizes the sample had no text for."""
        return "\n".join(
            f"{row.vocab_size:,}: the sample has pairs for {row.ids:,} ids only; draw more text "
            "(tokenizer.sample.max_chars) to compare fairly"
            for row in self.sizes
            if row.ids < row.vocab_size
        )


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


def sweep_sizes(session: Session, sizes: Sequence[int], model: Model) -> Sweep:
    """Train a tokenizer of each size on the same sample; what is missing of it is built first.

    A tokenizer that a lock pins does not matter here.
    """
    entry = session.pipeline.recipe.tokenizer
    if entry.train is None:
        raise RecipeError(
            "the recipe pins its tokenizer, so nothing is trained; set tokenizer.train instead"
        )
    asked = [_of_size(entry.train, size) for size in sizes]
    parts = _sample(session)
    training, held_out = (_Sample(session.pipeline.store, parts, side) for side in (False, True))
    scripts = entry.train.scripts or own_scripts(
        training.rows(), MIN_SCRIPT_SHARE, entry.train.min_documents
    )
    special = entry.special_names()
    rows: list[VocabularySize] = []
    for settings in asked:
        session.progress.log(f"training {settings.max_ids:,} ids")
        subject = Subject(
            train_tokenizer(training, settings, scripts), special["eod"], special["pad"]
        )
        found = measure_tokenizer(subject, (Passage(*row) for row in held_out.rows()))
        embedding = model.embedding_params(settings.max_ids)
        rows.append(
            VocabularySize(
                vocab_size=settings.max_ids,
                ids=len(subject.spelled),
                bytes_per_token=found.total.sums().bytes_per_token,
                by_domain={
                    name: tally.sums().bytes_per_token
                    for name, tally in sorted(found.by_domain.items())
                },
                embedding_params=embedding,
                embedding_share=round(embedding / (embedding + model.params), 4),
            )
        )
    return Sweep(model, rows)


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
        for stage, snapshot in pipeline.graph.steps(needed, pipeline.recipe.snapshots):
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
