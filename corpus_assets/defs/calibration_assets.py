"""What is trained or resolved once and then pinned: no partitions."""

import dagster as dg

from corpus_assets.defs.materialize import materialize_stage
from corpus_assets.defs.partitions import EVERY
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.stages import eval_index, quality_model, selection, tokenizer

Result = dg.MaterializeResult
GROUP = "corpus"


@dg.asset(name="eval_index", group_name=GROUP, code_version=str(eval_index.VERSION))
def eval_index_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """N-grams of every item of the evaluation suites, pinned by digest."""
    return materialize_stage(context, corpus, "eval_index")


@dg.asset(name="quality_model", group_name=GROUP, code_version=str(quality_model.VERSION))
def quality_model_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """A fastText classifier trained on the recipe's positives and negatives."""
    return materialize_stage(context, corpus, "quality_model")


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
)
def tokenizer_asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Result:
    """Byte-level BPE, trained on a sample of the calibration snapshots or pinned by digest."""
    return materialize_stage(context, corpus, "tokenizer")


CALIBRATION_ASSETS = [
    eval_index_asset,
    quality_model_asset,
    quality_cutoffs_asset,
    tokenizer_asset,
]
