"""Perplexity and divergence of texts under an n-gram model."""

import numpy as np
import pyarrow as pa

from corpus_assets.models.ngram_file import NgramModel
from corpus_assets.models.ngram_score import Doubles, divergences, score_texts, unit_ids
from corpus_assets.models.ngram_units import fold_units, split_units, unit_kinds
from corpus_assets.text.exact_math import exps10
from corpus_assets.text.split import Ints, hash_spans

MAX_LOG = 12.0  # unreadable text has a perplexity of a million million, and not infinity


def perplexities(model: NgramModel, texts: pa.LargeStringArray) -> Doubles:
    """float64[n]: `models.ngram_score` over some texts; NaN where there is nothing to score."""
    data, offsets = fold_units(texts)
    spans, rows = split_units(data, offsets, unit_kinds())
    ids = unit_ids(spans, hash_spans(data, spans), model.vocabulary, model.places)
    logs = score_texts(
        data,
        spans,
        rows,
        ids,
        model.order,
        model.word,
        model.prob,
        model.gamma,
        model.first,
        model.spelling,
    )
    return perplexity_of(logs, np.diff(rows))


def perplexity_of(logs: Doubles, lengths: Ints) -> Doubles:
    """10 ** (-log10 P / length), as CCNet defines it; NaN for length 0."""
    out = np.full(logs.shape, np.nan)
    np.divide(-logs, lengths, out=out, where=lengths > 0)
    return exps10(np.minimum(out, MAX_LOG))


def divergences_of(model: NgramModel, texts: pa.LargeStringArray) -> Doubles:
    """float64[n]: how far the words of each text are from those of the training texts, in nats;
    NaN where there is no word."""
    data, offsets = fold_units(texts)
    spans, rows = split_units(data, offsets, unit_kinds())
    ids = unit_ids(spans, hash_spans(data, spans), model.vocabulary, model.places)
    found = divergences(ids, rows, model.log_shares)
    found[np.diff(rows) == 0] = np.nan
    return found
