"""The stages that find the boilerplate lines of a snapshot; see `clean.boilerplate` for the passes.

None of them runs where the lines are pinned. Only `line_keys` reads text, and it waits for no
selection: another threshold costs columns. Two shuffles follow: lines that many documents share,
then who keeps each. Lines are compared within a bucket only, so buckets are the keys of both. With
one bucket for the snapshot, lines are counted by their own keys, and keepers are chosen in one
piece.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.clean import boilerplate as lines
from corpus_assets.clean.clean_text import rewritten
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.clean.upstream import (
    KEPT_KEYS,
    UPSTREAM_FILES,
    cluster_keepers,
    drops_before_cleaning,
    step_settings,
    text_steps,
    upstream_inputs,
)
from corpus_assets.core import files
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.shuffle import Rows, Shuffle, Tables
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, part_label
from corpus_assets.decontam import verdict_settings
from corpus_assets.text.line_kinds import COLUMNS_OF_LINES


def plan_line_keys(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    settings = _settings(pipeline, "domains", "min_chars", "bucket") | step_settings(pipeline)
    texts = pipeline.parts(files.DOCUMENTS, snapshot)
    inputs = LazySequence(lambda _, documents: {"documents": documents}, texts)
    return _part_tasks(pipeline, snapshot, LINE_KEYS, settings, inputs)


def plan_line_counts(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    inputs = _line_inputs(pipeline, snapshot)
    return _part_tasks(pipeline, snapshot, LINE_COUNTS, verdict_settings(pipeline), inputs)


def plan_line_candidates(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    (common,) = pipeline.parts(files.COMMON_LINES, snapshot)
    inputs = LazySequence(lambda _, own: own | {"common": common}, _line_inputs(pipeline, snapshot))
    return _part_tasks(pipeline, snapshot, LINE_CANDIDATES, verdict_settings(pipeline), inputs)


def _is_asked(pipeline: CleanPlanner, snapshot: str) -> bool:
    return pipeline.pin_of(files.BOILERPLATE.stage, snapshot) is None


def _settings(pipeline: CleanPlanner, *names: str) -> dict[str, Any]:
    """Those that can change what a node makes; the others keep their defaults there."""
    body = pipeline.recipe.clean_text.boilerplate.identity()
    return {"boilerplate": {name: body[name] for name in names}}


def _line_inputs(pipeline: CleanPlanner, snapshot: str) -> Sequence[dict[str, Output]]:
    if not _is_asked(pipeline, snapshot):
        return []
    return LazySequence(
        lambda _, documents, keys, upstream: {"documents": documents, "line_keys": keys} | upstream,
        pipeline.parts(files.DOCUMENTS, snapshot),
        pipeline.parts(files.LINE_KEYS, snapshot),
        upstream_inputs(pipeline, snapshot),
    )


def _part_tasks(
    pipeline: CleanPlanner,
    snapshot: str,
    stage: Stage,
    settings: dict[str, Any],
    inputs: Sequence[dict[str, Output]],
) -> Sequence[Task]:
    if not _is_asked(pipeline, snapshot):
        return []
    return LazySequence(
        lambda i, own: stage.task(settings, own, label=part_label(snapshot, i)), inputs
    )


def run_line_keys(context: TaskContext) -> None:
    found = aligned_rows(context, files.LINE_KEYS)
    if found is None:
        columns = ["domain", "host", "fetched_at", "text", *COLUMNS_OF_LINES]
        table = context.table("documents", columns)
        batch, _ = rewritten(table, text_steps(context))
        found = lines.line_keys(batch, table, _lines_settings(context))
    context.write_table(files.LINE_KEYS, found)


def run_line_counts(context: TaskContext) -> None:
    keys = context.table("line_keys")
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    kept = [row for row in range(keys.num_rows) if row not in drops]
    counted, templates = lines.count_lines(keys, kept)
    context.write_table(files.LINE_COUNTS, counted)
    context.write_table(files.TEMPLATE_COUNTS, templates)


def run_line_candidates(context: TaskContext) -> None:
    ids = context.table("documents", ["doc_id"])["doc_id"]
    found = lines.find_candidates(
        ids, _stand_for(context, ids), context.table("line_keys"), context.table("common")
    )
    context.write_table(files.LINE_CANDIDATES, found)


def _stand_for(context: TaskContext, ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """For each document the kept one of its cluster; null where another stage dropped it."""
    chosen = context.table("selection", ["reason"])
    kept: list[bytes | None] = ids.to_pylist()
    for row in drops_before_cleaning(context, chosen):
        kept[row] = None
    for row, keeper in cluster_keepers(context, chosen).items():
        kept[row] = keeper
    return pa.chunked_array([pa.array(kept, DOC_ID)])


def _lines_settings(context: TaskContext) -> BoilerplateSettings:
    return context.settings(BoilerplateSettings, "boilerplate")


def _is_by_host(pipeline: CleanPlanner) -> bool:
    return pipeline.recipe.clean_text.boilerplate.bucket == "host"


def _sorted_by(*columns: str) -> Callable[[TaskContext, Tables], pa.Table]:
    """Return what puts tables together, sorted."""

    def joined(context: TaskContext, tables: Tables) -> pa.Table:
        found = pa.concat_tables(tables).sort_by([(name, "ascending") for name in columns])
        context.counts["lines"] = found.num_rows
        return found

    return joined


LINE_KEYS = Stage(
    "line_keys",
    lines.VERSION,
    Scope.PART,
    plan_line_keys,
    run_line_keys,
    reads=(files.DOCUMENTS,),
    writes=(files.LINE_KEYS,),
    by_row=frozenset({"documents"}),
)

LINE_COUNTS = Stage(
    "line_counts",
    lines.VERSION,
    Scope.PART,
    plan_line_counts,
    run_line_counts,
    reads=(files.LINE_KEYS, *UPSTREAM_FILES),
    writes=(files.LINE_COUNTS, files.TEMPLATE_COUNTS),
)

COMMON_LINES = Shuffle(
    files.COMMON_LINES,
    LINE_COUNTS,
    [
        Rows(
            files.LINE_COUNTS,
            lambda pipeline: "bucket" if _is_by_host(pipeline) else "line_key",
            lambda tables: lines.merge_counts(tables, lines.LINE_COUNTS),
        ),
        Rows(
            files.TEMPLATE_COUNTS,
            lambda pipeline: "bucket" if _is_by_host(pipeline) else None,
            lambda tables: lines.merge_counts(tables, lines.TEMPLATE_COUNTS),
        ),
    ],
    reduce=lambda context, counted, templates: lines.common_lines(
        counted, templates, _lines_settings(context)
    ),
    finish=_sorted_by("line_key"),
    version=lines.VERSION,
    settings=lambda pipeline: _settings(pipeline, "min_documents", "min_share"),
    is_asked=_is_asked,
)

LINE_CANDIDATES = Stage(
    "line_candidates",
    6,
    Scope.PART,
    plan_line_candidates,
    run_line_candidates,
    reads=(files.LINE_KEYS, files.COMMON_LINES, *UPSTREAM_FILES),
    writes=(files.LINE_CANDIDATES,),
)

BOILERPLATE = Shuffle(
    files.BOILERPLATE,
    LINE_CANDIDATES,
    [Rows(files.LINE_CANDIDATES, lambda pipeline: "bucket" if _is_by_host(pipeline) else None)],
    beside=COMMON_LINES,
    reduce=lambda context, candidates: lines.choose_keepers(
        candidates, context.table("common_lines"), context.task.settings["min_chars"]
    ),
    finish=_sorted_by("line_key", "keeper"),
    version=lines.VERSION,
    settings=lambda pipeline: {"min_chars": pipeline.recipe.clean_text.min_chars},
    is_asked=_is_asked,
    calibration=Calibration(
        files.BOILERPLATE,
        "64-bit hashes of lines that many documents of a host share, and the ids of documents that "
        "keep one; no text",
        lambda pipeline: {
            f"boilerplate/{snapshot}": pipeline.calibration(files.BOILERPLATE, snapshot)
            for snapshot in pipeline.recipe.snapshots
        },
        asks=KEPT_KEYS,
        follows=("quality_cutoffs", "common_items"),
    ),
)
