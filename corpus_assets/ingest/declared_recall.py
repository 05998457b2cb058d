"""What the texts of a snapshot have of what their pages declare, by type of schema.org: a check of the
extractor on every crawl, without a truth set.

A recipe names its ingredients in its JSON-LD, an article its body. What a page declares need not be
shown on it, so no extractor has all; one that has less than half of most is broken for such pages.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.figures import wilson
from corpus_assets.core import files
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.lazy_sequence import spread
from corpus_assets.core.schemas import DECLARED_RECALL
from corpus_assets.core.store import Output, Store
from corpus_assets.ingest.planner import IngestPlanner
from pageblocks import BODY_TYPES

PARTS = 256
"""Parts of a snapshot that are counted; of more, that many that are evenly spaced."""

MIN_DOCUMENTS = 20
MAX_UNDER_HALF = 0.25
"""Share of a type's documents that may lack half of what their pages declare."""


@dataclass(frozen=True)
class DeclaredRecall:
    """Documents whose pages declare a text of one type, the lines of it, those that the documents
    have, and documents that have less than half."""

    type: str
    documents: int
    lines: int
    found: int
    under_half: int


def snapshot_recall(pipeline: IngestPlanner, snapshot: str) -> list[DeclaredRecall]:
    """Count a snapshot's documents by declared type, the most frequent first."""
    documents = pipeline.parts(files.DOCUMENTS, snapshot)
    column = (_recalls(pipeline.store, documents[part]) for part in spread(len(documents), PARTS))
    return summed_recall(pa.chunked_array(column, DECLARED_RECALL.type))


def summed_recall(column: pa.ChunkedArray) -> list[DeclaredRecall]:
    """Count the values of `declared_recall` by type."""
    rows = pc.list_flatten(column).combine_chunks()
    kinds, lines, found = (rows.field(name) for name in ("type", "lines", "found"))
    under = pc.less(pc.multiply(found, 2), lines)
    table = pa.table([kinds, lines, found, under], ["type", "lines", "found", "under"])
    counted = table.group_by("type", use_threads=False).aggregate(
        [("type", "count"), ("lines", "sum"), ("found", "sum"), ("under", "sum")]
    )
    names = ("type", "type_count", "lines_sum", "found_sum", "under_sum")
    sums = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return sorted(
        (DeclaredRecall(*one) for one in sums), key=lambda one: (-one.documents, one.type)
    )


def recall_message(recalls: Iterable[DeclaredRecall]) -> tuple[bool, str]:
    """Whether documents of every type that is the text of its page have most of what is declared,
    and a sentence."""
    bodies = [one for one in recalls if one.type in BODY_TYPES and one.documents >= MIN_DOCUMENTS]
    low = [
        one for one in bodies if wilson(one.under_half, one.documents)[0] > MAX_UNDER_HALF
    ]  # fmt: skip
    said = "; ".join(
        f"{one.type}: {one.under_half:,} of {one.documents:,} documents have less than half of the "
        f"lines that their pages declare ({one.found / one.lines:.0%} of {one.lines:,} lines found)"
        for one in low or bodies
    )
    if low:
        return (
            False,
            f"{said}. Look at some of them (`catalog sql`, column `declared_recall` of `raw.documents`)",
        )
    return True, said or f"no type is declared by {MIN_DOCUMENTS} pages"


def _recalls(store: Store, output: Output) -> pa.Array:
    """The column of a part; empty for parts without one."""
    try:
        with store.open(output.path) as file:
            parquet = pq.ParquetFile(file)
            if DECLARED_RECALL.name not in parquet.schema_arrow.names:
                return pa.array([], DECLARED_RECALL.type)
            table = parquet.read(columns=[DECLARED_RECALL.name], use_threads=False)
            return table[DECLARED_RECALL.name].combine_chunks().cast(DECLARED_RECALL.type)
    except pa.ArrowException as error:
        raise CorruptArtifact(f"{output.path} is not readable Parquet: {error}") from error
