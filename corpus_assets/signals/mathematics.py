"""Density of mathematics: LaTeX, formulas, operators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import CountsWords, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch


class Mathematics(CountsWords):
    """Marks of mathematical writing, after the prefilters of OpenWebMath (Paster et al. 2023).

    * `latex_commands`: `\\\\` with letters behind it; `latex_command_ratio`: for each word;
      `latex_environments`: `\\\\begin{`;
    * `formulas`: `$...$` in a line and `$$...$$`, at most 1,000 bytes; prices are none, because
      white space inside the dollars or a digit behind them ends the search;
      `formula_char_share`: their characters, of all;
    * `operator_char_share`: characters of Unicode's category Sm (`+ < = > | ~` and the operators
      of mathematics); `operator_and_digit_share`: with decimal digits.
    """

    version: ClassVar[int] = 1

    family: Literal["mathematics"] = "mathematics"

    def columns(self) -> ColumnTypes:
        return {
            "latex_commands": "int64",
            "latex_command_ratio": "float32",
            "latex_environments": "int64",
            "formulas": "int64",
            "formula_char_share": "float32",
            "operator_char_share": "float32",
            "operator_and_digit_share": "float32",
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        from corpus_assets.signals.kernels import char_counts
        from corpus_assets.signals.kernels import mathematics as kernel
        from corpus_assets.text.unicode import DIGIT, MATHEMATICS, class_table

        found = kernel.formula_counts(batch.data, batch.offsets)
        of = char_counts.class_counts(batch.data, batch.offsets, class_table())
        operators = of[:, MATHEMATICS.bit_length() - 1]
        digits = of[:, DIGIT.bit_length() - 1]
        return self.record_batch(
            {
                "latex_commands": found[:, kernel.COMMANDS],
                "latex_command_ratio": share(
                    found[:, kernel.COMMANDS], self.words_of(batch).counts
                ),
                "latex_environments": found[:, kernel.ENVIRONMENTS],
                "formulas": found[:, kernel.FORMULAS],
                "formula_char_share": share(found[:, kernel.FORMULA_CHARS], batch.n_chars),
                "operator_char_share": share(operators, batch.n_chars),
                "operator_and_digit_share": share(operators + digits, batch.n_chars),
            }
        )
