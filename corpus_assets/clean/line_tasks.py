"""Tasks that find boilerplate lines; see `clean.boilerplate` for the passes."""

from collections.abc import Iterator

import pyarrow as pa

from corpus_assets.clean import boilerplate as stage
from corpus_assets.clean.boilerplate import BoilerplateSettings
from corpus_assets.clean.clean_text import rewritten
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.task import TaskContext
from corpus_assets.graph.kept_rows import aligned_rows
from corpus_assets.graph.writing_tasks import drops_before_cleaning, text_steps


def line_keys(context: TaskContext) -> None:
    found = aligned_rows(context, "line_keys.parquet")
    if found is None:
        table = context.table("documents", ["domain", "host", "text"])
        batch, _ = rewritten(table, text_steps(context))
        found = stage.line_keys(batch, table, _settings(context))
    context.write_table("line_keys.parquet", found)


def line_counts(context: TaskContext) -> None:
    keys = context.table("line_keys")
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    kept = [row for row in range(keys.num_rows) if row not in drops]
    lines, buckets = stage.count_lines(keys, kept)
    context.write_table("lines.parquet", lines)
    context.write_table("buckets.parquet", buckets)


def common_lines(context: TaskContext) -> None:
    found = stage.common_lines(
        _tables(context, "/lines"), _tables(context, "/buckets"), _settings(context)
    )
    context.write_table("common_lines.parquet", found)
    context.counts["lines"] = found.num_rows


def line_candidates(context: TaskContext) -> None:
    ids = context.table("documents", ["doc_id"])["doc_id"]
    found = stage.find_candidates(
        ids, _stand_for(context, ids), context.table("line_keys"), context.table("common")
    )
    context.write_table("candidates.parquet", found)


def boilerplate(context: TaskContext) -> None:
    candidates = _tables(context, "/candidates")
    min_chars = context.task.settings["min_chars"]
    found = stage.choose_keepers(candidates, context.table("common"), min_chars)
    context.write_table("boilerplate.parquet", found)
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


def _settings(context: TaskContext) -> BoilerplateSettings:
    return context.settings(BoilerplateSettings, "boilerplate")


def _tables(context: TaskContext, name: str) -> Iterator[pa.Table]:
    return (context.table(one) for one in context.names("parts/") if one.endswith(name))
