"""Listed words and phrases in a text: C4's "bad words", or any list of yours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.word_lists import read_word_list
from corpus_assets.signals.base import FILE, CountsWords, model_path, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class BadWords(CountsWords):
    """How often words or phrases of a list stand in the text.

    * `bad_words` (none in C4): occurrences that no letter, numeral or underscore touches;
      none overlap, the longest wins;
    * `bad_word_ratio`: for each word.

    Case is ignored for ASCII letters only; list others in the cases you want to find. The list
    that C4 used is not part of this project: name a file of yours, one entry a line.
    """

    version: ClassVar[int] = 1

    family: Literal["bad_words"] = "bad_words"
    words: tuple[str, ...] = Field(default=(), description="the list, or additional entries")
    word_lists: tuple[str, ...] = Field(
        default=(),
        description="UTF-8 files with one entry per line, or `model://NAME`; # begins a comment line",
    )

    def columns(self) -> ColumnTypes:
        return {"bad_words": "int64", "bad_word_ratio": "float32"}

    def needs(self) -> tuple[str, ...]:
        return tuple(FILE + path for path in self.word_lists)

    def looks_for_nothing(self) -> bool:
        return not self.words and not self.word_lists

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        from corpus_assets.text.phrases import count_phrases, phrase_table
        from corpus_assets.text.unicode import class_table

        entries = list(self.words)
        for name in self.needs():
            entries += read_word_list(model_path(models, name, self.family))
        found = count_phrases(
            batch.data,
            batch.whole.spans,
            phrase_table(tuple(entries)),
            True,
            class_table(),
        )
        return self.record_batch(
            {"bad_words": found, "bad_word_ratio": share(found, self.words_of(batch).counts)}
        )
