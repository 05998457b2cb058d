"""Importance weights: how much likelier a text is among texts of a target than among raw ones.

After DSIR (Xie et al. 2023, "Data Selection for Language Models via Importance Resampling",
arXiv:2302.03169, and its package p-lambda/dsir): words and pairs of words are hashed into 10,000
buckets, each side is a bag of them, and a text's weight is the sum over its own of the logarithm of
the ratio of their probabilities, with 1e-8 added to each. RedPajama-V2's `*_importance` signals are
this sum.

What differs: the hash (there SHA-256, and in RedPajama-V2 Python's own, which is another in every
process), so that other words share a bucket; punctuation, each mark a word (there runs of marks
are); RedPajama-V2 keeps capitals, DSIR does not, nor does `text: words`. RedPajama-V2's correction
by a Poisson distribution of lengths is not here; `NAME_importance_mean` does not grow with length.

Both sides are texts that the recipe names under `classifiers`, target as `positives` and raw as
`negatives`; the table is a calibration, pinned in the lock. Its ratios are whole multiples of 2**-24,
so that sums are exact whatever stands beside a text in its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import ModelError
from corpus_assets.signals.base import model_path
from corpus_assets.signals.classifier import MODEL, ReadsTexts

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class Importance(ReadsTexts):
    """`NAME_importance`: the logarithm of how much likelier a text is in the target than in raw
    texts, by its words and pairs of words; `NAME_importance_mean`: the same for each of them.

    float32; null for a text without words.
    """

    version: ClassVar[int] = 1

    family: Literal["importance"] = "importance"

    def columns(self) -> ColumnTypes:
        stem = f"{self.name}_importance"
        return {stem: "float32", f"{stem}_mean": "float32"}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.importance_weights import (
            BUCKETS,
            STEPS,
            load_weights,
            word_places,
        )

        table = load_weights(model_path(models, f"{MODEL}{self.name}", self.family))
        if len(table) != BUCKETS:
            raise ModelError(
                f"signals.families ({self.name}): the lock's table has {len(table)} buckets, the "
                f"signal has {BUCKETS}: resolve it again with `--upgrade classifiers`"
            )
        words = self.reading.read(batch).words
        single, pairs, is_pair = word_places(words.hashes, words.rows, len(table))
        paired = np.where(is_pair, table[pairs], 0)
        sums = words.sum_by_document(table[single]) + words.sum_by_document(paired)
        features = np.maximum(2 * words.counts - 1, 1)
        empty = words.counts == 0
        stem = f"{self.name}_importance"
        return self.record_batch(
            {
                stem: pa.array(sums / STEPS, pa.float32(), mask=empty),
                f"{stem}_mean": pa.array(sums / STEPS / features, pa.float32(), mask=empty),
            }
        )
