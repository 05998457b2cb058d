"""The stages that find repeated spans of a snapshot; see `clean.repeated_spans` for the passes.

Four small steps, and nothing where the spans are pinned or the recipe does not compare any. Where a
snapshot has many parts, prints and grams are exchanged by ranges of their hashes.
"""

from collections.abc import Sequence
from typing import Any

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
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.repeated_spans import RepeatedSpanSettings
from corpus_assets.core import files
from corpus_assets.core.exchange import (
    group_tables,
    plan_groups,
    plan_ranges,
    range_count,
    range_tables,
    table_ranges,
    write_ranges,
)
from corpus_assets.core.files import File
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Each, Task, TaskContext, count, part_label
from corpus_assets.decontam.stage import verdict_settings


def plan_span_prints(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    return _part_tasks(pipeline, snapshot, SPAN_PRINTS, {})


def plan_print_groups(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    return _group_tasks(pipeline, snapshot, PRINT_GROUPS, files.SPAN_PRINTS)


def plan_print_ranges(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    return _range_tasks(pipeline, snapshot, PRINT_RANGES, files.PRINT_GROUPS, files.SPAN_PRINTS)


def plan_common_prints(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    return _merging_task(pipeline, snapshot, COMMON_PRINTS, files.SPAN_PRINTS, files.PRINT_RANGES)


def plan_span_grams(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    (prints,) = pipeline.parts(files.COMMON_PRINTS, snapshot)
    return _part_tasks(pipeline, snapshot, SPAN_GRAMS, {"prints": prints})


def plan_gram_groups(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    return _group_tasks(pipeline, snapshot, GRAM_GROUPS, files.SPAN_GRAMS)


def plan_gram_ranges(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    return _range_tasks(pipeline, snapshot, GRAM_RANGES, files.GRAM_GROUPS, files.SPAN_GRAMS)


def plan_repeated_spans(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    listed = files.MEMBERS.of_parts(pipeline.results(files.MEMBERS.stage, snapshot))
    members = {f"members/{files.MEMBERS.numbered(i)}": each for i, each in enumerate(listed)}
    return _merging_task(
        pipeline, snapshot, REPEATED_SPANS, files.SPAN_GRAMS, files.GRAM_RANGES, members
    )


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
    fates = fate_inputs(pipeline, snapshot)
    return Each(
        lambda i, documents, fate: stage.task(
            settings, {"documents": documents} | shared | fate, label=part_label(snapshot, i)
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
        fates,
    )


def _group_tasks(
    pipeline: CleanPlanner, snapshot: str, stage: Stage, before: File
) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    parts = pipeline.parts(before, snapshot)
    return plan_groups(stage, snapshot, {"ranges": _ranges(parts)}, {"counted": parts})


def _range_tasks(
    pipeline: CleanPlanner, snapshot: str, stage: Stage, groups: File, before: File
) -> list[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    grouped = pipeline.results(groups.stage, snapshot)
    ranges = _ranges(pipeline.parts(before, snapshot)) if grouped else 0
    return plan_ranges(stage, snapshot, _settings(pipeline), pipeline.store, grouped, ranges)


def _ranges(parts: Sequence[Output]) -> int:
    return range_count(sum(part.rows for part in parts))


def _merging_task(
    pipeline: CleanPlanner,
    snapshot: str,
    stage: Stage,
    before: File,
    ranges: File,
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    """Plan a task over what each part has, or each range of many parts."""
    if not _is_asked(pipeline, snapshot):
        return []
    merged = pipeline.parts(ranges, snapshot) or pipeline.parts(before, snapshot)
    inputs = {f"parts/{i:05d}": output for i, output in enumerate(merged)}
    return [stage.task(_settings(pipeline), inputs | (shared or {}), label=snapshot)]


def _settings(pipeline: CleanPlanner) -> dict[str, Any]:
    settings = pipeline.recipe.clean_text.repeated_spans
    return {"spans": settings.identity()} if settings is not None else {}


def run_span_prints(context: TaskContext) -> None:
    found = spans.count_prints(_compared(context)["text"], _span_settings(context))
    context.write_table(files.SPAN_PRINTS, found)


def run_print_groups(context: TaskContext) -> None:
    found = spans.sum_prints(group_tables(context, "counted"))
    _write_ranges(context, files.PRINT_GROUPS, found, "print")


def run_print_ranges(context: TaskContext) -> None:
    tables = range_tables(context, files.PRINT_GROUPS)
    context.write_table(files.PRINT_RANGES, spans.merge_prints(tables, _span_settings(context)))


def run_common_prints(context: TaskContext) -> None:
    tables = (context.table(name) for name in context.names("parts/"))
    context.write_table(files.COMMON_PRINTS, spans.merge_prints(tables, _span_settings(context)))


def run_span_grams(context: TaskContext) -> None:
    found = spans.count_grams(_compared(context), context.table("prints"), _span_settings(context))
    context.write_table(files.SPAN_GRAMS, found)


def run_gram_groups(context: TaskContext) -> None:
    found = pa.concat_tables(group_tables(context, "counted"))
    _write_ranges(context, files.GRAM_GROUPS, found, "gram")


def run_gram_ranges(context: TaskContext) -> None:
    tables = range_tables(context, files.GRAM_GROUPS)
    context.write_table(files.GRAM_RANGES, spans.repeated_grams(tables, _span_settings(context)))


def _write_ranges(context: TaskContext, file: File, table: pa.Table, key: str) -> None:
    ranges = context.task.settings["ranges"]
    write_ranges(context, file, table_ranges(table, table[key].to_numpy(), ranges))


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
    table = context.table("documents", ["doc_id", "domain", "host", "fetched_at", "text"])
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    rows = [row for row in range(table.num_rows) if row not in drops]
    count(context, table.num_rows, table.num_rows)
    kept = table.take(pa.array(rows, pa.int64()))
    lines = Boilerplate.of(context.table("boilerplate"))
    settings = context.settings(BoilerplateSettings, "boilerplate")
    min_left = context.task.settings["min_chars"]
    return with_texts(kept, left_by_lines(kept, lines, settings, min_left, text_steps(context)))


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

PRINT_GROUPS = Stage(
    "print_groups",
    3,
    Scope.SNAPSHOT,
    plan_print_groups,
    run_print_groups,
    asset="clean_text",
    reads=(files.SPAN_PRINTS,),
    writes=(files.PRINT_GROUPS,),
)

PRINT_RANGES = Stage(
    "print_ranges",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_print_ranges,
    run_print_ranges,
    asset="clean_text",
    reads=(
        files.SPAN_PRINTS,
        files.PRINT_GROUPS,
    ),
    writes=(files.PRINT_RANGES,),
)

COMMON_PRINTS = Stage(
    "common_prints",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_common_prints,
    run_common_prints,
    asset="clean_text",
    reads=(files.SPAN_PRINTS, files.PRINT_RANGES),
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

GRAM_GROUPS = Stage(
    "gram_groups",
    3,
    Scope.SNAPSHOT,
    plan_gram_groups,
    run_gram_groups,
    asset="clean_text",
    reads=(files.SPAN_GRAMS,),
    writes=(files.GRAM_GROUPS,),
)

GRAM_RANGES = Stage(
    "gram_ranges",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_gram_ranges,
    run_gram_ranges,
    asset="clean_text",
    reads=(
        files.SPAN_GRAMS,
        files.GRAM_GROUPS,
    ),
    writes=(files.GRAM_RANGES,),
)

REPEATED_SPANS = Stage(
    "repeated_spans",
    spans.VERSION,
    Scope.SNAPSHOT,
    plan_repeated_spans,
    run_repeated_spans,
    asset="clean_text",
    reads=(files.SPAN_GRAMS, files.GRAM_RANGES, files.MEMBERS),
    writes=(files.REPEATED_SPANS,),
    calibration=Calibration(
        files.REPEATED_SPANS,
        "64-bit hashes of runs of words in several documents, and document ids; no text",
        span_calibrations,
        asks=KEPT_KEYS,
        follows=("boilerplate",),
    ),
)
