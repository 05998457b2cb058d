"""Gopher's statistics in the dialect of DCLM's baseline (Li et al. 2024), which follows RefinedWeb."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from corpus_assets.signals.base import SignalFamily, TextBatch, WordBreaks, code_points_of, share
from corpus_assets.signals.kernels import line_dialects as kernel
from corpus_assets.signals.repetition import NgramSize
from corpus_assets.text import repetition as ngrams
from corpus_assets.text.phrases import count_phrases, phrase_table
from corpus_assets.text.split import CHARS
from corpus_assets.text.unicode import class_table

_BULLETS = "●•*-"
_SYMBOLS = ("#", "...", ". . .", "…")


class DCLM(WordBreaks, SignalFamily):
    """Names begin with `dclm_`; thresholds in brackets. Lines are stripped, blank ones left out.

    * `symbol_to_word_ratio` (at most 0.1): number signs and ellipses together, `. . .` too;
    * `bullet_line_share` (at most 0.9), `ellipsis_line_share` (at most 0.3);
    * `dup_line_share` (at most 0.3), `dup_line_char_share` (at most 0.2): lines that stand
      twice, all copies counted, the first too; the same for `paragraph`;
    * `top_N_gram_ratio` (at most 0.20, 0.18, 0.16): characters of the most frequent n-gram, of
      several the longest, times its occurrences, for each character of a word.

    Its shares of repeated n-grams are `dup_N_gram_char_share` of `repetition`, its stop words
    `stop_words_counted` of `gopher_quality`. It finds words by Unicode's word boundaries and
    leaves punctuation out; here they are split at white space.
    """

    version: ClassVar[int] = 1

    family: Literal["dclm"] = "dclm"
    top_ngrams: tuple[NgramSize, ...] = Field(
        default=(2, 3, 4), description="sizes n of `dclm_top_N_gram_ratio`"
    )

    def columns(self) -> dict[str, pa.DataType]:
        names = [
            "symbol_to_word_ratio",
            "bullet_line_share",
            "ellipsis_line_share",
            "dup_line_share",
            "dup_line_char_share",
            "dup_paragraph_share",
            "dup_paragraph_char_share",
            *(f"top_{n}_gram_ratio" for n in self.top_ngrams),
        ]
        return {f"dclm_{name}": pa.float32() for name in names}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        words, lines, data = self.words_of(batch), batch.lines, batch.data
        symbols = np.zeros(len(batch), dtype=np.int64)
        for symbol in _SYMBOLS:
            table = phrase_table((symbol,))
            symbols += count_phrases(data, batch.whole.spans, table, False, class_table())
        bullets = kernel.starts_with(data, lines.spans, code_points_of(_BULLETS), False)
        values = {
            "symbol_to_word_ratio": share(symbols, words.counts),
            "bullet_line_share": share(lines.sum_by_document(bullets), lines.counts),
            "ellipsis_line_share": share(
                lines.sum_by_document(kernel.ends_in_dots(data, lines.spans, True)), lines.counts
            ),
        }
        for name, spans in (("line", lines), ("paragraph", batch.paragraphs)):
            copied = spans.occurrences > 1
            values[f"dup_{name}_share"] = share(spans.sum_by_document(copied), spans.counts)
            values[f"dup_{name}_char_share"] = share(
                spans.sum_by_document(spans.spans[:, CHARS] * copied), spans.chars
            )
        largest = max(self.top_ngrams, default=0)
        chars = words.repeated_ngrams(largest)
        for n in self.top_ngrams:
            values[f"top_{n}_gram_ratio"] = share(chars[:, n, ngrams.LONGEST], words.chars)
        return self.record_batch({f"dclm_{name}": value for name, value in values.items()})
