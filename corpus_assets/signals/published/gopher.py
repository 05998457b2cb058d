"""Document statistics of the Gopher quality filter (Rae et al. 2021, appendix A.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import MeasuresLines, share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import Spans, TextBatch

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")


class GopherQuality(MeasuresLines):
    """Words, symbols and line shapes; thresholds of the paper in brackets.

    * `n_words` (50 to 100,000) and `mean_word_chars` (3 to 10), words split at white space;
    * `hash_to_word_ratio`, `ellipsis_to_word_ratio` (at most 0.1 each);
    * `bullet_line_share` (at most 0.9), `ellipsis_line_share` (at most 0.3), of lines not blank;
    * `alphabetic_word_share` (at least 0.8), words with at least one letter of any script;
    * `stop_words_distinct` (at least 2), how many of the listed words occur, and
      `stop_words_counted`, how often they do. Case is ignored for ASCII letters only, and a
      word with punctuation at its end is another word, as it is in the paper.

    `signals.measured_lines: prose` takes `alphabetic_word_share` of words outside of code and
    formulas, without bars between cells and marks of list items.
    """

    version: ClassVar[int] = 1

    family: Literal["gopher_quality"] = "gopher_quality"
    bullets: str = Field(default="•‣◦▪●-*", description="characters that begin a bullet line")

    def columns(self) -> ColumnTypes:
        return {
            "n_words": "int64",
            "mean_word_chars": "float32",
            "hash_to_word_ratio": "float32",
            "ellipsis_to_word_ratio": "float32",
            "bullet_line_share": "float32",
            "ellipsis_line_share": "float32",
            "alphabetic_word_share": "float32",
            "stop_words_distinct": "int64",
            "stop_words_counted": "int64",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.kernels import text_counts as kernel
        from corpus_assets.text.batch import TextBatch
        from corpus_assets.text.unicode import letter_table

        words, lines = self.words_of(batch), batch.lines
        stops = TextBatch.from_arrow(pa.array(STOP_WORDS, pa.large_string()))
        counts = kernel.gopher_counts(
            batch.data,
            batch.offsets,
            words.spans,
            words.rows,
            lines.spans,
            lines.rows,
            letter_table(),
            np.array(sorted(map(ord, set(self.bullets))), dtype=np.int32),
            stops.data,
            stops.offsets,
        )
        n_words = words.counts
        return self.record_batch(
            {
                "n_words": n_words,
                "mean_word_chars": share(counts[:, kernel.WORD_CHARS], n_words),
                "hash_to_word_ratio": share(counts[:, kernel.HASHES], n_words),
                "ellipsis_to_word_ratio": share(counts[:, kernel.ELLIPSES], n_words),
                "bullet_line_share": share(counts[:, kernel.BULLET_LINES], lines.counts),
                "ellipsis_line_share": share(counts[:, kernel.ELLIPSIS_LINES], lines.counts),
                "alphabetic_word_share": self._alphabetic(batch, words, counts),
                "stop_words_distinct": counts[:, kernel.STOP_WORDS_DISTINCT],
                "stop_words_counted": counts[:, kernel.STOP_WORDS_COUNTED],
            }
        )

    def _alphabetic(
        self, batch: TextBatch, words: Spans, counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """float32[n]: the share of words with a letter, of all or of those that are language."""
        from corpus_assets.signals.kernels import text_counts as kernel
        from corpus_assets.text.line_kinds import are_of_language
        from corpus_assets.text.unicode import letter_table

        if self._measured == "all":
            return share(counts[:, kernel.ALPHABETIC_WORDS], words.counts)
        is_counted = are_of_language(batch, words)
        has_letter = kernel.have_letters(batch.data, words.spans, letter_table())
        return share(
            words.sum_by_document(has_letter & is_counted), words.sum_by_document(is_counted)
        )
