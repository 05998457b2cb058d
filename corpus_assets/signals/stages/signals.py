"""Signals stage: the text of each document in, columns of numbers and labels out.

Families are computed in the recipe's order. One that rewrites text (`signals.text_step`) gives
those after it what it leaves; `text_steps` says which, for the stage that makes final text.

Signals are computed once and stored beside the text; thresholds are applied later, over the
columns (`stages/selection.py`), so that a changed threshold reads no text again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.column_types import arrow_schema
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, part_label
from corpus_assets.signals.imported import Imported
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signal_models import (
    MODEL_FILES,
    model_files,
    models_of_signals,
    with_listed_entries,
)
from corpus_assets.signals.text_step import TextStep
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import KINDS_OF_TEXT, kinds_of_left

VERSION = 2
IMPORTED = "imported"  # the note that counts documents with a row of each import

# Batches bound memory: tokenization takes about ten times a batch's text.
BATCH_DOCUMENTS = 1_000
BATCH_BYTES = 16 << 20


def compute_signals(
    documents: pa.Table, settings: SignalSettings, models: Mapping[str, Path]
) -> pa.Table:
    """`doc_id`, `n_chars` and every family's columns; row i speaks of row i of `documents`.

    The result does not depend on how rows fall into batches.
    """
    schema = pa.schema([("doc_id", DOC_ID), *arrow_schema(settings.columns())])
    read = [name for name in settings.document_columns() if name in documents.schema.names]
    batches = []
    for domain, piece in _pieces(documents.select(read)):
        batch = TextBatch.from_arrow(piece.column("text"))
        known = {"doc_id": piece.column("doc_id"), "n_chars": pa.array(batch.n_chars, pa.int64())}
        given = {name: piece.column(name) for name in read if name != "text"}
        for family in settings.families:
            batch.columns = given | known
            names = list(family.columns())
            if not isinstance(family, TextStep):
                found = family.compute(batch, models).columns
            elif family.applies_to(domain):
                done = family.rewrite(batch)
                found = done.columns.columns
                if KINDS_OF_TEXT in given:
                    given[KINDS_OF_TEXT] = kinds_of_left(batch, done.left, done.pieces, done.rows)
                batch = done.left
            else:
                found = [
                    pa.nulls(len(batch), field.type) for field in arrow_schema(family.columns())
                ]
            known |= dict(zip(names, found, strict=True))
        batches.append(pa.RecordBatch.from_arrays(list(known.values()), schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _pieces(table: pa.Table) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield runs of rows of one domain, of at most BATCH_DOCUMENTS rows and, beyond the first row,
    BATCH_BYTES."""
    for chunk in table.to_batches(max_chunksize=BATCH_DOCUMENTS):
        lengths = pc.fill_null(pc.binary_length(chunk.column("text")), 0).to_pylist()
        has_domain = "domain" in table.schema.names
        domains = chunk.column("domain").to_pylist() if has_domain else [None] * len(lengths)
        start = n_bytes = 0
        for row, (length, domain) in enumerate(zip(lengths, domains, strict=True)):
            if row > start and (n_bytes + length > BATCH_BYTES or domain != domains[start]):
                yield domains[start], chunk.slice(start, row - start)
                start, n_bytes = row, 0
            n_bytes += length
        if start < len(lengths):
            yield domains[start], chunk.slice(start)


def plan_signals(pipeline: SignalsPlanner, snapshot: str) -> Sequence[Task]:
    listed = with_listed_entries(pipeline)
    settings = {
        "signals": listed.plain(),
        "families": listed.identity(),  # with the version of each family
    }
    shared, extra, params = models_of_signals(pipeline, pipeline.recipe.signals.needs())
    return LazySequence(
        lambda i, documents: SIGNALS.task(
            settings,
            {"documents": documents} | shared,
            extra,
            params,
            label=part_label(snapshot, i),
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
    )


def run_signals(context: TaskContext) -> None:
    computed = aligned_rows(context, files.SIGNALS)
    if computed is None:
        computed = _compute_signals(context)
    context.write_table(files.SIGNALS, computed, LOOKUP_ROWS)
    count(context, computed.num_rows, computed.num_rows)
    settings = SignalSettings.of_plain(context.task.settings["signals"])
    covered = {f.name: f.covered(computed) for f in settings.families if isinstance(f, Imported)}
    context.notes |= {IMPORTED: covered} if covered else {}


def _compute_signals(context: TaskContext) -> pa.Table:
    settings = SignalSettings.of_plain(context.task.settings["signals"])
    table = context.table("documents", settings.document_columns())  # those that are there
    return compute_signals(table, settings, model_files(context))


SIGNALS = Stage(
    "signals",
    VERSION,
    Scope.PART,
    plan_signals,
    run_signals,
    about="Numbers and labels of every document. A new threshold recomputes none of them.",
    reads=(files.DOCUMENTS, *MODEL_FILES),
    writes=(files.SIGNALS,),
    fed_by=("documents", "documents_out"),
    by_row=frozenset({"documents"}),
)
