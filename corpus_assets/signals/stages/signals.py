"""The stage of signals: numbers and labels of every document."""

from typing import TYPE_CHECKING

import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, part_label
from corpus_assets.signals.stages.compute import VERSION, SignalSettings, compute_signals
from corpus_assets.signals.stages.signal_models import MODEL_FILES, model_files, signal_models

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def plan_signals(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = {
        "signals": graph.recipe.signals.model_dump(mode="json"),
        "families": graph.recipe.signals.identity(),  # with the version of each family
    }
    shared, extra, params = signal_models(graph, graph.recipe.signals.needs())
    return [
        SIGNALS.task(
            settings,
            {"documents": documents} | shared,
            extra,
            params,
            label=part_label(snapshot, i),
        )
        for i, documents in enumerate(graph.parts(files.DOCUMENTS, snapshot))
    ]


def run_signals(context: TaskContext) -> None:
    computed = aligned_rows(context, files.SIGNALS)
    if computed is None:
        computed = _compute_signals(context)
    context.write_table(files.SIGNALS, computed, LOOKUP_ROWS)
    count(context, computed.num_rows, computed.num_rows)


def _compute_signals(context: TaskContext) -> pa.Table:
    table = context.table("documents", ["doc_id", "domain", "text"])
    return compute_signals(table, context.settings(SignalSettings, "signals"), model_files(context))


SIGNALS = Stage(
    "signals",
    VERSION,
    Scope.PART,
    plan_signals,
    run_signals,
    about="Numbers and labels of every document: language, Gopher, FineWeb, quality. Never "
    "recomputed for a new threshold.",
    reads=(files.DOCUMENTS, *MODEL_FILES),
    writes=(files.SIGNALS,),
    fed_by=("documents", "documents_out"),
    by_row=frozenset({"documents"}),
)
