"""The stages of selection: cutoffs over the calibration snapshots, then keep or drop."""

import json
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label, values
from corpus_assets.select import selection
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import resolve_cutoffs, select

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def plan_cutoffs(graph: "Pipeline") -> list[Task]:
    inputs: dict[str, Output] = {}
    for snapshot in graph.recipe.calibration_snapshots:
        domain = graph.recipe.source_of(snapshot).domain
        for i, signals in enumerate(graph.parts(files.SIGNALS, snapshot)):
            inputs[f"{domain}/{snapshot}/{i:05d}"] = signals
    return [QUALITY_CUTOFFS.task(graph.recipe.selection.identity(), inputs)]


def run_cutoffs(context: TaskContext) -> None:
    tables = []
    for name in context.names(""):
        table = context.table(name)
        domain = pa.repeat(pa.scalar(name.split("/")[0]), table.num_rows)
        tables.append(table.append_column("domain", domain))
    cutoffs = resolve_cutoffs(tables, context.settings(SelectionSettings))
    context.write_bytes(files.CUTOFFS, json.dumps(cutoffs, sort_keys=True, indent=1).encode())
    context.notes["cutoffs"] = cutoffs


def plan_selection(graph: "Pipeline", snapshot: str) -> list[Task]:
    cutoffs = graph.calibration(files.CUTOFFS)
    settings = {
        "selection": graph.recipe.selection.identity(),
        "domain": graph.recipe.source_of(snapshot).domain,
    }
    return [
        SELECTION.task(
            settings, {"signals": signals, "cutoffs": cutoffs}, label=part_label(snapshot, i)
        )
        for i, signals in enumerate(graph.parts(files.SIGNALS, snapshot))
    ]


def run_selection(context: TaskContext) -> None:
    computed = context.table("signals")
    domain = pa.repeat(pa.scalar(context.task.settings["domain"]), computed.num_rows)
    keys = pa.table({"doc_id": computed["doc_id"], "domain": domain})
    settings = context.settings(SelectionSettings, "selection")
    chosen = select(keys, computed, settings, context.json("cutoffs"))
    context.write_table(files.SELECTION, chosen)
    kept = pc.sum(chosen["kept"]).as_py() or 0
    count(context, chosen.num_rows, kept, Counter(values(chosen["reason"])))


QUALITY_CUTOFFS = Stage(
    "quality_cutoffs",
    selection.VERSION,
    Scope.ALL,
    plan_cutoffs,
    run_cutoffs,
    about="Score cutoffs and tier bounds per language, resolved from the calibration snapshots.",
    reads_all=(files.SIGNALS,),
    writes=(files.CUTOFFS,),
    calibration=Calibration(
        files.CUTOFFS,
        "quantiles of scores over many documents; no text",
        lambda graph: {"quality_cutoffs": graph.calibration(files.CUTOFFS)},
    ),
)

SELECTION = Stage(
    "selection",
    selection.VERSION,
    Scope.PART,
    plan_selection,
    run_selection,
    about="Keep or drop by the recipe's thresholds over the signals; the first failing rule is the "
    "reason, all failing rules are kept.",
    reads=(files.SIGNALS, files.CUTOFFS),
    writes=(files.SELECTION,),
    drops=("*",),  # the rule that failed first
    fed_by=("signals", "documents_out"),
)
