"""Tasks that find repeated spans; see `clean.repeated_spans` for the passes."""

import pyarrow as pa

from corpus_assets.clean import repeated_spans as stage
from corpus_assets.clean.boilerplate import Boilerplate, BoilerplateSettings
from corpus_assets.clean.clean_text import left_by_lines
from corpus_assets.clean.repeated_spans import RepeatedSpanSettings
from corpus_assets.core.task import TaskContext, count
from corpus_assets.graph.writing_tasks import drops_before_cleaning, text_steps, with_texts


def span_prints(context: TaskContext) -> None:
    found = stage.count_prints(_compared(context)["text"], _settings(context))
    context.write_table("prints.parquet", found)


def common_prints(context: TaskContext) -> None:
    tables = (context.table(name) for name in context.names("parts/"))
    context.write_table("prints.parquet", stage.merge_prints(tables, _settings(context)))


def span_grams(context: TaskContext) -> None:
    found = stage.count_grams(_compared(context), context.table("prints"), _settings(context))
    context.write_table("grams.parquet", found)


def repeated_spans(context: TaskContext) -> None:
    columns = ["doc_id", "kept", "kept_doc_id"]
    members = (context.table(name, columns) for name in context.names("members/"))
    tables = (context.table(name) for name in context.names("parts/"))
    found = stage.merge_grams(tables, members, _settings(context))
    context.write_table("repeated_spans.parquet", found)
    context.counts["repeated_grams"] = found.num_rows


def _settings(context: TaskContext) -> RepeatedSpanSettings:
    return context.settings(RepeatedSpanSettings, "spans")


def _compared(context: TaskContext) -> pa.Table:
    """The documents that no earlier stage drops, with what the cutting of lines leaves of them."""
    table = context.table("documents", ["doc_id", "domain", "host", "text"])
    drops = drops_before_cleaning(context, context.table("selection", ["reason"]))
    rows = [row for row in range(table.num_rows) if row not in drops]
    count(context, table.num_rows, table.num_rows)
    kept = table.take(pa.array(rows, pa.int64()))
    lines = Boilerplate.of(context.table("boilerplate"))
    settings = context.settings(BoilerplateSettings, "boilerplate")
    return with_texts(kept, left_by_lines(kept, lines, settings, text_steps(context)))
