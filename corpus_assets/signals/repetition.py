"""Repetition inside a document, after Gopher (Rae et al. 2021, table A1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.signals.base import SignalFamily, Spans, TextBatch, WordBreaks, share
from corpus_assets.text import repetition as kernel
from corpus_assets.text.split import CHARS

NgramSize = Annotated[int, Field(ge=1, le=64)]


class Repetition(WordBreaks, SignalFamily):
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
    """

    version: ClassVar[int] = 1

    family: Literal["repetition"] = "repetition"
    top_ngrams: tuple[NgramSize, ...] = (2, 3, 4)
    dup_ngrams: tuple[NgramSize, ...] = (5, 6, 7, 8, 9, 10)

    def columns(self) -> dict[str, pa.DataType]:
        names = [
            "dup_line_share",
            "dup_line_char_share",
            "dup_paragraph_share",
            "dup_paragraph_char_share",
            *(f"top_{n}_gram_char_share" for n in self.top_ngrams),
            *(f"dup_{n}_gram_char_share" for n in self.dup_ngrams),
            *(f"later_{n}_gram_char_share" for n in self.dup_ngrams),
        ]
        return dict.fromkeys(names, pa.float32())

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        values: dict[str, npt.NDArray[np.float32]] = {}
        for name, spans in (("line", batch.lines), ("paragraph", batch.paragraphs)):
            values[f"dup_{name}_share"], values[f"dup_{name}_char_share"] = _repeats(spans)
        words = self.words_of(batch)
        largest = max(self.top_ngrams + self.dup_ngrams, default=0)
        chars = words.repeated_ngrams(largest)
        for n in self.top_ngrams:
            values[f"top_{n}_gram_char_share"] = share(chars[:, n, kernel.TOP], words.chars)
        for n in self.dup_ngrams:
            values[f"dup_{n}_gram_char_share"] = share(chars[:, n, kernel.ALL], words.chars)
            values[f"later_{n}_gram_char_share"] = share(chars[:, n, kernel.LATER], words.chars)
        return self.record_batch(values)


def _repeats(spans: Spans) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Share of spans that stood earlier in their document, by number and by characters."""
    repeated_chars = spans.sum_by_document(spans.spans[:, CHARS] * spans.repeats)
    return (
        share(spans.sum_by_document(spans.repeats), spans.counts),
        share(repeated_chars, spans.chars),
    )
