"""The table that engines look tasks up in: stage name to function."""

from collections.abc import Callable, Mapping

from corpus_assets.pipeline import key_tasks, list_tasks, reading_tasks, writing_tasks
from corpus_assets.task import TaskContext

FUNCTIONS: Mapping[str, Callable[[TaskContext], None]] = {
    "category_index": list_tasks.category_index,
    "site_rules": list_tasks.site_rules,
    "robots_index": list_tasks.robots_index,
    "documents": reading_tasks.documents,
    "quality_model": reading_tasks.quality_model,
    "eval_index": reading_tasks.eval_index,
    "signals": reading_tasks.signals,
    "quality_cutoffs": reading_tasks.quality_cutoffs,
    "selection": reading_tasks.selection,
    "signatures": reading_tasks.signatures,
    "clusters": reading_tasks.clusters,
    "contamination": reading_tasks.contamination,
    "line_counts": writing_tasks.line_counts,
    "boilerplate": writing_tasks.boilerplate_lines,
    "clean_text": writing_tasks.clean_text,
    "tokenizer_sample": writing_tasks.tokenizer_sample,
    "tokenizer": writing_tasks.tokenizer,
    "shard_counts": writing_tasks.shard_counts,
    "tokens": writing_tasks.tokens,
    "shards": writing_tasks.shard,
    "lineage_keys": key_tasks.make_lineage_keys,
}
