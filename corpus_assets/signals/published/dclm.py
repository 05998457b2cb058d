"""Gopher's statistics in the dialect of DCLM's baseline (Li et al. 2024), which follows RefinedWeb."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, code_points_of, share
from corpus_assets.signals.repetition import DUP_NGRAMS, TOP_NGRAMS

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

_BULLETS = "●•*-"
_SYMBOLS = ("#", "...", ". . .", "…")


class DCLM(SignalFamily):
    """Names begin with `dclm_`; thresholds in brackets. Lines are stripped, blank ones left out;
    paragraphs are divided by empty lines.

    * `n_words` (50 to 100,000): between ASCII white space, those that begin with a letter or a
      numeral;
    * `symbol_to_word_ratio` (at most 0.1): number signs and ellipses together, `. . .` too,
      for each word split at white space;
    * `bullet_line_share` (at most 0.9), `ellipsis_line_share` (at most 0.3);
    * `dup_line_share` (at most 0.3), `dup_line_char_share` (at most 0.2): lines that stand
      twice, all copies counted, the first too; the same for `paragraph`;
    * `top_N_gram_ratio` (at most 0.20, 0.18, 0.16): characters of the most frequent n-gram, of
      several the longest, times its occurrences, for each character of a word;
    * `dup_N_gram_char_share` (at most 0.15 ... 0.10): characters inside any n-gram that occurs
      twice or more, all occurrences counted.

    Words of n-grams lie between Unicode's word boundaries; those that begin with neither a letter
    nor a numeral are left out. Its stop words are `stop_words_counted` of `gopher_quality`.
    """

    version: ClassVar[int] = 2

    family: Literal["dclm"] = "dclm"

    def columns(self) -> ColumnTypes:
        names = [
            "symbol_to_word_ratio",
            "bullet_line_share",
            "ellipsis_line_share",
            "dup_line_share",
            "dup_line_char_share",
            "dup_paragraph_share",
            "dup_paragraph_char_share",
            *(f"top_{n}_gram_ratio" for n in TOP_NGRAMS),
            *(f"dup_{n}_gram_char_share" for n in DUP_NGRAMS),
        ]
        return {"dclm_n_words": "int64", **{f"dclm_{name}": "float32" for name in names}}

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np

        from corpus_assets.signals.kernels import line_dialects as kernel
        from corpus_assets.signals.kernels.word_boundaries import (
            boundary_words,
            plain_words,
            stripped,
        )
        from corpus_assets.text import repetition as ngrams
        from corpus_assets.text.batch import Spans
        from corpus_assets.text.phrases import count_phrases, phrase_table
        from corpus_assets.text.split import CHARS
        from corpus_assets.text.unicode import class_table

        lines, data = batch.lines, batch.data
        symbols = np.zeros(len(batch), dtype=np.int64)
        for symbol in _SYMBOLS:
            table = phrase_table((symbol,))
            symbols += count_phrases(data, batch.whole.spans, table, False, class_table())
        bullets = kernel.starts_with(data, lines.spans, code_points_of(_BULLETS), False)
        values: dict[str, Any] = {
            "n_words": plain_words(data, batch.offsets, class_table()),
            "symbol_to_word_ratio": share(symbols, batch.words.counts),
            "bullet_line_share": share(lines.sum_by_document(bullets), lines.counts),
            "ellipsis_line_share": share(
                lines.sum_by_document(kernel.ends_in_dots(data, lines.spans, True)), lines.counts
            ),
        }
        paragraphs = Spans(data, *stripped(data, *kernel.split_paragraphs(data, batch.offsets)))
        for name, spans in (("line", lines), ("paragraph", paragraphs)):
            copied = spans.occurrences > 1
            values[f"dup_{name}_share"] = share(spans.sum_by_document(copied), spans.counts)
            values[f"dup_{name}_char_share"] = share(
                spans.sum_by_document(spans.spans[:, CHARS] * copied), spans.chars
            )
        words = Spans(data, *boundary_words(data, batch.offsets))
        chars = words.repeated_ngrams(max(DUP_NGRAMS))
        for n in TOP_NGRAMS:
            values[f"top_{n}_gram_ratio"] = share(chars[:, n, ngrams.LONGEST], words.chars)
        for n in DUP_NGRAMS:
            values[f"dup_{n}_gram_char_share"] = share(chars[:, n, ngrams.ALL], words.chars)
        return self.record_batch({f"dclm_{name}": value for name, value in values.items()})
