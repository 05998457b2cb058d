"""Language of a document by fastText's lid.176 (Joulin et al. 2016; CC-BY-SA 3.0), or by another
model of fastText's kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnType, ColumnTypes
from corpus_assets.signals.base import ScoredByFastText, model_path

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

DECIMALS = 4


class Language(ScoredByFastText):
    """The three likeliest languages with their probabilities, best first.

    Languages have the codes of `models.languages` under every model: `en`, not `eng_Latn`.
    The whole text is read: cutting it at 1 KB flips one decision in twenty-five. Scores are
    rounded to four decimals and stored as float32, so that they do not depend on the order in
    which a processor adds. A text without words has no language: null.
    """

    version: ClassVar[int] = 4

    family: Literal["language"] = "language"

    def columns(self) -> ColumnTypes:
        out: dict[str, ColumnType] = {}
        for suffix in ("", "_2", "_3"):
            out[f"language{suffix}"] = "string"
            out[f"language{suffix}_score"] = "float32"
        return out

    def needs(self) -> tuple[str, ...]:
        return ("lid",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        from corpus_assets.models import likely_languages, open_model
        from corpus_assets.text.blank_texts import blank_texts

        model = open_model(model_path(models, "lid", self.family), self.engine)
        languages, labels, scores = likely_languages(model, batch.data, batch.offsets)
        missing = (labels < 0) | blank_texts(batch.data, batch.offsets)[:, None]
        rounded = rounded_scores(scores)
        names = pa.array(languages)
        columns: list[pa.Array] = []
        for rank in range(labels.shape[1]):
            gone = missing[:, rank]
            columns.append(names.take(pa.array(labels[:, rank], mask=gone)))
            columns.append(pa.array(rounded[:, rank], pa.float32(), mask=gone))
        return self.record_batch(dict(zip(self.columns(), columns, strict=True)))


def rounded_scores(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Probabilities with four decimals; fastText may exceed 1 by a rounding error.

    Products of a float32 with 10,000 are exact in double precision, so these are the numbers that
    Python's `round` gives.
    """

    import numpy as np

    scaled = np.clip(scores.astype(np.float64), 0.0, 1.0) * 10**DECIMALS
    rounded: npt.NDArray[np.float64] = np.rint(scaled) / 10**DECIMALS
    return rounded
