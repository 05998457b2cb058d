"""Labels and scores that a source itself gives its documents, as signals.

Released corpora come with columns of their own: a topic, a format, an educational score. A source
says in `fields.labels` and `fields.scores` where they stand, and this family carries them on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes, arrow_schema
from corpus_assets.signals.base import SignalFamily

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class SourceLabels(SignalFamily):
    """The columns `labels` (text) and `scores` (numbers) of sources, under the names that
    `fields.labels` and `fields.scores` give them; null where a source does not."""

    version: ClassVar[int] = 1

    family: Literal["source_labels"] = "source_labels"
    labels: tuple[str, ...] = Field(default=(), description="label signals")
    scores: tuple[str, ...] = Field(default=(), description="number signals")

    def columns(self) -> ColumnTypes:
        return {
            **dict.fromkeys(self.labels, "string"),
            **dict.fromkeys(self.scores, "float64"),
        }

    def of_documents(self) -> tuple[str, ...]:
        from corpus_assets.core.schemas import SOURCE_LABELS

        return (SOURCE_LABELS,)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        from corpus_assets.core.schemas import SOURCE_LABELS

        given = batch.columns.get(SOURCE_LABELS)
        known = {field.name for field in given.type} if given is not None else set()
        return self.record_batch(
            {
                field.name: pc.struct_field(given, field.name)
                if field.name in known
                else pa.nulls(len(batch), field.type)
                for field in arrow_schema(self.columns())
            }
        )
