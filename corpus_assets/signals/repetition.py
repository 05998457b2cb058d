"""Repetition inside a document, after Gopher (Rae et al. 2021, table A1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import MeasuresLines, share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from corpus_assets.text.batch import Spans, TextBatch

TOP_NGRAMS = (2, 3, 4)
DUP_NGRAMS = (5, 6, 7, 8, 9, 10)
"""Sizes of which the most frequent n-gram, and of which repeated ones, are measured: Gopher's, and so
those of all that follow it."""


class Repetition(MeasuresLines):
    """Shares of text that repeats: lines, paragraphs, n-grams of words.

    * `dup_line_share`, `dup_paragraph_share`: lines and paragraphs that stood earlier in the
      document, of all; `dup_line_char_share`, `dup_paragraph_char_share`: their characters;
    * `top_N_gram_char_share`: characters inside the most frequent n-gram;
    * `dup_N_gram_char_share`: characters inside any n-gram that occurs twice or more, all
      occurrences counted: the paper's wording;
    * `later_N_gram_char_share`: the same without first occurrences: the reading of the code
      that FineWeb was filtered with.

    N-gram shares are shares of the characters of words, so white space weighs nothing and no
    share exceeds 1. Exact but for collisions of 64-bit word hashes (see `hash_spans`).
    `signals.measured_lines: prose` measures running text alone.
    """

    version: ClassVar[int] = 1

    family: Literal["repetition"] = "repetition"

    def columns(self) -> ColumnTypes:
        names = [
            "dup_line_share",
            "dup_line_char_share",
            "dup_paragraph_share",
            "dup_paragraph_char_share",
            *(f"top_{n}_gram_char_share" for n in TOP_NGRAMS),
            *(f"dup_{n}_gram_char_share" for n in DUP_NGRAMS),
            *(f"later_{n}_gram_char_share" for n in DUP_NGRAMS),
        ]
        return dict.fromkeys(names, "float32")

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        from corpus_assets.text import repetition as kernel

        batch = self.measured(batch)
        values: dict[str, npt.NDArray[np.float32]] = {}
        for name, spans in (("line", batch.lines), ("paragraph", batch.paragraphs)):
            values[f"dup_{name}_share"], values[f"dup_{name}_char_share"] = _repeats(spans)
        words = self.words_of(batch)
        largest = max(DUP_NGRAMS)
        chars = words.repeated_ngrams(largest)
        for n in TOP_NGRAMS:
            values[f"top_{n}_gram_char_share"] = share(chars[:, n, kernel.TOP], words.chars)
        for n in DUP_NGRAMS:
            values[f"dup_{n}_gram_char_share"] = share(chars[:, n, kernel.ALL], words.chars)
            values[f"later_{n}_gram_char_share"] = share(chars[:, n, kernel.LATER], words.chars)
        return self.record_batch(values)


def _repeats(spans: Spans) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Share of spans that stood earlier in their document, by number and by characters."""

    from corpus_assets.text.split import CHARS

    repeated_chars = spans.sum_by_document(spans.spans[:, CHARS] * spans.repeats)
    return (
        share(spans.sum_by_document(spans.repeats), spans.counts),
        share(repeated_chars, spans.chars),
    )
