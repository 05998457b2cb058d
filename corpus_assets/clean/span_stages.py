"""The stages that find repeated spans of a snapshot; see `clean.repeated_spans` for the passes.

Two shuffles: the prints that stand in several places, then the grams that do, among those with such
a print. Nothing is planned where the spans are pinned or the recipe does not compare any.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.clean import repeated_spans as spans
from corpus_assets.clean.clean_text import left_by_lines
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.repeated_paragraphs import (
    PARAGRAPH_GRAMS,
    count_paragraph_grams,
    keep_grams,
)
from corpus_assets.clean.settings import BoilerplateSettings, RepeatedSpanSettings
from corpus_assets.clean.upstream import (
    KEPT_KEYS,
    UPSTREAM_FILES,
    drops_before_cleaning,
    step_settings,
    text_steps,
    upstream_inputs,
    with_texts,
)
from corpus_assets.core import files
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.shuffle import Rows, Shuffle, Tables
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.decontam import verdict_settings
from corpus_assets.text.line_kinds import COLUMNS_OF_LINES


def span_inputs(pipeline: CleanPlanner, snapshot: str) -> dict[str, Output]:
    """Return what cleaning reads of it, where the recipe asks for it."""
    if not _compares(pipeline, snapshot):
        return {}
    return {"repeated_spans": pipeline.calibration(files.REPEATED_SPANS, snapshot)}


def span_calibrations(pipeline: CleanPlanner) -> dict[str, Output]:
    """Return the calibrations of all snapshots by their name in a lock."""
    return {
        f"repeated_spans/{snapshot}": pipeline.calibration(files.REPEATED_SPANS, snapshot)
        for snapshot in pipeline.recipe.snapshots
        if _compares(pipeline, snapshot)
    }


def _compares(pipeline: CleanPlanner, snapshot: str) -> bool:
    settings = pipeline.recipe.clean_text.repeated_spans
    return settings is not None and pipeline.recipe.source_of(snapshot).domain in settings.domains


def _is_asked(pipeline: CleanPlanner, snapshot: str) -> bool:
    return _compares(pipeline, snapshot) and not pipeline.pin_of(
        files.REPEATED_SPANS.stage, snapshot
    )


def _settings(pipeline: CleanPlanner) -> dict[str, Any]:
    settings = pipeline.recipe.clean_text.repeated_spans
    return {"spans": settings.identity()} if settings is not None else {}


def _span_settings(context: TaskContext) -> RepeatedSpanSettings:
    return context.settings(RepeatedSpanSettings, "spans")


def plan_span_prints(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    return _part_tasks(pipeline, snapshot, SPAN_PRINTS, {})


def plan_span_grams(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    (prints,) = pipeline.parts(files.COMMON_PRINTS, snapshot)
    return _part_tasks(pipeline, snapshot, SPAN_GRAMS, {"prints": prints})


def _part_tasks(
    pipeline: CleanPlanner, snapshot: str, stage: Stage, shared: dict[str, Output]
) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    lines = pipeline.recipe.clean_text.boilerplate.identity()
    settings = _settings(pipeline) | {"boilerplate": lines}
    settings |= {"min_chars": pipeline.recipe.clean_text.min_chars}
    settings |= step_settings(pipeline) | verdict_settings(pipeline)
    shared = shared | {"boilerplate": pipeline.calibration(files.BOILERPLATE, snapshot)}
    return LazySequence(
        lambda i, documents, upstream: stage.task(
            settings, {"documents": documents} | shared | upstream, label=part_label(snapshot, i)
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
        upstream_inputs(pipeline, snapshot),
    )


def run_span_prints(context: TaskContext) -> None:
    found = spans.count_prints(_compared(context)["text"], _span_settings(context))
    context.write_table(files.SPAN_PRINTS, found)


def run_span_grams(context: TaskContext) -> None:
    settings = _span_settings(context)
    counted = spans.count_grams if settings.paragraph_share is None else count_paragraph_grams
    context.write_table(
        files.SPAN_GRAMS, counted(_compared(context), context.table("prints"), settings)
    )


def _compared(context: TaskContext) -> pa.Table:
    """Return the documents that no earlier stage drops, with what the cutting of lines leaves of
    them."""
    columns = ["doc_id", "domain", "host", "fetched_at", "text", *COLUMNS_OF_LINES]
    table = context.table("documents", columns)
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    rows = [row for row in range(table.num_rows) if row not in drops]
    count(context, table.num_rows, table.num_rows)
    kept = table.take(pa.array(rows, pa.int64()))
    lines = Boilerplate.of(context.table("boilerplate"))
    settings = context.settings(BoilerplateSettings, "boilerplate")
    min_left = context.task.settings["min_chars"]
    return with_texts(kept, left_by_lines(kept, lines, settings, min_left, text_steps(context)))


def _members(pipeline: CleanPlanner, snapshot: str) -> dict[str, Output]:
    listed = files.MEMBERS.of_parts(pipeline.results(files.MEMBERS.stage, snapshot))
    return {f"members/{files.MEMBERS.numbered(i)}": each for i, each in enumerate(listed)}


def _repeated_spans(context: TaskContext, grams: Tables) -> pa.Table:
    columns = ["doc_id", "kept", "kept_doc_id"]
    members = (context.table(name, columns) for name in context.names("members/"))
    settings = _span_settings(context)
    if settings.paragraph_share is None:
        found = spans.merge_grams(grams, members)
    else:
        found = keep_grams(_several(context, grams), members, settings)
    context.counts["repeated_grams"] = found.num_rows
    return found


def _several(context: TaskContext, grams: Tables) -> pa.Table:
    """Return the grams that stand in several places."""
    in_paragraphs = _span_settings(context).paragraph_share is not None
    return spans.repeated_grams(grams, PARAGRAPH_GRAMS if in_paragraphs else spans.GRAMS)


SPAN_PRINTS = Stage(
    "span_prints",
    spans.VERSION,
    Scope.PART,
    plan_span_prints,
    run_span_prints,
    reads=(files.BOILERPLATE, *UPSTREAM_FILES),
    writes=(files.SPAN_PRINTS,),
)

COMMON_PRINTS = Shuffle(
    files.COMMON_PRINTS,
    SPAN_PRINTS,
    [Rows(files.SPAN_PRINTS, "print", spans.sum_prints)],
    reduce=lambda context, prints: spans.merge_prints(prints),
    finish=lambda context, prints: spans.merge_prints(prints),
    version=spans.VERSION,
    settings=_settings,
    is_asked=_is_asked,
)

SPAN_GRAMS = Stage(
    "span_grams",
    spans.VERSION,
    Scope.PART,
    plan_span_grams,
    run_span_grams,
    reads=(files.BOILERPLATE, files.COMMON_PRINTS, *UPSTREAM_FILES),
    writes=(files.SPAN_GRAMS,),
)

REPEATED_SPANS = Shuffle(
    files.REPEATED_SPANS,
    SPAN_GRAMS,
    [Rows(files.SPAN_GRAMS, "gram")],
    reduce=_several,
    finish=_repeated_spans,
    version=spans.VERSION,
    settings=_settings,
    is_asked=_is_asked,
    reads=(files.MEMBERS,),
    inputs=_members,
    calibration=Calibration(
        files.REPEATED_SPANS,
        "64-bit hashes of runs of words or bytes in several documents, ids of documents and when they "
        "were fetched; no text",
        span_calibrations,
        asks=KEPT_KEYS,
        follows=("boilerplate",),
    ),
)
