"""What tasks note about the documents that went through them."""

from collections import Counter

import pyarrow as pa

from corpus_assets.task import TaskContext


def count(
    context: TaskContext, entered: int, left: int, reasons: Counter[str] | None = None
) -> None:
    context.counts["documents_in"] = entered
    context.counts["documents_out"] = left
    if reasons:
        context.notes["reasons"] = dict(sorted(reasons.items()))


def values(column: pa.ChunkedArray) -> list[str]:
    """The values of a column that are not null."""
    return [value for value in column.to_pylist() if value is not None]
