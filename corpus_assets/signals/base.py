"""What a signal family is; the batch of texts it reads is `corpus_assets.text.batch`.

A family turns texts into columns: numbers or labels, never decisions. To add one, write a
file here with a class derived from `SignalFamily`; `signals/__init__.py` finds it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes, arrow_schema
from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import Settings
from corpus_assets.core.model_choice import LabelEngine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import Spans, TextBatch

__all__ = [
    "FILE",
    "CountsWords",
    "MeasuredLines",
    "MeasuresLines",
    "NamedLists",
    "ScoredByFastText",
    "SignalFamily",
    "Spans",
    "TextBatch",
    "WordBreaks",
    "code_points_of",
    "model_path",
    "share",
]

FILE = "file:"
"""Begins the names in `SignalFamily.needs` that are paths of files, as the recipe writes them."""


class SignalFamily(Settings):
    """Settings of a family and what it computes; `family` is its name in recipes."""

    version: ClassVar[int]  # raise it whenever a value could change

    family: str

    def identity(self) -> dict[str, Any]:
        """Return settings and version: both change bytes."""
        return {**super().identity(), "version": type(self).version}

    @abstractmethod
    def columns(self) -> ColumnTypes:
        """Names and types of the columns, in order."""

    @abstractmethod
    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        """One row a text, with exactly `columns()`."""

    def needs(self) -> tuple[str, ...]:
        """Names of the model files that `compute` reads."""
        return ()

    def files(self) -> tuple[str, ...]:
        """Return the files that it needs, as the recipe writes them."""
        return tuple(need.removeprefix(FILE) for need in self.needs() if need.startswith(FILE))

    def looks_for_nothing(self) -> bool:
        """Whether it searches for what a list has, and no list is given."""
        return False

    def reads(self) -> tuple[str, ...]:
        """ColumnTypes of families before it that `compute` finds in `batch.columns`."""
        return ()

    def of_documents(self) -> tuple[str, ...]:
        """ColumnTypes of the documents, beside their text, that `compute` finds in `batch.columns`."""
        return ()

    def record_batch(self, values: Mapping[str, Any]) -> pa.RecordBatch:
        """Put computed arrays under the declared columns, in the declared order and types."""

        import pyarrow as pa

        schema = arrow_schema(self.columns())
        arrays = [
            v if isinstance(v := values[field.name], pa.Array) else pa.array(v, type=field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class NamedLists(SignalFamily):
    """A family that looks something up in lists."""

    lists: dict[str, tuple[str, ...]] = Field(
        default={},
        description="language, or category, -> UTF-8 files with one entry per line, or "
        "`model://NAME`; # begins a comment line",
    )

    def needs(self) -> tuple[str, ...]:
        return tuple(sorted({FILE + path for paths in self.lists.values() for path in paths}))

    def looks_for_nothing(self) -> bool:
        return not any(self.lists.values())


WordBreaks = Literal["segmented", "white_space"]


class CountsWords(SignalFamily):
    """A family that counts words, which end where the recipe says for all of them."""

    _word_breaks: WordBreaks = "white_space"

    def with_words(self, word_breaks: WordBreaks) -> Self:
        family = self.model_copy()
        family._word_breaks = word_breaks
        return family

    def identity(self) -> dict[str, Any]:
        """Return settings with whose words they are."""

        from corpus_assets.text.segment import DEFINITION

        is_segmented = self._word_breaks == "segmented"
        return super().identity() | ({"segmenter": DEFINITION} if is_segmented else {})

    def words_of(self, batch: TextBatch) -> Spans:
        return batch.segments if self._word_breaks == "segmented" else batch.words


MeasuredLines = Literal["all", "prose"]


class MeasuresLines(CountsWords):
    """A family that measures lines: all of them, or those of running text where the recipe says so
    for all such families."""

    _measured: MeasuredLines = "all"

    def with_lines(self, measured: MeasuredLines) -> Self:
        family = self.model_copy()
        family._measured = measured
        return family

    def identity(self) -> dict[str, Any]:
        """Return settings with which lines are measured."""
        return super().identity() | ({"lines": "prose"} if self._measured == "prose" else {})

    def of_documents(self) -> tuple[str, ...]:
        return ("line_kinds",) if self._measured == "prose" else ()

    def measured(self, batch: TextBatch) -> TextBatch:
        """Return the texts with the lines that count."""

        from corpus_assets.text.line_kinds import prose_of

        return prose_of(batch) if self._measured == "prose" else batch


class ScoredByFastText(SignalFamily):
    """A family with the scores of a fastText model, by the engine that the recipe says for all."""

    _engine: LabelEngine = "kernels"

    @property
    def engine(self) -> LabelEngine:
        return self._engine

    def with_engine(self, engine: LabelEngine) -> Self:
        family = self.model_copy()
        family._engine = engine
        return family

    def identity(self) -> dict[str, Any]:
        """Return settings with whose results they lead to."""

        from corpus_assets.models import LIBRARY

        is_library = self._engine == "fasttext"
        return super().identity() | ({"library": LIBRARY} if is_library else {})


def code_points_of(marks: str) -> npt.NDArray[np.int32]:
    """Return the characters of a setting as the sorted array that kernels search."""

    import numpy as np

    return np.array(sorted(map(ord, set(marks))), dtype=np.int32)


def share(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """part / whole in float64, stored as float32; 0 where there is nothing to take a share of."""

    import numpy as np

    quotient = np.zeros(part.shape, dtype=np.float64)
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient.astype(np.float32)


def model_path(models: Mapping[str, Path], name: str, family: str) -> Path:
    """Return the file for a model name, or an error that says which family asked for it."""
    if name not in models:
        raise ModelError(
            f"the signal family {family!r} needs the model {name!r} and was given "
            f"{sorted(models) or 'none'}: fetch or train it, or remove the family from the recipe"
        )
    return models[name]
