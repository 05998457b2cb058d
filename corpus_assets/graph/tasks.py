"""The table that engines look tasks up in: stage name to function."""

from collections.abc import Callable, Mapping

from corpus_assets.clean import line_tasks, span_tasks
from corpus_assets.core.task import TaskContext
from corpus_assets.decontam import tasks as contamination_tasks
from corpus_assets.graph import reading_tasks, writing_tasks
from corpus_assets.ingest import list_tasks
from corpus_assets.signals.stages import classifier_tasks, perplexity_tasks
from corpus_assets.tokenizer import tasks as tokenizer_tasks
from corpus_assets.versions import key_tasks

FUNCTIONS: Mapping[str, Callable[[TaskContext], None]] = {
    "category_index": list_tasks.category_index,
    "site_rules": list_tasks.site_rules,
    "robots_index": list_tasks.robots_index,
    "documents": reading_tasks.documents,
    "classifier_sample": classifier_tasks.classifier_sample,
    "classifiers": classifier_tasks.classifiers,
    "score_sample": classifier_tasks.score_sample,
    "score_ranks": classifier_tasks.score_ranks,
    "perplexity_model": perplexity_tasks.perplexity_model,
    "perplexity_models": perplexity_tasks.perplexity_models,
    "eval_index": contamination_tasks.eval_index,
    "signals": reading_tasks.signals,
    "quality_cutoffs": reading_tasks.quality_cutoffs,
    "selection": reading_tasks.selection,
    "signatures": reading_tasks.signatures,
    "clusters": reading_tasks.clusters,
    "contamination": contamination_tasks.contamination,
    "common_items": contamination_tasks.common_items,
    "line_keys": line_tasks.line_keys,
    "line_counts": line_tasks.line_counts,
    "common_lines": line_tasks.common_lines,
    "line_candidates": line_tasks.line_candidates,
    "boilerplate": line_tasks.boilerplate,
    "span_prints": span_tasks.span_prints,
    "common_prints": span_tasks.common_prints,
    "span_grams": span_tasks.span_grams,
    "repeated_spans": span_tasks.repeated_spans,
    "clean_text": writing_tasks.clean_text,
    "tokenizer_amounts": tokenizer_tasks.tokenizer_amounts,
    "tokenizer_draw": tokenizer_tasks.tokenizer_draw,
    "tokenizer_sample": tokenizer_tasks.tokenizer_sample,
    "tokenizer": tokenizer_tasks.tokenizer,
    "shard_counts": writing_tasks.shard_counts,
    "tokens": writing_tasks.tokens,
    "shards": writing_tasks.shard,
    "lineage_keys": key_tasks.make_lineage_keys,
}
