"""Signals stage: the text of each document in, columns of numbers and labels out.

Signals are computed once and stored beside the text; thresholds are applied later, over the
columns (`stages/selection.py`), so that a changed threshold reads no text again.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, Union

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from corpus_assets.documents import DOC_ID
from corpus_assets.signals import FAMILIES, SignalFamily, TextBatch
from corpus_assets.step import Settings

VERSION = 1

# Batches bound memory: tokenization takes about ten times a batch's text.
BATCH_DOCUMENTS = 1_000
BATCH_BYTES = 16 << 20

if TYPE_CHECKING:
    AnyFamily = SignalFamily
else:
    AnyFamily = Annotated[Union[tuple(FAMILIES.values())], Field(discriminator="family")]  # noqa: UP007


class SignalSettings(Settings):
    """Which families to compute; each is named by its `family` and holds its own settings."""

    families: tuple[AnyFamily, ...] = ()

    @model_validator(mode="after")
    def _columns_are_distinct(self) -> Self:
        seen = {"doc_id": "the documents", "n_chars": "the documents"}
        for family in self.families:
            for name in family.columns():
                if name in seen:
                    raise ValueError(
                        f"column {name!r} comes from {seen[name]} and from {family.family}: "
                        f"list each family once"
                    )
                seen[name] = family.family
        return self

    def identity(self) -> dict[str, Any]:
        """Settings with each family's version, so that raising one recomputes its signals."""
        return {"families": [family.identity() for family in self.families]}

    def columns(self) -> dict[str, pa.DataType]:
        """Names and types of all signals, in order."""
        out = {"n_chars": pa.int64()}
        for family in self.families:
            out.update(family.columns())
        return out

    def needs(self) -> tuple[str, ...]:
        """Names of the model files that some family reads, sorted."""
        return tuple(sorted({name for family in self.families for name in family.needs()}))


def compute_signals(
    documents: pa.Table, settings: SignalSettings, models: Mapping[str, Path]
) -> pa.Table:
    """`doc_id`, `n_chars` and every family's columns; row i speaks of row i of `documents`.

    The result does not depend on how rows fall into batches.
    """
    schema = pa.schema([("doc_id", DOC_ID), *settings.columns().items()])
    batches = []
    for piece in _pieces(documents.select(["doc_id", "text"])):
        batch = TextBatch.from_arrow(piece.column("text"))
        columns = [piece.column("doc_id"), pa.array(batch.n_chars, pa.int64())]
        for family in settings.families:
            columns += family.compute(batch, models).columns
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _pieces(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Runs of rows with at most BATCH_DOCUMENTS rows and, beyond the first row, BATCH_BYTES."""
    for chunk in table.to_batches(max_chunksize=BATCH_DOCUMENTS):
        lengths = pc.fill_null(pc.binary_length(chunk.column("text")), 0).to_pylist()
        start = n_bytes = 0
        for row, length in enumerate(lengths):
            if row > start and n_bytes + length > BATCH_BYTES:
                yield chunk.slice(start, row - start)
                start, n_bytes = row, 0
            n_bytes += length
        if start < len(lengths):
            yield chunk.slice(start)
