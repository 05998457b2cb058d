"""The stages that find repeated spans of a snapshot; see `clean.repeated_spans` for the passes.

Four small steps, and nothing where the spans are pinned or the recipe does not compare any.
"""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corpus_assets.clean import repeated_spans as spans
from corpus_assets.clean.boilerplate import Boilerplate, BoilerplateSettings
from corpus_assets.clean.clean_text import left_by_lines
from corpus_assets.clean.fates import (
    FATE_FILES,
    KEPT_KEYS,
    drops_before_cleaning,
    fate_inputs,
    step_settings,
    text_steps,
    with_texts,
)
from corpus_assets.clean.repeated_spans import RepeatedSpanSettings
from corpus_assets.core import files
from corpus_assets.core.stage import Calibration, File, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.decontam.stage import verdict_settings

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def plan_span_prints(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _part_tasks(graph, snapshot, SPAN_PRINTS, {})


def plan_common_prints(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _merging_task(graph, snapshot, COMMON_PRINTS, files.SPAN_PRINTS)


def plan_span_grams(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    (prints,) = graph.parts(files.COMMON_PRINTS, snapshot)
    return _part_tasks(graph, snapshot, SPAN_GRAMS, {"prints": prints})


def plan_repeated_spans(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    (clusters,) = graph.results(files.MEMBERS.stage, snapshot)
    members = {f"members/{name}": output for name, output in clusters.outputs.items()}
    return _merging_task(graph, snapshot, REPEATED_SPANS, files.SPAN_GRAMS, members)


def span_inputs(graph: "Pipeline", snapshot: str) -> dict[str, Output]:
    """Return what cleaning reads of it, where the recipe asks for it."""
    if not _compares(graph, snapshot):
        return {}
    return {"repeated_spans": graph.calibration(files.REPEATED_SPANS, snapshot)}


def span_calibrations(graph: "Pipeline") -> dict[str, Output]:
    """Return the calibrations of all snapshots by their name in a lock."""
    return {
        f"repeated_spans/{snapshot}": graph.calibration(files.REPEATED_SPANS, snapshot)
        for snapshot in graph.recipe.snapshots
        if _compares(graph, snapshot)
    }


def _compares(graph: "Pipeline", snapshot: str) -> bool:
    settings = graph.recipe.clean_text.repeated_spans
    return settings is not None and graph.recipe.source_of(snapshot).domain in settings.domains


def _is_asked(graph: "Pipeline", snapshot: str) -> bool:
    return _compares(graph, snapshot) and not graph.pin_of(files.REPEATED_SPANS.stage, snapshot)


def _part_tasks(
    graph: "Pipeline", snapshot: str, stage: Stage, shared: dict[str, Output]
) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    lines = graph.recipe.clean_text.boilerplate.identity()
    settings = _settings(graph) | {"boilerplate": lines}
    settings |= step_settings(graph) | verdict_settings(graph)
    shared = shared | {"boilerplate": graph.calibration(files.BOILERPLATE, snapshot)}
    fates = fate_inputs(graph, snapshot)
    return [
        stage.task(
            settings,
            {"documents": documents} | shared | fates[i],
            label=part_label(snapshot, i),
        )
        for i, documents in enumerate(graph.parts(files.DOCUMENTS, snapshot))
    ]


def _merging_task(
    graph: "Pipeline",
    snapshot: str,
    stage: Stage,
    before: File,
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    inputs = {f"parts/{i:05d}": output for i, output in enumerate(graph.parts(before, snapshot))}
    inputs |= shared or {}
    return [stage.task(_settings(graph), inputs, label=snapshot)]


def _settings(graph: "Pipeline") -> dict[str, Any]:
    settings = graph.recipe.clean_text.repeated_spans
    return {"spans": settings.identity()} if settings is not None else {}


def run_span_prints(context: TaskContext) -> None:
    found = spans.count_prints(_compared(context)["text"], _span_settings(context))
    context.write_table(files.SPAN_PRINTS, found)


def run_common_prints(context: TaskContext) -> None:
    tables = (context.table(name) for name in context.names("parts/"))
    context.write_table(files.COMMON_PRINTS, spans.merge_prints(tables, _span_settings(context)))


def run_span_grams(context: TaskContext) -> None:
    found = spans.count_grams(_compared(context), context.table("prints"), _span_settings(context))
    context.write_table(files.SPAN_GRAMS, found)


def run_repeated_spans(context: TaskContext) -> None:
    columns = ["doc_id", "kept", "kept_doc_id"]
    members = (context.table(name, columns) for name in context.names("members/"))
    tables = (context.table(name) for name in context.names("parts/"))
    found = spans.merge_grams(tables, members, _span_settings(context))
    context.write_table(files.REPEATED_SPANS, found)
    context.counts["repeated_grams"] = found.num_rows


def _span_settings(context: TaskContext) -> RepeatedSpanSettings:
    return context.settings(RepeatedSpanSettings, "spans")


def _compared(context: TaskContext) -> pa.Table:
    """Return the documents that no earlier stage drops, with what the cutting of lines leaves of
    them."""
    table = context.table("documents", ["doc_id", "domain", "host", "text"])
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    rows = [row for row in range(table.num_rows) if row not in drops]
    count(context, table.num_rows, table.num_rows)
    kept = table.take(pa.array(rows, pa.int64()))
    lines = Boilerplate.of(context.table("boilerplate"))
    settings = context.settings(BoilerplateSettings, "boilerplate")
    return with_texts(kept, left_by_lines(kept, lines, settings, text_steps(context)))


SPAN_PRINTS = Stage(
    "span_prints",
    spans.VERSION,
    Scope.PART,
    plan_span_prints,
    run_span_prints,
    asset="clean_text",
    reads=(files.BOILERPLATE, *FATE_FILES),
    writes=(files.SPAN_PRINTS,),
)

COMMON_PRINTS = Stage(
    "common_prints",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_common_prints,
    run_common_prints,
    asset="clean_text",
    reads=(files.SPAN_PRINTS,),
    writes=(files.COMMON_PRINTS,),
)

SPAN_GRAMS = Stage(
    "span_grams",
    spans.VERSION,
    Scope.PART,
    plan_span_grams,
    run_span_grams,
    asset="clean_text",
    reads=(files.BOILERPLATE, files.COMMON_PRINTS, *FATE_FILES),
    writes=(files.SPAN_GRAMS,),
)

REPEATED_SPANS = Stage(
    "repeated_spans",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_repeated_spans,
    run_repeated_spans,
    asset="clean_text",
    reads=(files.SPAN_GRAMS, files.MEMBERS),
    writes=(files.REPEATED_SPANS,),
    calibration=Calibration(
        files.REPEATED_SPANS,
        "64-bit hashes of runs of words in several documents, and document ids; no text",
        span_calibrations,
        asks=KEPT_KEYS,
        follows=("boilerplate",),
    ),
)
