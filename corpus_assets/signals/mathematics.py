"""Density of mathematics: LaTeX, formulas, operators."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa

from corpus_assets.signals.base import CountsWords, TextBatch, share
from corpus_assets.signals.kernels import char_counts
from corpus_assets.signals.kernels import mathematics as kernel
from corpus_assets.text.unicode import DIGIT, MATHEMATICS, class_table


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

    def columns(self) -> dict[str, pa.DataType]:
        return {
            "latex_commands": pa.int64(),
            "latex_command_ratio": pa.float32(),
            "latex_environments": pa.int64(),
            "formulas": pa.int64(),
            "formula_char_share": pa.float32(),
            "operator_char_share": pa.float32(),
            "operator_and_digit_share": pa.float32(),
        }

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
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
