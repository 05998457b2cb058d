"""Surplus white space, cut out of the text."""

from typing import ClassVar, Literal

import pyarrow as pa

from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.kernels import squeeze as kernel
from corpus_assets.signals.text_step import Rewriting, TextStep, cut


class SqueezeSpaces(TextStep):
    """Leaves one white space character of a run, one empty line between paragraphs, none at the
    ends of lines and texts. Indentation stays as it is.

    `squeezed_chars`: white space that was cut out.
    """

    version: ClassVar[int] = 2

    family: Literal["squeeze_spaces"] = "squeeze_spaces"

    def columns(self) -> dict[str, pa.DataType]:
        return {"squeezed_chars": pa.int64()}

    def rewrite(self, batch: TextBatch) -> Rewriting:
        gone, counts = kernel.surplus(batch.data, batch.offsets)
        pieces, rows = kernel.kept_pieces(gone, batch.offsets)
        columns = self.record_batch({"squeezed_chars": counts})
        return Rewriting(cut(batch, pieces, rows), pieces, rows, columns)
