"""Surplus white space and marks of lost characters, cut out of the text."""

from typing import ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.kernels import squeeze as kernel
from corpus_assets.signals.text_step import Rewriting, TextStep, cut


class SqueezeSpaces(TextStep):
    """Leaves one white space character of a run, one empty line between paragraphs, none at the
    ends of lines and texts. Indentation stays as it is.

    * `squeezed_chars`: white space that was cut out;
    * `cut_replacement_chars`: U+FFFD that was cut out.
    """

    version: ClassVar[int] = 1

    family: Literal["squeeze_spaces"] = "squeeze_spaces"
    cut_replacements: bool = Field(
        default=False, description="cut U+FFFD out too, which stands where a character was lost"
    )

    def columns(self) -> dict[str, pa.DataType]:
        return {"squeezed_chars": pa.int64(), "cut_replacement_chars": pa.int64()}

    def rewrite(self, batch: TextBatch) -> Rewriting:
        gone, counts = kernel.surplus(batch.data, batch.offsets, self.cut_replacements)
        pieces, rows = kernel.kept_pieces(gone, batch.offsets)
        columns = {
            "squeezed_chars": counts[:, kernel.SPACES],
            "cut_replacement_chars": counts[:, kernel.REPLACEMENTS],
        }
        return Rewriting(cut(batch, pieces, rows), pieces, rows, self.record_batch(columns))
