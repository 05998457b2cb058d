"""All nodes of the graph by name: those with tasks for each snapshot, and those with tasks for all."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from corpus_assets.clean import line_nodes, span_nodes
from corpus_assets.core.task import Task
from corpus_assets.decontam import nodes as contamination_nodes
from corpus_assets.graph import reading_nodes, writing_nodes
from corpus_assets.ingest import list_nodes
from corpus_assets.signals.stages import classifier_nodes, perplexity_nodes, rank_nodes
from corpus_assets.tokenizer import nodes as tokenizer_nodes
from corpus_assets.versions import key_tasks

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

SNAPSHOT_NODES: Mapping[str, Callable[["Pipeline", str], list[Task]]] = {
    "site_rules": list_nodes.site_rules_tasks,
    "robots_index": list_nodes.robots_index_tasks,
    "documents": reading_nodes.documents_tasks,
    "classifier_sample": classifier_nodes.classifier_sample_tasks,
    "score_sample": rank_nodes.score_sample_tasks,
    "signals": reading_nodes.signals_tasks,
    "selection": reading_nodes.selection_tasks,
    "signatures": reading_nodes.signatures_tasks,
    "clusters": reading_nodes.clusters_tasks,
    "contamination": contamination_nodes.contamination_tasks,
    "line_keys": line_nodes.line_keys_tasks,
    "line_counts": line_nodes.line_counts_tasks,
    "common_lines": line_nodes.common_lines_tasks,
    "line_candidates": line_nodes.line_candidates_tasks,
    "boilerplate": line_nodes.boilerplate_tasks,
    "span_prints": span_nodes.span_prints_tasks,
    "common_prints": span_nodes.common_prints_tasks,
    "span_grams": span_nodes.span_grams_tasks,
    "repeated_spans": span_nodes.repeated_spans_tasks,
    "clean_text": writing_nodes.clean_text_tasks,
    "tokenizer_amounts": tokenizer_nodes.tokenizer_amounts_tasks,
    "tokenizer_sample": tokenizer_nodes.tokenizer_sample_tasks,
    "shard_counts": writing_nodes.shard_counts_tasks,
    "tokens": writing_nodes.tokens_tasks,
    "shards": writing_nodes.shards_tasks,
    "lineage_keys": key_tasks.lineage_keys_tasks,
}

GLOBAL_NODES: Mapping[str, Callable[["Pipeline"], list[Task]]] = {
    "category_index": list_nodes.category_index_tasks,
    "classifiers": classifier_nodes.classifiers_tasks,
    "score_ranks": rank_nodes.score_ranks_tasks,
    "perplexity_model": perplexity_nodes.perplexity_model_tasks,
    "perplexity_models": perplexity_nodes.perplexity_models_tasks,
    "eval_index": contamination_nodes.eval_index_tasks,
    "common_items": contamination_nodes.common_items_tasks,
    "quality_cutoffs": reading_nodes.quality_cutoffs_tasks,
    "tokenizer_draw": tokenizer_nodes.tokenizer_draw_tasks,
    "tokenizer": tokenizer_nodes.tokenizer_tasks,
}
