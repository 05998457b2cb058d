"""Train and measure models of the block extractor."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pageblocks.errors import TruthError
from pageblocks.kernels.block_features import add_context, block_features
from pageblocks.kernels.block_trees import (
    SCALE,
    Ints,
    Trees,
    chances_of,
    grow,
    scores_of,
)
from pageblocks.kernels.blocks import Blocks, find_blocks
from pageblocks.model import BlockModel, judge, kept_blocks
from pageblocks.plain_text import text_of
from pageblocks.training.truth import Truth, f1_of
from textkernels.hashing import fnv1a

TREES = 80
INNER_FOLDS = 2
CURVE_POINTS = 257
FAILED_BELOW = 0.5

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class TrainingPage(Protocol):
    """A page to train on: in UTF-8, its site, and how much of each block is main content, NaN where
    that is not known."""

    @property
    def page(self) -> bytes: ...
    @property
    def site(self) -> str: ...
    def labels(self, page: Blocks, /) -> Floats: ...


class _Example(NamedTuple):
    page: Blocks
    features: Ints
    known: Mask  # blocks that are trained on, which the next two are of
    labels: Floats
    weights: Floats
    fold: int  # by site


class Measure(NamedTuple):
    """F1 over pages: mean, share of pages below `FAILED_BELOW`, pages."""

    f1: float
    failed: float
    pages: int


def train(rows: Iterable[TrainingPage], seed: int = 1, n_trees: int = TREES) -> BlockModel:
    """Fit a model to truth. The second trees learn from chances that the first ones, grown without
    the site in question, would give."""
    return _train([_example(row) for row in rows], seed, n_trees)


def cross_validate(
    rows: Sequence[Truth],
    folds: int,
    seed: int = 1,
    n_trees: int = TREES,
    also: Sequence[TrainingPage] = (),
) -> list[float]:
    """F1 of each page by a model that saw no page of its site; the models are thrown away. They are
    trained on the pages of other sites, and of `also`."""
    examples = [_example(row) for row in (*rows, *also)]
    scores = [0.0] * len(rows)
    for fold in range(folds):
        model = _train([one for one in examples if one.fold % folds != fold], seed, n_trees)
        for number, (row, one) in enumerate(zip(rows, examples, strict=False)):
            if one.fold % folds == fold:
                kept = kept_blocks(row.page, one.page, judge(model, one.page, one.features))
                text = text_of(one.page, kept).text
                scores[number] = f1_of(text, row.main_content)
    return scores


def evaluate(rows: Iterable[Truth], engine: Callable[[bytes], str | None]) -> Iterator[float]:
    """F1 of each page by an extractor."""
    for row in rows:
        yield f1_of(engine(row.page) or "", row.main_content)


def measures(rows: Sequence[Truth], scores: Sequence[float]) -> Mapping[str, Measure]:
    """Of all pages, by type and by language."""
    groups: dict[str, list[float]] = {}
    for row, score in zip(rows, scores, strict=True):
        for name in ("all", f"type {row.type}", f"lang {row.lang}"):
            groups.setdefault(name, []).append(score)
    return {
        name: Measure(
            statistics.fmean(group),
            sum(score < FAILED_BELOW for score in group) / len(group),
            len(group),
        )
        for name, group in sorted(groups.items())
    }


def _example(row: TrainingPage) -> _Example:
    page = find_blocks(row.page)
    labels = row.labels(page)
    known = ~np.isnan(labels)
    weights = np.minimum(np.sqrt(page.blocks[:, 5] + 1.0), 15.0)
    return _Example(
        page,
        block_features(page),
        known,
        labels[known],
        (weights * 200 / (weights.sum() + 50))[
            known
        ],  # a long page counts little more than a short
        fnv1a(row.site.encode("utf-8", "surrogatepass")) >> 7,
    )


def _train(examples: list[_Example], seed: int, n_trees: int) -> BlockModel:
    examples = [one for one in examples if len(one.labels)]
    folds = np.array([one.fold // 64 % INNER_FOLDS for one in examples])
    if len(set(folds.tolist())) < INNER_FOLDS:
        raise TruthError("a model needs pages of several sites: add truth sets")
    labels = np.concatenate([one.labels for one in examples])
    weights = np.concatenate([one.weights for one in examples])
    curve = np.round(
        SCALE / (1 + np.exp(-np.linspace(-8, 8, CURVE_POINTS)))
    ).astype(np.int32)  # fmt: skip

    def fit(chosen: list[_Example], number: int) -> Trees:
        return grow(
            np.vstack([one.features[one.known] for one in chosen]),
            np.concatenate([one.labels for one in chosen]),
            np.concatenate([one.weights for one in chosen]),
            n_trees,
            seed + number,
        )

    rows: list[Ints] = [np.empty((0, 0), dtype=np.int32)] * len(examples)
    for fold in range(INNER_FOLDS):
        trees = fit([one for one, its in zip(examples, folds, strict=True) if its != fold], fold)
        for number in np.flatnonzero(folds == fold):
            one = examples[number]
            chances = chances_of(scores_of(trees, one.features), curve)
            rows[number] = add_context(one.page, one.features, chances)[one.known]
    second = grow(np.vstack(rows), labels, weights, n_trees, seed + INNER_FOLDS + 1)
    return BlockModel(fit(examples, INNER_FOLDS), second, curve)
