"""The stages in the order of the graph: the page to read first.

Each is declared in the room of its subject; `core/stage.py` says what a declaration holds. To add
a stage, write its file and name it here. Stages called `*_groups` and `*_ranges` bring together what
many parts have (`core/exchange.py`); a snapshot of few parts has no tasks there.
"""

from collections.abc import Callable

from corpus_assets.clean.line_stages import (
    BOILERPLATE,
    CANDIDATE_GROUPS,
    COMMON_LINES,
    KEEPER_RANGES,
    LINE_CANDIDATES,
    LINE_COUNTS,
    LINE_GROUPS,
    LINE_KEYS,
    LINE_RANGES,
)
from corpus_assets.clean.sentence_stage import SENTENCE_SCORES
from corpus_assets.clean.span_stages import (
    COMMON_PRINTS,
    GRAM_GROUPS,
    GRAM_RANGES,
    PRINT_GROUPS,
    PRINT_RANGES,
    REPEATED_SPANS,
    SPAN_GRAMS,
    SPAN_PRINTS,
)
from corpus_assets.clean.stage import CLEAN_TEXT
from corpus_assets.core.stage import Graph
from corpus_assets.core.task import TaskContext
from corpus_assets.decontam.stage import (
    COMMON_ITEMS,
    CONTAMINATION,
    EVAL_INDEX,
    ITEM_GROUPS,
    JUDGEMENTS,
)
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
from corpus_assets.select.stage import (
    CUTOFF_GROUPS,
    QUALITY_CUTOFFS,
    SCORE_SURVIVORS,
    SELECTION,
    SURVIVORS,
)
from corpus_assets.shards.stage import SHARD_COUNTS, SHARDS, TOKEN_GROUPS, TOKENS
from corpus_assets.signals.stages.classifiers import CLASSIFIER_SAMPLE, CLASSIFIERS
from corpus_assets.signals.stages.perplexity import PERPLEXITY_MODEL, PERPLEXITY_MODELS
from corpus_assets.signals.stages.ranks import SCORE_RANKS, SCORE_SAMPLE
from corpus_assets.signals.stages.signals import SIGNALS
from corpus_assets.tokenizer.stage import AMOUNTS, DRAW, SAMPLE, TOKENIZER

STAGES = Graph(
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
        *SURVIVOR_EXCHANGE.stages,
        SURVIVOR_CLUSTERS,
        CUTOFF_GROUPS,
        QUALITY_CUTOFFS,
        SELECTION,
        *CLUSTER_EXCHANGE.stages,
        CLUSTERS,
        CONTAMINATION,
        ITEM_GROUPS,
        COMMON_ITEMS,
        # What is left of their text.
        JUDGEMENTS,
        LINE_KEYS,
        LINE_COUNTS,
        LINE_GROUPS,
        LINE_RANGES,
        COMMON_LINES,
        LINE_CANDIDATES,
        CANDIDATE_GROUPS,
        KEEPER_RANGES,
        BOILERPLATE,
        SPAN_PRINTS,
        PRINT_GROUPS,
        PRINT_RANGES,
        COMMON_PRINTS,
        SPAN_GRAMS,
        GRAM_GROUPS,
        GRAM_RANGES,
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
        TOKEN_GROUPS,
        SHARDS,
        LINEAGE_KEYS,
    ),
    given=("source_files",),
)


def function_of(stage: str) -> Callable[[TaskContext], None]:
    """Return what a worker does with a task of a stage."""
    return STAGES[stage].run
