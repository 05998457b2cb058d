"""The stages in the order of the graph: the page to read first.

Each is declared in the room of its subject; `core/stage.py` says what a declaration holds. To add
a stage, write its file and name it here. A shuffle (`core/shuffle.py`) stands for the stages that
it is made of: the one that reads each part, and those that bring together what many parts have.
"""

from collections.abc import Callable

from corpus_assets.clean.line_stages import BOILERPLATE, COMMON_LINES, LINE_KEYS
from corpus_assets.clean.sentence_stage import SENTENCE_SCORES
from corpus_assets.clean.span_stages import COMMON_PRINTS, REPEATED_SPANS
from corpus_assets.clean.stage import CLEAN_TEXT
from corpus_assets.core.stage import graph_of
from corpus_assets.core.task import TaskContext
from corpus_assets.decontam.stage import COMMON_ITEMS, CONTAMINATION, EVAL_INDEX, JUDGEMENTS
from corpus_assets.dedup.stage import (
    CLUSTER_EXCHANGE,
    CLUSTERS,
    SIGNATURES,
    SURVIVOR_CLUSTERS,
    SURVIVOR_EXCHANGE,
)
from corpus_assets.ingest.list_stages import CATEGORY_INDEX, ROBOTS_INDEX, SITE_RULES
from corpus_assets.ingest.stage import DOCUMENTS
from corpus_assets.lineage.stage import LINEAGE_KEYS
from corpus_assets.select.stage import QUALITY_CUTOFFS, SCORE_SURVIVORS, SELECTION, SURVIVORS
from corpus_assets.shards.stage import SHARD_COUNTS, SHARDS, TOKEN_SLICES, TOKENS
from corpus_assets.signals.stages.classifiers import CLASSIFIER_SAMPLE, CLASSIFIERS
from corpus_assets.signals.stages.perplexity import PERPLEXITY_MODEL, PERPLEXITY_MODELS
from corpus_assets.signals.stages.ranks import SCORE_RANKS, SCORE_SAMPLE
from corpus_assets.signals.stages.signals import SIGNALS
from corpus_assets.tokenizer.stage import AMOUNTS, DRAW, SAMPLE, TOKENIZER

STAGES = graph_of(
    (
        # From source files to text; gates first.
        CATEGORY_INDEX,
        SITE_RULES,
        ROBOTS_INDEX,
        DOCUMENTS,
        # What is trained or resolved once and then pinned, and the signals that use it.
        EVAL_INDEX,
        CLASSIFIER_SAMPLE,
        CLASSIFIERS,
        PERPLEXITY_MODEL,
        PERPLEXITY_MODELS,
        SCORE_SAMPLE,
        SCORE_SURVIVORS,
        SCORE_RANKS,
        SIGNALS,
        # Who stays: rules over signals, one of each cluster, no benchmark items.
        SIGNATURES,
        SURVIVORS,
        SURVIVOR_EXCHANGE,
        SURVIVOR_CLUSTERS,
        QUALITY_CUTOFFS,
        SELECTION,
        CLUSTER_EXCHANGE,
        CLUSTERS,
        CONTAMINATION,
        COMMON_ITEMS,
        # What is left of their text.
        JUDGEMENTS,
        LINE_KEYS,
        COMMON_LINES,
        BOILERPLATE,
        COMMON_PRINTS,
        REPEATED_SPANS,
        SENTENCE_SCORES,
        CLEAN_TEXT,
        # Tokens, shards, and keys to find single documents by.
        AMOUNTS,
        DRAW,
        SAMPLE,
        TOKENIZER,
        SHARD_COUNTS,
        TOKENS,
        TOKEN_SLICES,
        SHARDS,
        LINEAGE_KEYS,
    ),
    given=("source_files",),
)


def function_of(stage: str) -> Callable[[TaskContext], None]:
    """Return what a worker does with a task of a stage."""
    return STAGES[stage].run
