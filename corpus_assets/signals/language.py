"""Language of a document by fastText's lid.176 (Joulin et al. 2016; CC-BY-SA 3.0)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.blank_texts import blank_texts
from corpus_assets.kernels.fasttext_labels import identify
from corpus_assets.kernels.fasttext_model import load_model
from corpus_assets.signals.base import SignalFamily, TextBatch, model_path

DECIMALS = 4


class Language(SignalFamily):
    """The three likeliest languages with their probabilities, best first.

    The whole text is read: cutting it at 1 KB flips one decision in twenty-five. Scores are
    rounded to four decimals and stored as float32, so that they do not depend on the order in
    which a processor adds. A text without words has no language: null.
    """

    version: ClassVar[int] = 1

    family: Literal["language"] = "language"

    def columns(self) -> dict[str, pa.DataType]:
        out: dict[str, pa.DataType] = {}
        for suffix in ("", "_2", "_3"):
            out[f"language{suffix}"] = pa.string()
            out[f"language{suffix}_score"] = pa.float32()
        return out

    def needs(self) -> tuple[str, ...]:
        return ("lid",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        model = load_model(model_path(models, "lid", self.family))
        labels, scores = identify(model, batch.data, batch.offsets)
        names = list(self.columns())
        values: dict[str, list[Any]] = {name: [None] * len(batch) for name in names}
        for row in np.flatnonzero(~blank_texts(batch.data, batch.offsets)).tolist():
            for rank, (label, score) in enumerate(zip(labels[row], scores[row], strict=True)):
                if label >= 0:
                    values[names[2 * rank]][row] = model.labels[label]
                    values[names[2 * rank + 1]][row] = rounded(score)
        return self.record_batch(values)


def rounded(score: float) -> float:
    """A probability with four decimals; fastText may exceed 1 by a rounding error."""
    return round(min(max(float(score), 0.0), 1.0), DECIMALS)
