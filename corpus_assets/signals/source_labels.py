"""Labels and scores that a source itself gives its documents, as signals.

Released corpora come with columns of their own: a topic, a format, an educational score. A source
says in `fields.labels` and `fields.scores` where they stand, and this family carries them on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from corpus_assets.core.schemas import SOURCE_LABELS
from corpus_assets.signals.base import SignalFamily, TextBatch


class SourceLabels(SignalFamily):
    """The columns `labels` (text) and `scores` (numbers) of sources, under the names that
    `fields.labels` and `fields.scores` give them; null where a source does not."""

    version: ClassVar[int] = 1

    family: Literal["source_labels"] = "source_labels"
    labels: tuple[str, ...] = Field(default=(), description="label signals")
    scores: tuple[str, ...] = Field(default=(), description="number signals")

    def columns(self) -> dict[str, pa.DataType]:
        return {
            **dict.fromkeys(self.labels, pa.string()),
            **dict.fromkeys(self.scores, pa.float64()),
        }

    def of_documents(self) -> tuple[str, ...]:
        return (SOURCE_LABELS,)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        given = batch.columns.get(SOURCE_LABELS)
        known = {field.name for field in given.type} if given is not None else set()
        return self.record_batch(
            {
                name: pc.struct_field(given, name) if name in known else pa.nulls(len(batch), kind)
                for name, kind in self.columns().items()
            }
        )
