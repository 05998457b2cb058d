"""What a text is made of, by the kinds of its lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.signals.base import SignalFamily, share

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

SHARES: Mapping[str, tuple[str, ...]] = {
    "code_share": ("code",),
    "list_share": ("list_item",),
    "table_share": ("table_row",),
    "heading_share": tuple(f"heading_{level}" for level in range(1, 7)),
    "quotation_share": ("quotation",),
    "formula_share": ("formula",),
}
"""Of each signal the kinds of lines that it counts."""


class Structure(SignalFamily):
    """Shares of a text's characters in lines of one kind: `code_share`, `list_share`,
    `table_share`, `heading_share`, `quotation_share`, `formula_share` (formulas that stand on lines of
    their own); `posts`: how many posts and comments begin in it.

    Kinds come from the engine `blocks`, from Markdown and from source code. Null where nothing is
    known.
    """

    version: ClassVar[int] = 1

    family: Literal["structure"] = "structure"

    def columns(self) -> ColumnTypes:
        return {**dict.fromkeys(SHARES, "float32"), "posts": "int64"}

    def of_documents(self) -> tuple[str, ...]:
        return ("line_kinds",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        from corpus_assets.text.line_kinds import chars_by_kind, has_known_kinds, lines_of_kind

        unknown = ~has_known_kinds(batch)
        values = {
            name: share(chars_by_kind(batch, *kinds), batch.lines.chars)
            for name, kinds in SHARES.items()
        }
        columns = {name: pa.array(value, mask=unknown) for name, value in values.items()}
        posts = pa.array(lines_of_kind(batch, "post"), mask=unknown)
        return self.record_batch(columns | {"posts": posts})
