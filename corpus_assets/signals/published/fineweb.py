"""Line statistics of the FineWeb quality filter (Penedo et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import MeasuresLines, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

SHORT_LINE_CHARS = 30


class FineWeb(MeasuresLines):
    """How a page's lines end and how long they are; defaults of the authors' code in brackets.

    * `terminal_line_share` (above 0.12): lines that end in a sentence terminal of any script
      (Unicode 14's Sentence_Terminal), or in one of `extra_terminal_marks`;
    * `short_line_share` (below 0.67): lines of at most 30 characters;
    * `fineweb_dup_line_char_share` (below 0.01): characters of lines that stood earlier in
      the document, of all characters but line ends;
    * `newline_to_word_ratio` (at most 0.3): line ends for each word.

    Lines are stripped and blank ones left out. `signals.measured_lines: prose` measures those of
    running text alone.
    """

    version: ClassVar[int] = 1

    family: Literal["fineweb"] = "fineweb"
    extra_terminal_marks: str = Field(
        default="", description="additional quotation marks, for C4 and the first FineWeb"
    )

    def columns(self) -> ColumnTypes:
        return {
            "terminal_line_share": "float32",
            "short_line_share": "float32",
            "fineweb_dup_line_char_share": "float32",
            "newline_to_word_ratio": "float32",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np

        from corpus_assets.signals.kernels import text_counts as kernel
        from corpus_assets.text.unicode import sentence_terminals

        batch = self.measured(batch)
        lines = batch.lines
        extra = np.array([ord(mark) for mark in self.extra_terminal_marks], dtype=np.int32)
        counts = kernel.line_counts(
            batch.data,
            lines.spans,
            lines.rows,
            lines.repeats,
            np.union1d(sentence_terminals(), extra),
            SHORT_LINE_CHARS,
        )
        line_chars = batch.n_chars - batch.n_newlines
        return self.record_batch(
            {
                "terminal_line_share": share(counts[:, kernel.TERMINAL_LINES], lines.counts),
                "short_line_share": share(counts[:, kernel.SHORT_LINES], lines.counts),
                "fineweb_dup_line_char_share": share(
                    counts[:, kernel.REPEATED_LINE_CHARS], line_chars
                ),
                "newline_to_word_ratio": share(batch.n_newlines, self.words_of(batch).counts),
            }
        )
