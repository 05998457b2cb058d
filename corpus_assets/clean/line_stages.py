"""The stages that find the boilerplate lines of a snapshot; see `clean.boilerplate` for the passes.

None of them runs where the lines are pinned. Only `line_keys` reads text, and it waits for no
selection: another threshold costs columns. Where a snapshot has many parts, what is counted is
exchanged by ranges of buckets: lines are compared within a bucket only. With one bucket for the
snapshot, lines are counted by ranges of their keys, and keepers are chosen in one piece.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.clean import boilerplate as lines
from corpus_assets.clean.boilerplate import BoilerplateSettings
from corpus_assets.clean.clean_text import rewritten
from corpus_assets.clean.fates import (
    FATE_FILES,
    KEPT_KEYS,
    cluster_keepers,
    drops_before_cleaning,
    fate_inputs,
    step_settings,
    text_steps,
)
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.core import files
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.exchange import (
    group_tables,
    plan_groups,
    plan_ranges,
    range_count,
    range_name,
    range_tables,
    table_ranges,
    write_ranges,
)
from corpus_assets.core.files import File
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Each, Task, TaskContext, parquet_bytes, part_label
from corpus_assets.decontam.stage import verdict_settings


def plan_line_keys(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    settings = _settings(pipeline, "domains", "min_chars", "bucket") | step_settings(pipeline)
    texts = pipeline.parts(files.DOCUMENTS, snapshot)
    inputs = Each(lambda _, documents: {"documents": documents}, texts)
    return _part_tasks(pipeline, snapshot, LINE_KEYS, settings, inputs)


def plan_line_counts(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    return _part_tasks(
        pipeline,
        snapshot,
        LINE_COUNTS,
        verdict_settings(pipeline),
        _line_inputs(pipeline, snapshot),
    )


def plan_line_groups(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    counted = {
        "lines": pipeline.parts(files.LINE_COUNTS, snapshot),
        "buckets": pipeline.parts(files.BUCKET_COUNTS, snapshot),
    }
    settings = {"ranges": _ranges(pipeline, snapshot), "by": _by(pipeline)}
    return plan_groups(LINE_GROUPS, snapshot, settings, counted)


def plan_line_ranges(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    groups = pipeline.results(files.LINE_GROUPS.stage, snapshot)
    ranges = _ranges(pipeline, snapshot) if groups else 0
    return plan_ranges(LINE_RANGES, snapshot, _repeated(pipeline), pipeline.store, groups, ranges)


def plan_common_lines(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    ranges = pipeline.parts(files.LINE_RANGES, snapshot)
    if ranges:
        return [COMMON_LINES.task({}, _numbered(ranges), label=snapshot)]
    counted = (files.LINE_COUNTS, files.BUCKET_COUNTS)
    return _merging_task(pipeline, snapshot, COMMON_LINES, counted, _repeated(pipeline))


def _repeated(pipeline: CleanPlanner) -> dict[str, Any]:
    return _settings(pipeline, "min_documents", "min_share")


def _ranges(pipeline: CleanPlanner, snapshot: str) -> int:
    return range_count(sum(part.rows for part in pipeline.parts(files.LINE_COUNTS, snapshot)))


def _by(pipeline: CleanPlanner) -> str:
    """Name the column whose ranges lines are counted in."""
    is_by_host = pipeline.recipe.clean_text.boilerplate.bucket == "host"
    return "bucket" if is_by_host else "line_key"


def plan_line_candidates(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    common = _common(pipeline, snapshot)
    inputs = Each(lambda _, own: own | common, _line_inputs(pipeline, snapshot))
    return _part_tasks(pipeline, snapshot, LINE_CANDIDATES, verdict_settings(pipeline), inputs)


def plan_candidate_groups(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    found = {"candidates": pipeline.parts(files.LINE_CANDIDATES, snapshot)}
    settings = {"ranges": _keeper_ranges(pipeline, snapshot)}
    return plan_groups(CANDIDATE_GROUPS, snapshot, settings, found)


def plan_keeper_ranges(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    groups = pipeline.results(files.CANDIDATE_GROUPS.stage, snapshot)
    ranges = _keeper_ranges(pipeline, snapshot) if groups else 0
    common = pipeline.parts(files.LINE_RANGES, snapshot)
    return plan_ranges(
        KEEPER_RANGES,
        snapshot,
        _left(pipeline),
        pipeline.store,
        groups,
        ranges,
        lambda number: {"common": common[number]} if ranges > 1 else _common(pipeline, snapshot),
    )


def plan_boilerplate(pipeline: CleanPlanner, snapshot: str) -> list[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    ranges = pipeline.parts(files.KEEPER_RANGES, snapshot)
    if ranges:
        return [BOILERPLATE.task({}, _numbered(ranges), label=snapshot)]
    common = _common(pipeline, snapshot)
    return _merging_task(
        pipeline, snapshot, BOILERPLATE, (files.LINE_CANDIDATES,), _left(pipeline), common
    )


def _keeper_ranges(pipeline: CleanPlanner, snapshot: str) -> int:
    return _ranges(pipeline, snapshot) if _by(pipeline) == "bucket" else 1


def _left(pipeline: CleanPlanner) -> dict[str, Any]:
    return {"min_chars": pipeline.recipe.clean_text.min_chars}


def _is_pinned(pipeline: CleanPlanner, snapshot: str) -> bool:
    return pipeline.pin_of(files.BOILERPLATE.stage, snapshot) is not None


def _numbered(ranges: Sequence[Output]) -> dict[str, Output]:
    return {f"ranges/{number:05d}": output for number, output in enumerate(ranges)}


def _settings(pipeline: CleanPlanner, *names: str) -> dict[str, Any]:
    """Those that can change what a node makes; the others keep their defaults there."""
    body = pipeline.recipe.clean_text.boilerplate.identity()
    return {"boilerplate": {name: body[name] for name in names}}


def _common(pipeline: CleanPlanner, snapshot: str) -> dict[str, Output]:
    if _is_pinned(pipeline, snapshot):
        return {}
    (common,) = pipeline.parts(files.COMMON_LINES, snapshot)
    return {"common": common}


def _line_inputs(pipeline: CleanPlanner, snapshot: str) -> Sequence[dict[str, Output]]:
    if _is_pinned(pipeline, snapshot):
        return []
    return Each(
        lambda _, documents, keys, fates: {"documents": documents, "line_keys": keys} | fates,
        pipeline.parts(files.DOCUMENTS, snapshot),
        pipeline.parts(files.LINE_KEYS, snapshot),
        fate_inputs(pipeline, snapshot),
    )


def _part_tasks(
    pipeline: CleanPlanner,
    snapshot: str,
    stage: Stage,
    settings: dict[str, Any],
    inputs: Sequence[dict[str, Output]],
) -> Sequence[Task]:
    if _is_pinned(pipeline, snapshot):
        return []
    return Each(lambda i, own: stage.task(settings, own, label=part_label(snapshot, i)), inputs)


def _merging_task(
    pipeline: CleanPlanner,
    snapshot: str,
    stage: Stage,
    before: Sequence[File],
    settings: dict[str, Any],
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    inputs = {
        f"parts/{i:05d}/{file.removesuffix('.parquet')}": output
        for file in before
        for i, output in enumerate(pipeline.parts(file, snapshot))
    }
    return [stage.task(settings, inputs | (shared or {}), label=snapshot)]


def run_line_keys(context: TaskContext) -> None:
    found = aligned_rows(context, files.LINE_KEYS)
    if found is None:
        table = context.table("documents", ["domain", "host", "fetched_at", "text"])
        batch, _ = rewritten(table, text_steps(context))
        found = lines.line_keys(batch, table, _lines_settings(context))
    context.write_table(files.LINE_KEYS, found)


def run_line_counts(context: TaskContext) -> None:
    keys = context.table("line_keys")
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    kept = [row for row in range(keys.num_rows) if row not in drops]
    counted, buckets = lines.count_lines(keys, kept)
    context.write_table(files.LINE_COUNTS, counted)
    context.write_table(files.BUCKET_COUNTS, buckets)


def run_line_groups(context: TaskContext) -> None:
    said = context.task.settings
    counted = lines.merge_counts(group_tables(context, "lines"), lines.LINE_COUNTS)
    buckets = lines.merge_counts(group_tables(context, "buckets"), lines.BUCKET_COUNTS)
    keys = counted[said["by"]].to_numpy()
    write_ranges(context, files.LINE_GROUPS, table_ranges(counted, keys, said["ranges"]))
    if said["by"] == "bucket":
        held = table_ranges(buckets, buckets["bucket"].to_numpy(), said["ranges"])
    else:  # all lines are of the one bucket there is
        data = parquet_bytes(buckets)
        held = ((range_name(number), data) for number in range(said["ranges"]))
    write_ranges(context, files.BUCKET_GROUPS, held)


def run_line_ranges(context: TaskContext) -> None:
    counted = range_tables(context, files.LINE_GROUPS)
    buckets = range_tables(context, files.BUCKET_GROUPS)
    found = lines.common_lines(counted, buckets, _lines_settings(context))
    context.write_table(files.LINE_RANGES, found)


def run_common_lines(context: TaskContext) -> None:
    if ranges := context.names("ranges/"):
        found = pa.concat_tables(context.table(name) for name in ranges).sort_by("line_key")
    else:
        found = lines.common_lines(
            _tables(context, "/lines"), _tables(context, "/buckets"), _lines_settings(context)
        )
    context.write_table(files.COMMON_LINES, found)
    context.counts["lines"] = found.num_rows


def run_line_candidates(context: TaskContext) -> None:
    ids = context.table("documents", ["doc_id"])["doc_id"]
    found = lines.find_candidates(
        ids, _stand_for(context, ids), context.table("line_keys"), context.table("common")
    )
    context.write_table(files.LINE_CANDIDATES, found)


def run_candidate_groups(context: TaskContext) -> None:
    found = pa.concat_tables(group_tables(context, "candidates"))
    keys, ranges = found["bucket"].to_numpy(), context.task.settings["ranges"]
    write_ranges(context, files.CANDIDATE_GROUPS, table_ranges(found, keys, ranges))


def run_keeper_ranges(context: TaskContext) -> None:
    found = _kept(context, range_tables(context, files.CANDIDATE_GROUPS))
    context.write_table(files.KEEPER_RANGES, found)


def run_boilerplate(context: TaskContext) -> None:
    if ranges := context.names("ranges/"):
        found = pa.concat_tables(context.table(name) for name in ranges)
        found = found.sort_by([("line_key", "ascending"), ("keeper", "ascending")])
    else:
        found = _kept(context, _tables(context, "/candidates"))
    context.write_table(files.BOILERPLATE, found)
    context.counts["lines"] = found.num_rows


def _kept(context: TaskContext, candidates: Iterator[pa.Table]) -> pa.Table:
    min_chars = context.task.settings["min_chars"]
    return lines.choose_keepers(candidates, context.table("common"), min_chars)


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


def _tables(context: TaskContext, name: str) -> Iterator[pa.Table]:
    return (context.table(one) for one in context.names("parts/") if one.endswith(name))


LINE_KEYS = Stage(
    "line_keys",
    lines.VERSION,
    Scope.PART,
    plan_line_keys,
    run_line_keys,
    asset="clean_text",
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
    asset="clean_text",
    reads=(files.LINE_KEYS, *FATE_FILES),
    writes=(files.LINE_COUNTS, files.BUCKET_COUNTS),
)

LINE_GROUPS = Stage(
    "line_groups",
    3,
    Scope.SNAPSHOT,
    plan_line_groups,
    run_line_groups,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.BUCKET_COUNTS),
    writes=(files.LINE_GROUPS, files.BUCKET_GROUPS),
)

LINE_RANGES = Stage(
    "line_ranges",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_line_ranges,
    run_line_ranges,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.LINE_GROUPS, files.BUCKET_GROUPS),
    writes=(files.LINE_RANGES,),
)

COMMON_LINES = Stage(
    "common_lines",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_common_lines,
    run_common_lines,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.BUCKET_COUNTS, files.LINE_RANGES),
    writes=(files.COMMON_LINES,),
)

LINE_CANDIDATES = Stage(
    "line_candidates",
    4,
    Scope.PART,
    plan_line_candidates,
    run_line_candidates,
    asset="clean_text",
    reads=(files.LINE_KEYS, files.COMMON_LINES, *FATE_FILES),
    writes=(files.LINE_CANDIDATES,),
)

CANDIDATE_GROUPS = Stage(
    "candidate_groups",
    3,
    Scope.SNAPSHOT,
    plan_candidate_groups,
    run_candidate_groups,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.LINE_CANDIDATES),
    writes=(files.CANDIDATE_GROUPS,),
)

KEEPER_RANGES = Stage(
    "keeper_ranges",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_keeper_ranges,
    run_keeper_ranges,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.LINE_RANGES, files.COMMON_LINES, files.CANDIDATE_GROUPS),
    writes=(files.KEEPER_RANGES,),
)

BOILERPLATE = Stage(
    "boilerplate",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_boilerplate,
    run_boilerplate,
    asset="clean_text",
    reads=(files.LINE_CANDIDATES, files.COMMON_LINES, files.KEEPER_RANGES),
    writes=(files.BOILERPLATE,),
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
