"""Quality score by a fastText classifier that the corpus trains itself (`quality_model`)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from corpus_assets.models import load_fasttext
from corpus_assets.signals.base import SignalFamily, TextBatch, model_path
from corpus_assets.signals.language import rounded

GOOD = "__label__good"
POOR = "__label__poor"
MAX_CHARS = 20_000

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


class Quality(SignalFamily):
    """`quality_score`: the probability that a text is of the kind the positives were.

    Texts are normalised exactly as they were for training. Rounded to four decimals, float32;
    null for a text without words.
    """

    version: ClassVar[int] = 1

    family: Literal["quality"] = "quality"
    max_chars: int = Field(default=MAX_CHARS, ge=1, description="keep it equal to the model's")

    def columns(self) -> dict[str, pa.DataType]:
        return {"quality_score": pa.float32()}

    def needs(self) -> tuple[str, ...]:
        return ("quality",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        model = load_fasttext(model_path(models, "quality", self.family))
        lines = [normalise_text(text, self.max_chars) for text in batch.texts.to_pylist()]
        labels, scores = model.predict(lines, k=2) if lines else ([], [])
        values = [
            good_score(labels[row], scores[row]) if line else None for row, line in enumerate(lines)
        ]
        return self.record_batch({"quality_score": values})


def normalise_text(text: str, max_chars: int = MAX_CHARS) -> str:
    """One line for fastText: lower case, punctuation apart, single spaces.

    Setting punctuation apart also takes the power from strings that fastText obeys inside a
    text: a `__label__` prefix and the end-of-sentence mark `</s>`. NUL ends a word for
    fastText, so it is white space here.
    """
    text = text[:max_chars].lower().replace("\0", " ")
    return " ".join(_PUNCTUATION.sub(r" \1 ", text).split())


def good_score(labels: "tuple[str, ...] | list[str]", scores: "list[float]") -> float | None:
    """Probability of the good label among a prediction's pairs, rounded."""
    for label, score in zip(labels, scores, strict=True):
        if label == GOOD:
            return rounded(score)
    return None
