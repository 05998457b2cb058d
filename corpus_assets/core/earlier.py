"""Rows that a task reuses from an earlier result of its part instead of computing them.

`graph.reuse` says when there is one. Rows of a part's documents are known by (doc_id, offset,
text_id): the extracted text they stand for is the same, so is all that was computed from it.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.core.store import Store, local_checked, read_output
from corpus_assets.core.task import EarlierResult, TaskContext, read_table

KEYS = ["doc_id", "offset", "text_id"]


class Earlier:
    """An earlier result of the task that is running."""

    def __init__(self, store: Store, result: EarlierResult) -> None:
        self._store = store
        self._inputs, self._outputs = result.inputs, result.outputs
        self.counts, self.notes = result.counts, result.notes

    @classmethod
    def of(cls, context: TaskContext) -> "Earlier | None":
        result = context.task.earlier
        return cls(context.store, result) if result is not None else None

    def input(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self._store, self._inputs[name], columns)

    def output(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self._store, self._outputs[name], columns)

    def n_rows(self, name: str) -> int:
        return self._outputs[name].rows

    def content(self, name: str) -> bytes:
        return read_output(self._store, self._outputs[name])

    def path(self, name: str) -> Path:
        """Return a local file of an output, its content checked."""
        output = self._outputs[name]
        return local_checked(self._store, output.path, output.sha256)

    def rows_of_documents(self, context: TaskContext) -> list[int | None]:
        """For each of the part's documents its row in the earlier ones, None where it is new."""
        now = context.task.inputs["documents"]
        if now.sha256 == self._inputs["documents"].sha256:
            return list(range(now.rows))
        place = {key: row for row, key in enumerate(_keys(self.input("documents", KEYS)))}
        return [place.get(key) for key in _keys(context.table("documents", KEYS))]


def known_rows(context: TaskContext) -> tuple[Earlier, list[int]] | None:
    """Return an earlier result and the row of each of the part's documents in it; None where there
    is none, or a document is new: then all rows are computed."""
    earlier = Earlier.of(context)
    if earlier is None:
        return None
    rows = earlier.rows_of_documents(context)
    known = [row for row in rows if row is not None]
    return (earlier, known) if len(known) == len(rows) else None


def aligned_rows(context: TaskContext, name: str) -> pa.Table | None:
    """Return an output that is row-aligned with the part's documents; None where it must be
    computed."""
    known = known_rows(context)
    return known[0].output(name).take(pa.array(known[1], pa.int64())) if known else None


def _keys(documents: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(documents[name].to_pylist() for name in KEYS), strict=True))
