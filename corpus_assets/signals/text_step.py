"""Families that rewrite the text: those after them in the list see what they leave."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import Field

from corpus_assets.signals.base import SignalFamily

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


@dataclass(frozen=True)
class Rewriting:
    """What a step leaves of a batch, as pieces of it.

    `pieces: int64[k, 2]` are byte positions in the batch's data, in order; document d is left
    with `pieces[rows[d]:rows[d + 1]]`, which is row d of `left`, other line ends as line feeds.
    `columns`: what was counted.
    """

    left: TextBatch
    pieces: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    columns: pa.RecordBatch


def cut(batch: TextBatch, pieces: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> TextBatch:
    """Return the texts that pieces leave."""

    from corpus_assets.text.batch import TextBatch
    from corpus_assets.text.pieces import copy_pieces

    return TextBatch.from_bytes(*copy_pieces(batch.data, pieces, rows))


class TextStep(SignalFamily):
    """A family that also cuts text out. It may only cut: every character left has its place in
    the extracted text, which is how a token leads back to it."""

    domains: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="domains to rewrite; in others the signals are null",
    )

    @abstractmethod
    def rewrite(self, batch: TextBatch) -> Rewriting:
        """Return what is left of each text, and the columns. Looks at each text alone."""

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        return self.rewrite(batch).columns

    def with_lists(self, entries: Callable[[str], Iterable[str]]) -> Self:
        """Return the step with the entries of installed lists in place of their names: where lists
        lie is known when tasks are planned, and a step runs in several stages."""
        return self

    def applies_to(self, domain: str | None) -> bool:
        return self.domains is None or domain in self.domains
