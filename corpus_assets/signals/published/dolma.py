"""Gopher's and C4's statistics in the dialect of Dolma (Soldaini et al. 2024, appendix N.4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords, code_points_of, share
from corpus_assets.signals.published.gopher import STOP_WORDS
from corpus_assets.signals.repetition import DUP_NGRAMS, TOP_NGRAMS

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class Dolma(CountsWords):
    """Names begin with `dolma_`; thresholds in brackets. Words are split at white space, lines at
    line ends: they are not stripped, and blank ones count.

    * `median_word_chars` (3 to 10); `symbol_word_share` (at most 0.1): words that hold `#` or
      an ellipsis character; `stop_words_counted` (at least 2): every occurrence, case counts;
    * `bullet_line_share` (at most 0.9): lines that begin with `*` or `-`;
      `ellipsis_line_share` (at most 0.3): lines that end in an ellipsis character;
    * `dup_line_share` (at most 0.3): lines that stand twice, all copies counted, the first too;
      `dup_line_char_ratio` (at most 0.3): their characters, for each character of a word;
    * `top_N_gram_ratio` (at most 0.20, 0.18, 0.16): characters of the most frequent n-gram times
      its occurrences, for each character of a word;
    * `dup_N_gram_share` (at most 0.15 ... 0.10): of the characters of all n-grams, those of
      n-grams that stand twice, where overlapping ones count a word again;
    * `unfinished_line_share` (at most 0.5): lines that do not end in `.`, `?`, `!` or `"`.

    The number of words and the share of alphabetic words are those of `gopher_quality`.
    """

    version: ClassVar[int] = 1

    family: Literal["dolma"] = "dolma"

    def columns(self) -> ColumnTypes:
        shares = [
            "median_word_chars",
            "symbol_word_share",
            "bullet_line_share",
            "ellipsis_line_share",
            "dup_line_share",
            "dup_line_char_ratio",
            *(f"top_{n}_gram_ratio" for n in TOP_NGRAMS),
            *(f"dup_{n}_gram_share" for n in DUP_NGRAMS),
            "unfinished_line_share",
        ]
        return {
            "dolma_stop_words_counted": "int64",
            **{f"dolma_{name}": "float32" for name in shares},
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        values = self._words(batch) | self._lines(batch) | self._ngrams(batch)
        return self.record_batch({f"dolma_{name}": value for name, value in values.items()})

    def _words(self, batch: TextBatch) -> dict[str, Any]:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.signals.kernels import line_dialects as kernel
        from corpus_assets.text.batch import TextBatch
        from corpus_assets.text.split import CHARS

        words = self.words_of(batch)
        symbols = kernel.words_with(batch.data, words.spans, code_points_of("#…"))
        stops = TextBatch.from_arrow(pa.array(STOP_WORDS, pa.string()))
        which = kernel.equal_to(batch.data, words.spans, stops.data, stops.offsets)
        twice = kernel.twice_the_median(np.ascontiguousarray(words.spans[:, CHARS]), words.rows)
        return {
            "median_word_chars": (twice / 2).astype(np.float32),
            "symbol_word_share": share(words.sum_by_document(symbols), words.counts),
            "stop_words_counted": words.sum_by_document(which >= 0),
        }

    def _lines(self, batch: TextBatch) -> dict[str, Any]:
        import numpy as np

        from corpus_assets.signals.kernels import line_dialects as kernel
        from corpus_assets.text.split import CHARS

        lines, data = batch.raw_lines, batch.data
        # No line is one of nothing: a text without characters has no statistics there.
        some = (batch.n_chars > 0).astype(np.int64)
        counts = lines.counts * some
        bullets = kernel.starts_with(data, lines.spans, code_points_of("*-"), False)
        dots = kernel.ends_with(data, lines.spans, code_points_of("…"), False)
        ended = kernel.ends_with(data, lines.spans, code_points_of('.?!"'), True)
        copied = lines.occurrences > 1
        return {
            "bullet_line_share": share(lines.sum_by_document(bullets), counts),
            "ellipsis_line_share": share(lines.sum_by_document(dots), counts),
            "dup_line_share": share(lines.sum_by_document(copied), counts),
            "dup_line_char_ratio": share(
                lines.sum_by_document(lines.spans[:, CHARS] * copied), self.words_of(batch).chars
            ),
            "unfinished_line_share": share(lines.sum_by_document(ended == 0) * some, counts),
        }

    def _ngrams(self, batch: TextBatch) -> dict[str, Any]:
        import numpy as np

        from corpus_assets.text import repetition as ngrams

        values: dict[str, Any] = {}
        words = self.words_of(batch)
        largest = max(DUP_NGRAMS)
        chars = words.repeated_ngrams(largest)
        sizes = np.array(TOP_NGRAMS + DUP_NGRAMS, dtype=np.int64)
        total, first = ngrams.window_chars(words.spans, words.rows, sizes)
        for k, n in enumerate(TOP_NGRAMS):
            once = chars[:, n, ngrams.FIRST_COUNT] == 0
            most = np.where(once, first[:, k], chars[:, n, ngrams.FIRST])
            values[f"top_{n}_gram_ratio"] = share(most, words.chars)
        for k, n in enumerate(DUP_NGRAMS, len(TOP_NGRAMS)):
            values[f"dup_{n}_gram_share"] = share(chars[:, n, ngrams.EVERY], total[:, k])
        return values
