"""What extraction noted of a page, as signals (docs/extraction.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from corpus_assets.signals.base import SignalFamily, TextBatch

Note = Literal["page_type", "extracted_by", "agreement"]
THOUSANDTHS = 1000


class PageNotes(SignalFamily):
    """Notes of extraction: `page_type` where the recipe has `documents.extraction.page_type`,
    `extracted_by` (the engine whose text it is) and `agreement` (of blocks and resiliparse, 0 to 1)
    with `engine: agreement`. Null for what is no page."""

    version: ClassVar[int] = 1

    family: Literal["page_notes"] = "page_notes"
    notes: tuple[Note, ...] = Field(
        default=("page_type",), min_length=1, description="which of them"
    )

    def columns(self) -> dict[str, pa.DataType]:
        return {name: pa.float64() if name == "agreement" else pa.string() for name in self.notes}

    def of_documents(self) -> tuple[str, ...]:
        return self.notes

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        return self.record_batch(
            {name: _column(batch, name, kind) for name, kind in self.columns().items()}
        )


def _column(batch: TextBatch, name: str, kind: pa.DataType) -> pa.Array:
    noted = batch.columns.get(name)
    if noted is None:  # no page of the part was extracted
        return pa.nulls(len(batch), kind)
    if kind == pa.string():
        return noted
    return pc.divide(noted.cast(pa.float64()), float(THOUSANDTHS))
