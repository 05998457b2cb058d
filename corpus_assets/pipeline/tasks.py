"""The table that engines look tasks up in: stage name to function."""

from collections.abc import Callable, Mapping

from corpus_assets.pipeline import (
    classifier_tasks,
    contamination_tasks,
    key_tasks,
    list_tasks,
    perplexity_tasks,
    reading_tasks,
    span_tasks,
    tokenizer_tasks,
    writing_tasks,
)
from corpus_assets.task import TaskContext

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
    "line_counts": writing_tasks.line_counts,
    "boilerplate": writing_tasks.boilerplate_lines,
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
