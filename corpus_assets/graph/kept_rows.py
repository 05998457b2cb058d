"""Rows that a task takes over from an earlier result of its part instead of computing them.

See `reuse` for when there is one. Rows of a part's documents are known by (doc_id, offset,
text_id): the extracted text they stand for is the same, so is all that was computed from it.
"""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.decisions import Drop
from corpus_assets.core.schemas import FINAL_TEXT
from corpus_assets.core.store import Output, local_checked, read_output
from corpus_assets.core.task import TaskContext, read_table
from corpus_assets.shards.route import read_tokens
from corpus_assets.shards.tokens import TokenBatch

KEYS = ["doc_id", "offset", "text_id"]
FINAL = "final.parquet"


class Earlier:
    """An earlier result of the task that is running."""

    def __init__(self, context: TaskContext) -> None:
        self._store = context.store
        reuse = context.param("reuse")
        self._inputs = {name: Output(**raw) for name, raw in reuse["inputs"].items()}
        self._outputs = {name: Output(**raw) for name, raw in reuse["outputs"].items()}
        self.counts: dict[str, int] = reuse["counts"]
        self.notes: dict[str, Any] = reuse["notes"]

    @classmethod
    def of(cls, context: TaskContext) -> "Earlier | None":
        return cls(context) if "reuse" in context.task.params else None

    def input(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self._store, self._inputs[name], columns)

    def output(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self._store, self._outputs[name], columns)

    def n_rows(self, name: str) -> int:
        return self._outputs[name].rows

    def content(self, name: str) -> bytes:
        return read_output(self._store, self._outputs[name])

    def path(self, name: str) -> Path:
        """A local file of an output, its content checked."""
        output = self._outputs[name]
        return local_checked(self._store, output.path, output.sha256)

    def rows_of_documents(self, context: TaskContext) -> list[int | None]:
        """For each of the part's documents its row in the earlier ones, None where it is new."""
        now = context.task.inputs["documents"]
        if now.sha256 == self._inputs["documents"].sha256:
            return list(range(now.rows))
        place = {key: row for row, key in enumerate(_keys(self.input("documents", KEYS)))}
        return [place.get(key) for key in _keys(context.table("documents", KEYS))]


def aligned_rows(context: TaskContext, name: str) -> pa.Table | None:
    """An output that is row-aligned with the part's documents; None where it must be computed."""
    earlier = Earlier.of(context)
    if earlier is None:
        return None
    rows = earlier.rows_of_documents(context)
    if None in rows:
        return None
    return earlier.output(name).take(pa.array(rows, pa.int64()))


def kept_hits(context: TaskContext) -> pa.Table | None:
    """Hits of the documents that are left, at their new rows."""
    earlier = Earlier.of(context)
    if earlier is None:
        return None
    rows = earlier.rows_of_documents(context)
    if None in rows:
        return None
    now = {old: new for new, old in enumerate(rows)}
    hits = earlier.output("hits.parquet")
    moved = [now.get(row) for row in hits["row"].to_pylist()]
    left = hits.filter(pa.array([row is not None for row in moved], pa.bool_()))
    column = pa.array([row for row in moved if row is not None], pa.int32())
    return left.set_column(left.schema.get_field_index("row"), left.schema.field("row"), column)


class EarlierTexts(NamedTuple):
    """What cleaning made of a part before."""

    earlier: Earlier | None
    rows: list[int | None]  # of each document in the final texts, None where it has none
    dropped: dict[int, Drop]  # documents that cleaning itself dropped

    def final(self) -> pa.Table:
        return self.earlier.output(FINAL) if self.earlier else FINAL_TEXT.empty_table()

    def are_all(self, order: list[int]) -> bool:
        """Whether these rows, in this order, are all of the final texts as they stand."""
        return self.earlier is not None and order == list(range(self.earlier.n_rows(FINAL)))


def kept_final_rows(context: TaskContext, chosen: pa.Table) -> EarlierTexts:
    """The earlier final texts, and which of the part's documents they stand for.

    A row counts when the document's tier and language (from the selection) are as they were.
    """
    earlier = Earlier.of(context)
    if earlier is None:
        return EarlierTexts(None, [None] * chosen.num_rows, {})
    columns = ["stage", "kept", "reason", "detail", "tier", "language"]
    decisions = earlier.output("decisions.parquet", columns)
    is_document = pc.fill_null(pc.not_equal(decisions["stage"], "documents"), True)
    decided = decisions.filter(is_document)
    kept = decided["kept"].to_numpy()
    final_row = pa.array(np.cumsum(kept) - 1, pa.int64(), mask=~kept)
    were = pa.array(earlier.rows_of_documents(context), pa.int64())
    same = were.is_valid()
    for name in ("tier", "language"):
        same = pc.and_(same, _is_equal(decided[name].take(were), chosen[name]))
    places = pa.array(np.arange(len(were)), pa.int64())
    cleaned = pc.fill_null(pc.equal(decided["stage"].take(were), "clean_text"), False)
    dropped = places.filter(pc.and_(same, cleaned))
    said = decided.select(["stage", "reason", "detail"]).take(were.take(dropped)).to_pylist()
    return EarlierTexts(
        earlier,
        final_row.take(pc.if_else(same, were, None)).to_pylist(),
        {row: Drop(**one) for row, one in zip(dropped.to_pylist(), said, strict=True)},
    )


def _is_equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether values are equal; two that are missing are."""
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.fill_null(pc.equal(left, right), False))


def known_tokens(context: TaskContext, final: pa.Table) -> dict[int, Any]:
    """Tokens of the rows of `final` that an earlier result has, by row.

    A row is the same when its id and its text are; ids that stand there twice are left out.
    """
    earlier = Earlier.of(context)
    if earlier is None:
        return {}
    before = earlier.input("final", ["doc_id", "text"])
    ids: list[bytes] = before["doc_id"].to_pylist()
    twice = {doc_id for doc_id, n in Counter(ids).items() if n > 1}
    place = {doc_id: row for row, doc_id in enumerate(ids) if doc_id not in twice}
    now: list[bytes] = final["doc_id"].to_pylist()
    were = before["text"].take(pa.array([place.get(doc_id) for doc_id in now], pa.int64()))
    is_same = pc.fill_null(pc.equal(were, final["text"]), False).to_numpy()
    same = {int(row): now[row] for row in np.flatnonzero(is_same)}
    tokens: dict[bytes, Any] = {}
    for doc_ids, batch in read_tokens(earlier.content("tokens.parquet")):
        tokens.update((doc_id, batch[i]) for i, doc_id in enumerate(doc_ids))
    return {row: tokens[doc_id] for row, doc_id in same.items()}


def joined(known: dict[int, Any], computed: TokenBatch, rows: int) -> TokenBatch:
    """Tokens of all rows in order: those known, and for the others the next one computed."""
    fresh = iter(range(len(computed)))
    return TokenBatch.of(known[i] if i in known else computed[next(fresh)] for i in range(rows))


def _keys(documents: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(documents[name].to_pylist() for name in KEYS), strict=True))
