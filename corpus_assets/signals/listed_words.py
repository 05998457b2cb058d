"""Words of a list for each language: how much of a text is made of them.

One such word says little about a text: it may be quoted, discussed, or part of a name. So the
signal is a ratio, and a threshold is a rule of the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.word_lists import read_word_list
from corpus_assets.signals.base import FILE, CountsWords, NamedLists, model_path, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

WITHOUT_SPACES = ("zh", "ja", "th", "km", "lo", "my", "bo")
"""Languages in which an entry counts wherever it stands."""


class ListedWords(NamedLists, CountsWords):
    """How often words or phrases of the list of a text's own language stand in it.

    * `listed_words`: occurrences that no letter, numeral or underscore touches; in languages
      without spaces all of them. None overlap, the longest wins;
    * `listed_word_ratio`: for each word, in languages without spaces for each character.

    Both are null for a text in a language that has no list. Needs the column `language`. Case is
    ignored for ASCII letters only; list others in the cases you want to find.
    """

    version: ClassVar[int] = 1

    family: Literal["listed_words"] = "listed_words"

    def columns(self) -> ColumnTypes:
        return {"listed_words": "int64", "listed_word_ratio": "float32"}

    def reads(self) -> tuple[str, ...]:
        return ("language",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.text.phrases import count_phrases, phrase_table
        from corpus_assets.text.unicode import class_table

        languages = np.array(batch.columns["language"].to_pylist(), dtype=object)
        counts = np.zeros(len(batch), dtype=np.int64)
        ratios = np.zeros(len(batch), dtype=np.float32)
        known = np.zeros(len(batch), dtype=np.bool_)
        for language, paths in self.lists.items():
            rows = np.flatnonzero(languages == language)
            if len(rows) == 0:
                continue
            entries: list[str] = []
            for path in paths:
                entries += read_word_list(model_path(models, FILE + path, self.family))
            is_spaced = language not in WITHOUT_SPACES
            found = count_phrases(
                batch.data,
                batch.whole.spans[rows],
                phrase_table(tuple(entries)),
                is_spaced,
                class_table(),
            )
            whole = self.words_of(batch).counts if is_spaced else batch.n_chars
            counts[rows], ratios[rows], known[rows] = found, share(found, whole[rows]), True
        return self.record_batch(
            {
                "listed_words": pa.array(counts, pa.int64(), mask=~known),
                "listed_word_ratio": pa.array(ratios, pa.float32(), mask=~known),
            }
        )
