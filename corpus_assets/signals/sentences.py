"""Sentences of texts: where they are, and what classifiers say of each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from corpus_assets.core.identity import Settings
from corpus_assets.signals.classifier import LABELS, POSITIVE, Classifier, Labels, Name, Reading

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corpus_assets.text.batch import TextBatch

    Ints = npt.NDArray[np.int64]

Scored = tuple[int, int, float]
"""A sentence: [start, end) in characters of its text, and its score."""

LEAST_SCORE = 0.01
"""Scores below it are not kept: nearly all sentences have such a one."""


class SentenceCut(Settings):
    """Sentences that a classifier finds to be of a kind go, each scored alone.

    A sentence ends at an end mark with white space behind it, or with its line. The white space
    around it stays.
    """

    name: Name = Field(description="the classifier, under `classifiers`")
    labels: Labels = Field(default={POSITIVE: 1.0}, description=LABELS)
    min_score: float = Field(ge=LEAST_SCORE, le=1, description="score from which a sentence is cut")
    domains: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="domains to cut"
    )

    def family(self, classifiers: Mapping[str, Reading]) -> Classifier:
        """Return the signal family that scores a sentence."""
        family = Classifier(name=self.name, labels=self.labels)
        return family.with_reading(classifiers.get(self.name, Reading()))

    def applies_to(self, domain: str) -> bool:
        return self.domains is None or domain in self.domains


def sentences_of(batch: TextBatch) -> tuple[Ints, Ints]:
    """Sentences of each text as `pieces: int64[k, 2]` of bytes and `rows: int64[n + 1]`."""

    from corpus_assets.signals.kernels.sentences import find_sentences, sentence_marks

    lines = batch.lines
    spans, firsts = find_sentences(batch.data, lines.spans, sentence_marks())
    return spans, firsts[lines.rows]


def score_sentences(
    batch: TextBatch, families: Sequence[Classifier], models: Mapping[str, Path]
) -> list[list[list[Scored]]]:
    """For each family and each text: its sentences of LEAST_SCORE or more, in order."""

    import numpy as np

    from corpus_assets.text.batch import TextBatch
    from corpus_assets.text.pieces import copy_pieces, pieces_in_chars

    pieces, rows = sentences_of(batch)
    places = pieces_in_chars(batch.data, batch.offsets, pieces, rows)
    own = np.arange(len(pieces) + 1, dtype=np.int64)
    alone = TextBatch.from_bytes(*copy_pieces(batch.data, pieces, own))
    found: list[list[list[Scored]]] = []
    for family in families:
        (scores,) = (
            column.to_numpy(zero_copy_only=False) for column in family.compute(alone, models)
        )
        hits = np.flatnonzero(scores >= np.float32(LEAST_SCORE))  # a null is NaN
        owners = np.searchsorted(rows, hits, side="right") - 1
        of_texts: list[list[Scored]] = [[] for _ in range(len(batch))]
        for text, (start, end), score in zip(
            owners.tolist(), places[hits].tolist(), scores[hits].tolist(), strict=True
        ):
            of_texts[text].append((start, end, score))
        found.append(of_texts)
    return found
