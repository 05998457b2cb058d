"""The assets of the graph in their order, each with the steps that make it: the page to read first.

A stage is declared in the room of its subject; `core/stage.py` says what a declaration holds. The
last step completes an asset and gives it its name. A shuffle (`core/shuffle.py`) stands for the
stages that it is made of: the one that reads each part, and those that bring together what many
parts have. To add a stage, write its file and name it here.
"""

from collections.abc import Callable

from corpus_assets.clean import (
    BOILERPLATE,
    CLEAN_TEXT,
    COMMON_LINES,
    COMMON_PRINTS,
    LINE_KEYS,
    REPEATED_SPANS,
    SENTENCE_SCORES,
)
from corpus_assets.core.stage import asset, graph_of
from corpus_assets.core.task import TaskContext
from corpus_assets.decontam import COMMON_ITEMS, CONTAMINATION, EVAL_INDEX, JUDGEMENTS
from corpus_assets.dedup import (
    CLUSTER_EXCHANGE,
    CLUSTERS,
    SIGNATURES,
    SURVIVOR_CLUSTERS,
    SURVIVOR_EXCHANGE,
)
from corpus_assets.ingest import CATEGORY_INDEX, DOCUMENTS, ROBOTS_INDEX, SITE_RULES
from corpus_assets.lineage import LINEAGE_KEYS, TEXT_KEYS
from corpus_assets.select import QUALITY_CUTOFFS, SCORE_SURVIVORS, SELECTION, SURVIVORS
from corpus_assets.shards import SHARD_COUNTS, SHARDS, TOKEN_SLICES, TOKENS
from corpus_assets.signals import (
    CLASSIFIER_SAMPLE,
    CLASSIFIERS,
    PERPLEXITY_MODEL,
    PERPLEXITY_MODELS,
    SCORE_RANKS,
    SCORE_SAMPLE,
    SIGNALS,
)
from corpus_assets.tokenizer import AMOUNTS, DRAW, SAMPLE, TOKENIZER

STAGES = graph_of(
    (
        # From source files to text; gates first.
        asset(CATEGORY_INDEX, SITE_RULES, ROBOTS_INDEX, DOCUMENTS),
        # What is trained or resolved once and then pinned, and the signals that use it.
        EVAL_INDEX,
        asset(CLASSIFIER_SAMPLE, CLASSIFIERS),
        asset(PERPLEXITY_MODEL, PERPLEXITY_MODELS),
        asset(SCORE_SAMPLE, SCORE_SURVIVORS, SCORE_RANKS),
        SIGNALS,
        # Who stays: rules over signals, one of each cluster, no benchmark items.
        SIGNATURES,
        asset(SURVIVORS, SURVIVOR_EXCHANGE, SURVIVOR_CLUSTERS, QUALITY_CUTOFFS),
        SELECTION,
        asset(CLUSTER_EXCHANGE, CLUSTERS),
        CONTAMINATION,
        COMMON_ITEMS,
        # What is left of their text: verdicts on benchmark items, lines and spans that repeat,
        # sentences, then every edit at once.
        asset(
            JUDGEMENTS,
            LINE_KEYS,
            COMMON_LINES,
            BOILERPLATE,
            COMMON_PRINTS,
            REPEATED_SPANS,
            SENTENCE_SCORES,
            CLEAN_TEXT,
        ),
        # Tokens, shards, and keys to find single documents and removed texts by.
        asset(AMOUNTS, DRAW, SAMPLE, TOKENIZER),
        asset(SHARD_COUNTS, TOKENS, TOKEN_SLICES, SHARDS),
        asset(TEXT_KEYS, LINEAGE_KEYS),
    ),
    given=("source_files",),
)


def function_of(stage: str) -> Callable[[TaskContext], None]:
    """Return what a worker does with a task of a stage."""
    return STAGES[stage].run
