"""A score by a fastText classifier: one that the corpus trains itself, or a pinned one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings
from corpus_assets.signals.base import ScoredByFastText, SignalFamily, WordBreaks, model_path

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.models import Floats
    from corpus_assets.text.batch import TextBatch

POSITIVE = "positive"
NEGATIVE = "negative"
MAX_CHARS = 20_000
MODEL = "classifier:"
"""Begins the names in `SignalFamily.needs` that are classifiers of the recipe."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Form = Literal["words", "plain"]


class Reading(Settings):
    """How a classifier reads texts, in training too."""

    word_breaks: WordBreaks = Field(
        default="white_space",
        description="how words are found, as in `signals`; published models expect white space",
    )
    text: Form = Field(
        default="words",
        description="`words`: lowercase, punctuation split off; `plain`: as it is, on one line",
    )
    max_chars: int | None = Field(
        default=MAX_CHARS, ge=1, description="characters to read per text"
    )

    def identity(self) -> dict[str, Any]:
        """Return settings with whose words they are."""

        from corpus_assets.text.segment import DEFINITION

        body = self.model_dump(mode="json", include=set(Reading.model_fields))
        return body | ({"segmenter": DEFINITION} if self.word_breaks == "segmented" else {})

    def read(self, batch: TextBatch) -> TextBatch:
        """Return texts as the classifier reads them. Setting punctuation apart also takes the power
        from strings that fastText obeys inside a text: a `__label__` prefix and the mark `</s>`."""

        import pyarrow as pa

        from corpus_assets.signals.kernels.spaced_words import spaced_words
        from corpus_assets.text.batch import TextBatch

        if self.text == "words" or (self.max_chars and (batch.n_chars > self.max_chars).any()):
            cut = [each[: self.max_chars] for each in batch.texts.to_pylist()]
            batch = TextBatch.from_arrow(pa.array(cut, pa.large_string()))
        if self.word_breaks == "segmented":
            batch = batch.spaced()
        if self.text == "plain":
            return batch
        lowered = [each.lower() for each in batch.texts.to_pylist()]
        small = TextBatch.from_arrow(pa.array(lowered, pa.large_string()))
        return TextBatch.from_bytes(*spaced_words(small.data, small.offsets))


class ReadsTexts(SignalFamily):
    """A family that asks a classifier of the recipe, which reads texts as its entry there says."""

    name: Name = Field(
        default="quality",
        description="the classifier, under `classifiers`; prefix of the column",
    )
    _reading: Reading = Reading()

    @property
    def reading(self) -> Reading:
        return self._reading

    def with_reading(self, reading: Reading) -> Self:
        family = self.model_copy()
        family._reading = reading
        return family

    def identity(self) -> dict[str, Any]:
        """Return settings with how texts are read."""
        return super().identity() | {"reading": self._reading.identity()}

    def needs(self) -> tuple[str, ...]:
        return (f"{MODEL}{self.name}",)


Labels = Annotated[dict[str, float], Field(min_length=1)]
LABELS = "labels and their weights; models trained here have `positive`"


class Classifier(ScoredByFastText, ReadsTexts):
    """`NAME_score`: how much a text is of the kind that the classifier looks for.

    The probability of a label, or a weighted sum of several (a grade of 0 to 5, say). float32, not
    rounded: shares are cut off by rank. Null for a text without words.
    """

    version: ClassVar[int] = 4

    family: Literal["classifier"] = "classifier"
    labels: Labels = Field(default={POSITIVE: 1.0}, description=LABELS)

    def columns(self) -> ColumnTypes:
        return {f"{self.name}_score": "float32"}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.models import label_scores, open_model
        from corpus_assets.text.blank_texts import blank_texts

        model = open_model(model_path(models, f"{MODEL}{self.name}", self.family), self.engine)
        lines = self.reading.read(batch)
        values = self.weighed(model.labels, label_scores(model, lines.data, lines.offsets))
        empty = blank_texts(lines.data, lines.offsets)
        column = pa.array(values.astype(np.float32), mask=empty | np.isnan(values))
        return self.record_batch({f"{self.name}_score": column})

    def weighed(self, labels: Sequence[str], scores: Floats) -> npt.NDArray[np.float64]:
        """float64[n]: the score of each text by the probabilities of a model's labels."""

        import numpy as np

        values = np.zeros(len(scores))
        for label, weight in enumerate(self._weights(labels).tolist()):
            if weight:  # one after another: the same sum on every processor
                values += scores[:, label].astype(np.float64) * weight
        return values

    def _weights(self, labels: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        from corpus_assets.models import LABEL

        weights = np.zeros(len(labels), dtype=np.float32)
        for label, weight in self.labels.items():
            name = label.removeprefix(LABEL)
            if name not in labels:
                raise RecipeError(
                    f"classifiers.{self.name}: the model has no label {name!r}; it has "
                    f"{', '.join(labels[:20])}"
                )
            weights[labels.index(name)] = weight
        return weights


class Label(ScoredByFastText, ReadsTexts):
    """`NAME`, `NAME_score`: the likeliest label of a text under a classifier of many (a topic, a
    format), and its probability.

    Labels are as the model has them, without `__label__`. float32, not rounded; both null for a text
    without words.
    """

    version: ClassVar[int] = 2

    family: Literal["label"] = "label"
    name: Name = Field(
        default="topic", description="the classifier, under `classifiers`; name of the column"
    )

    def columns(self) -> ColumnTypes:
        return {self.name: "string", f"{self.name}_score": "float32"}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        from corpus_assets.models import identify, open_model
        from corpus_assets.text.blank_texts import blank_texts

        model = open_model(model_path(models, f"{MODEL}{self.name}", self.family), self.engine)
        lines = self.reading.read(batch)
        best, scores = identify(model, lines.data, lines.offsets, k=1)
        none = (best[:, 0] < 0) | blank_texts(lines.data, lines.offsets)
        labels = pa.array(model.labels, pa.string()).take(pa.array(best[:, 0], mask=none))
        score = pa.array(scores[:, 0], mask=none)
        return self.record_batch({self.name: labels, f"{self.name}_score": score})
