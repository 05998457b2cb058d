"""The type of a page that extraction noted, as a signal (docs/how-to/extract-text.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

NOTE = "page_type"
"""Column of the documents, and of the signals."""


class PageNotes(SignalFamily):
    """`page_type`, where the recipe has `documents.extraction.page_type`. Null for what is no
    page."""

    version: ClassVar[int] = 1

    family: Literal["page_notes"] = "page_notes"

    def columns(self) -> ColumnTypes:
        return {NOTE: "string"}

    def of_documents(self) -> tuple[str, ...]:
        return (NOTE,)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        noted = batch.columns.get(NOTE)
        if noted is None:  # no page of the part was extracted
            noted = pa.nulls(len(batch), pa.string())
        return self.record_batch({NOTE: noted})
