"""Stop words of each language: text without any is seldom prose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords

if TYPE_CHECKING:
    from typing import Self

    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class StopWords(CountsWords):
    """`stop_words`: how many different words of the list of a text's own language occur in it
    (FineWeb2: at least 2). Null for a text in a language without a list.

    Words are those of `datatrove_gopher`, with punctuation apart; case counts. Needs the column
    `language`.
    """

    version: ClassVar[int] = 2

    family: Literal["stop_words"] = "stop_words"
    languages: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="lists by language"
    )
    languages_from: str | None = Field(
        default=None,
        exclude=True,
        description="a file with `languages`, read with the recipe: its column with the name of the family has JSON lists",
    )

    @model_validator(mode="after")
    def _is_read(self) -> Self:
        if self.languages_from is not None:
            raise ValueError(
                "`languages_from` is read with the recipe's file; load the recipe from there"
            )
        return self

    def columns(self) -> ColumnTypes:
        return {"stop_words": "int64"}

    def looks_for_nothing(self) -> bool:
        return not any(self.languages.values())

    def reads(self) -> tuple[str, ...]:
        return ("language",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.kernels.line_dialects import distinct_by_document, equal_to
        from corpus_assets.text.batch import TextBatch

        words = self.words_of(batch).tokens
        counts = np.zeros(len(batch), dtype=np.int64)
        known = np.zeros(len(batch), dtype=np.bool_)
        documents: dict[str, list[int]] = {}
        for row, language in enumerate(batch.columns["language"].to_pylist()):
            if language in self.languages:
                documents.setdefault(language, []).append(row)
        for language, own in documents.items():
            spans = [words.spans[words.rows[d] : words.rows[d + 1]] for d in own]
            rows = np.cumsum([0, *map(len, spans)], dtype=np.int64)
            listed = TextBatch.from_arrow(
                pa.array(list(dict.fromkeys(self.languages[language])), pa.string())
            )
            which = equal_to(batch.data, np.concatenate(spans), listed.data, listed.offsets)
            counts[own], known[own] = distinct_by_document(which, rows, len(listed)), True
        return self.record_batch({"stop_words": pa.array(counts, pa.int64(), mask=~known)})
