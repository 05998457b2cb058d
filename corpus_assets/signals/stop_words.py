"""Stop words of several languages, a column each: for rules that hold for one language only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pyarrow as pa
from pydantic import Field, StringConstraints

from corpus_assets.signals.base import CountsWords, TextBatch
from corpus_assets.signals.kernels.line_dialects import distinct_by_document, equal_to

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

    def columns(self) -> dict[str, pa.DataType]:
        return {f"stop_words_{name}": pa.int64() for name in self.lists}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        words = self.words_of(batch)
        values = {}
        for name, listed in self.lists.items():
            stops = TextBatch.from_arrow(pa.array(list(dict.fromkeys(listed)), pa.string()))
            which = equal_to(batch.data, words.spans, stops.data, stops.offsets)
            values[f"stop_words_{name}"] = distinct_by_document(which, words.rows, len(stops))
        return self.record_batch(values)
