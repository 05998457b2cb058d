"""All nodes of the graph by name: those with tasks for each snapshot, and those with tasks for all."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from corpus_assets.pipeline import key_tasks, list_nodes, reading_nodes, writing_nodes
from corpus_assets.task import Task

if TYPE_CHECKING:
    from corpus_assets.pipeline.graph import Pipeline

SNAPSHOT_NODES: Mapping[str, Callable[["Pipeline", str], list[Task]]] = {
    "site_rules": list_nodes.site_rules_tasks,
    "robots_index": list_nodes.robots_index_tasks,
    "documents": reading_nodes.documents_tasks,
    "signals": reading_nodes.signals_tasks,
    "selection": reading_nodes.selection_tasks,
    "signatures": reading_nodes.signatures_tasks,
    "clusters": reading_nodes.clusters_tasks,
    "contamination": reading_nodes.contamination_tasks,
    "line_counts": writing_nodes.line_counts_tasks,
    "boilerplate": writing_nodes.boilerplate_tasks,
    "clean_text": writing_nodes.clean_text_tasks,
    "tokenizer_sample": writing_nodes.tokenizer_sample_tasks,
    "shard_counts": writing_nodes.shard_counts_tasks,
    "tokens": writing_nodes.tokens_tasks,
    "shards": writing_nodes.shards_tasks,
    "lineage_keys": key_tasks.lineage_keys_tasks,
}

GLOBAL_NODES: Mapping[str, Callable[["Pipeline"], list[Task]]] = {
    "category_index": list_nodes.category_index_tasks,
    "quality_model": reading_nodes.quality_model_tasks,
    "eval_index": reading_nodes.eval_index_tasks,
    "quality_cutoffs": reading_nodes.quality_cutoffs_tasks,
    "tokenizer": writing_nodes.tokenizer_tasks,
}
