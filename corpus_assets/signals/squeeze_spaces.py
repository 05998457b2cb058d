"""Surplus white space, cut out of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.text_step import Rewriting, TextStep, cut

if TYPE_CHECKING:
    from corpus_assets.text.batch import TextBatch


class SqueezeSpaces(TextStep):
    """Leaves one white space character of a run, one empty line between paragraphs, none at the
    ends of lines and texts. Indentation stays as it is.

    `squeezed_chars`: white space that was cut out.
    """

    version: ClassVar[int] = 2

    family: Literal["squeeze_spaces"] = "squeeze_spaces"

    def columns(self) -> ColumnTypes:
        return {"squeezed_chars": "int64"}

    def rewrite(self, batch: TextBatch) -> Rewriting:
        from corpus_assets.signals.kernels import squeeze as kernel

        gone, counts = kernel.surplus(batch.data, batch.offsets)
        pieces, rows = kernel.kept_pieces(gone, batch.offsets)
        columns = self.record_batch({"squeezed_chars": counts})
        return Rewriting(cut(batch, pieces, rows), pieces, rows, columns)
