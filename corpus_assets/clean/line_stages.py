"""The stages that find the boilerplate lines of a snapshot; see `clean.boilerplate` for the passes.

None of them runs where the lines are pinned. Only `line_keys` reads text, and it waits for no
selection: another threshold costs columns.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corpus_assets.clean import boilerplate as lines
from corpus_assets.clean.boilerplate import BoilerplateSettings
from corpus_assets.clean.clean_text import rewritten
from corpus_assets.clean.fates import (
    FATE_FILES,
    KEPT_KEYS,
    drops_before_cleaning,
    fate_inputs,
    step_settings,
    text_steps,
)
from corpus_assets.core import files
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Calibration, File, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, part_label
from corpus_assets.decontam.stage import verdict_settings

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def plan_line_keys(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = _settings(graph, "domains", "min_chars", "bucket") | step_settings(graph)
    inputs = [{"documents": documents} for documents in graph.parts(files.DOCUMENTS, snapshot)]
    return _part_tasks(graph, snapshot, LINE_KEYS, settings, inputs)


def plan_line_counts(graph: "Pipeline", snapshot: str) -> list[Task]:
    return _part_tasks(
        graph, snapshot, LINE_COUNTS, verdict_settings(graph), _line_inputs(graph, snapshot)
    )


def plan_common_lines(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = _settings(graph, "min_documents", "min_share", "prose_words")
    return _merging_task(
        graph, snapshot, COMMON_LINES, (files.LINE_COUNTS, files.BUCKET_COUNTS), settings
    )


def plan_line_candidates(graph: "Pipeline", snapshot: str) -> list[Task]:
    common = _common(graph, snapshot)
    inputs = [own | common for own in _line_inputs(graph, snapshot)]
    return _part_tasks(graph, snapshot, LINE_CANDIDATES, verdict_settings(graph), inputs)


def plan_boilerplate(graph: "Pipeline", snapshot: str) -> list[Task]:
    settings = {"min_chars": graph.recipe.clean_text.min_chars}
    return _merging_task(
        graph, snapshot, BOILERPLATE, (files.LINE_CANDIDATES,), settings, _common(graph, snapshot)
    )


def _settings(graph: "Pipeline", *names: str) -> dict[str, Any]:
    """Those that can change what a node makes; the others keep their defaults there."""
    body = graph.recipe.clean_text.boilerplate.identity()
    return {"boilerplate": {name: body[name] for name in names}}


def _common(graph: "Pipeline", snapshot: str) -> dict[str, Output]:
    if graph.pin_of(files.BOILERPLATE.stage, snapshot):
        return {}
    (common,) = graph.parts(files.COMMON_LINES, snapshot)
    return {"common": common}


def _line_inputs(graph: "Pipeline", snapshot: str) -> list[dict[str, Output]]:
    if graph.pin_of(files.BOILERPLATE.stage, snapshot):
        return []
    documents = graph.parts(files.DOCUMENTS, snapshot)
    keys = graph.parts(files.LINE_KEYS, snapshot)
    return [
        {"documents": documents[i], "line_keys": keys[i]} | fates
        for i, fates in enumerate(fate_inputs(graph, snapshot))
    ]


def _part_tasks(
    graph: "Pipeline",
    snapshot: str,
    stage: Stage,
    settings: dict[str, Any],
    inputs: list[dict[str, Output]],
) -> list[Task]:
    if graph.pin_of(files.BOILERPLATE.stage, snapshot):
        return []
    return [
        stage.task(settings, own, label=part_label(snapshot, i)) for i, own in enumerate(inputs)
    ]


def _merging_task(
    graph: "Pipeline",
    snapshot: str,
    stage: Stage,
    before: Sequence[File],
    settings: dict[str, Any],
    shared: dict[str, Output] | None = None,
) -> list[Task]:
    if graph.pin_of(files.BOILERPLATE.stage, snapshot):
        return []
    inputs = {
        f"parts/{i:05d}/{file.removesuffix('.parquet')}": output
        for file in before
        for i, output in enumerate(graph.parts(file, snapshot))
    }
    return [stage.task(settings, inputs | (shared or {}), label=snapshot)]


def run_line_keys(context: TaskContext) -> None:
    found = aligned_rows(context, files.LINE_KEYS)
    if found is None:
        table = context.table("documents", ["domain", "host", "text"])
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


def run_common_lines(context: TaskContext) -> None:
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


def run_boilerplate(context: TaskContext) -> None:
    candidates = _tables(context, "/candidates")
    min_chars = context.task.settings["min_chars"]
    found = lines.choose_keepers(candidates, context.table("common"), min_chars)
    context.write_table(files.BOILERPLATE, found)
    context.counts["lines"] = found.num_rows


def _stand_for(context: TaskContext, ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """For each document the kept one of its cluster; null where another stage dropped it."""
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    kept: list[bytes | None] = ids.to_pylist()
    for row in drops:
        kept[row] = None
    members = context.table("members", ["row", "kept", "kept_doc_id"])
    for member in members.to_pylist():
        drop = drops.get(member["row"])
        if drop is not None and drop.stage == "clusters":
            kept[member["row"]] = member["kept_doc_id"]
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

COMMON_LINES = Stage(
    "common_lines",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_common_lines,
    run_common_lines,
    asset="clean_text",
    reads=(files.LINE_COUNTS, files.BUCKET_COUNTS),
    writes=(files.COMMON_LINES,),
)

LINE_CANDIDATES = Stage(
    "line_candidates",
    lines.VERSION,
    Scope.PART,
    plan_line_candidates,
    run_line_candidates,
    asset="clean_text",
    reads=(files.LINE_KEYS, files.COMMON_LINES, *FATE_FILES),
    writes=(files.LINE_CANDIDATES,),
)

BOILERPLATE = Stage(
    "boilerplate",
    lines.VERSION,
    Scope.SNAPSHOT,
    plan_boilerplate,
    run_boilerplate,
    asset="clean_text",
    reads=(files.LINE_CANDIDATES, files.COMMON_LINES),
    writes=(files.BOILERPLATE,),
    calibration=Calibration(
        files.BOILERPLATE,
        "64-bit hashes of lines that many documents of a host share, and the ids of documents that "
        "keep one; no text",
        lambda graph: {
            f"boilerplate/{snapshot}": graph.calibration(files.BOILERPLATE, snapshot)
            for snapshot in graph.recipe.snapshots
        },
        asks=KEPT_KEYS,
        follows=("quality_cutoffs", "common_items"),
    ),
)
