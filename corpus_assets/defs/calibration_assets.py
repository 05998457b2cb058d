"""What is trained or resolved once and then pinned: no partitions."""

import dagster as dg

from corpus_assets.decontam import eval_index
from corpus_assets.decontam import verdicts as contamination_verdicts
from corpus_assets.defs.materialize import materialize_stage, tokenizer_check_specs
from corpus_assets.defs.partitions import EVERY
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.select import selection
from corpus_assets.signals.stages import classifiers, perplexity_models, signals
from corpus_assets.tokenizer import train as tokenizer

Result = dg.MaterializeResult
GROUP = "corpus"


@dg.asset(name="eval_index", group_name=GROUP, code_version=str(eval_index.VERSION))
def eval_index_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """N-grams of every item of the evaluation suites, pinned by digest."""
    return materialize_stage(context, corpus, "eval_index")


@dg.asset(
    name="classifiers",
    group_name=GROUP,
    deps=[dg.AssetDep("documents", partition_mapping=EVERY)],
    code_version=str(classifiers.VERSION),
)
def classifiers_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """fastText classifiers, each trained on its positives and negatives in the recipe."""
    return materialize_stage(context, corpus, "classifiers")


@dg.asset(
    name="score_ranks",
    group_name=GROUP,
    deps=[
        dg.AssetDep("documents", partition_mapping=EVERY),
        "classifiers",
        "perplexity_models",
    ],
    code_version=str(signals.VERSION),
)
def score_ranks_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Ranks of an ensemble's scores, resolved from a sample of the calibration snapshots."""
    return materialize_stage(context, corpus, "score_ranks")


@dg.asset(name="perplexity_models", group_name=GROUP, code_version=str(perplexity_models.VERSION))
def perplexity_models_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """N-gram language models, each trained on texts that the recipe names."""
    return materialize_stage(context, corpus, "perplexity_models")


@dg.asset(
    name="common_items",
    group_name=GROUP,
    deps=[dg.AssetDep("contamination", partition_mapping=EVERY)],
    code_version=str(contamination_verdicts.VERSION),
)
def common_items_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Benchmark items that so many texts hold that they are common phrases, not leaks."""
    return materialize_stage(context, corpus, "common_items")


@dg.asset(
    name="quality_cutoffs",
    group_name=GROUP,
    deps=[dg.AssetDep("signals", partition_mapping=EVERY)],
    code_version=str(selection.VERSION),
)
def quality_cutoffs_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Score cutoffs and tier bounds per language, resolved from the calibration snapshots."""
    return materialize_stage(context, corpus, "quality_cutoffs")


@dg.asset(
    name="tokenizer",
    group_name=GROUP,
    deps=[dg.AssetDep("signals", partition_mapping=EVERY)],
    code_version=str(tokenizer.VERSION),
    check_specs=tokenizer_check_specs(),
)
def tokenizer_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Byte-level BPE, trained on a sample of the calibration snapshots or pinned by digest."""
    return materialize_stage(context, corpus, "tokenizer")


CALIBRATION_ASSETS = [
    eval_index_asset,
    classifiers_asset,
    score_ranks_asset,
    perplexity_models_asset,
    common_items_asset,
    quality_cutoffs_asset,
    tokenizer_asset,
]
