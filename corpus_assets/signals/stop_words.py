"""Stop words of several languages, a column each: for rules that hold for one language only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

ListName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class StopWords(CountsWords):
    """`stop_words_NAME` for each list: how many of its words occur (FineWeb2: at least 2).

    A rule that names the column together with `only_languages` asks it of one language. Words
    are split at white space; case counts, and so does punctuation that touches a word.
    """

    version: ClassVar[int] = 1

    family: Literal["stop_words"] = "stop_words"
    lists: dict[ListName, tuple[str, ...]] = Field(
        default_factory=dict, description="words of each list; its name is the suffix of the column"
    )

    def columns(self) -> ColumnTypes:
        return {f"stop_words_{name}": "int64" for name in self.lists}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        from corpus_assets.signals.kernels.line_dialects import distinct_by_document, equal_to
        from corpus_assets.text.batch import TextBatch

        words = self.words_of(batch)
        values = {}
        for name, listed in self.lists.items():
            stops = TextBatch.from_arrow(pa.array(list(dict.fromkeys(listed)), pa.string()))
            which = equal_to(batch.data, words.spans, stops.data, stops.offsets)
            values[f"stop_words_{name}"] = distinct_by_document(which, words.rows, len(stops))
        return self.record_batch(values)
