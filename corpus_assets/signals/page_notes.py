"""The type of a page that extraction noted, as a signal (docs/how-to/extract-text.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa

from corpus_assets.core.schemas import PAGE_TYPE
from corpus_assets.signals.base import SignalFamily, TextBatch


class PageNotes(SignalFamily):
    """`page_type`, where the recipe has `documents.extraction.page_type`. Null for what is no
    page."""

    version: ClassVar[int] = 1

    family: Literal["page_notes"] = "page_notes"

    def columns(self) -> dict[str, pa.DataType]:
        return {PAGE_TYPE.name: PAGE_TYPE.type}

    def of_documents(self) -> tuple[str, ...]:
        return (PAGE_TYPE.name,)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        noted = batch.columns.get(PAGE_TYPE.name)
        if noted is None:  # no page of the part was extracted
            noted = pa.nulls(len(batch), PAGE_TYPE.type)
        return self.record_batch({PAGE_TYPE.name: noted})
