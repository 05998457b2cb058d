"""Released annotations as signals: a table of others, joined by address, text or document.

`corpus signals import` turns a file into an import: an Arrow file of the store, sorted by a hash of
its keys, which a task maps into memory and searches. A recipe names it by the digest that it had
when it was imported. A takedown takes rows out of it (`redact_imports`): these rows could only speak of
what was taken down, so the digest stays the import's name, and what lies there now has one of its
own beside it (ADR 33).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from corpus_assets.core.column_types import ColumnType, ColumnTypes, arrow_schema
from corpus_assets.core.errors import ModelError
from corpus_assets.signals.base import SignalFamily, model_path

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

IMPORT = "import:"
"""Begins the names in `SignalFamily.needs` that are imports: `import:SHA256`."""

KeyKind = Literal["url", "text_id", "doc_id"]
COLUMN_OF: Mapping[str, str] = {"url": "url_key", "text_id": "text_id", "doc_id": "doc_id"}
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


def type_of(kind: Any) -> ColumnType:
    """Return the type of a column as a recipe states it."""
    if isinstance(kind, Mapping):
        return {name: type_of(member) for name, member in kind.items()}
    return "string" if kind == "label" else "float64"


class Imported(SignalFamily):
    """ColumnTypes of released annotations that `corpus signals import` brought in, under their names;
    null for documents without a row."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    version: ClassVar[int] = 1

    family: Literal["imported"] = "imported"
    name: Name = Field(default="imported", description="name of the import in reports")
    sha256: str = Field(
        default="",
        pattern=r"^[0-9a-f]{64}$",
        description="digest that `corpus signals import` printed",
    )
    key: KeyKind = Field(
        default="url",
        description="what rows are joined by",
    )
    columns_: dict[Name, Any] = Field(
        default={},
        alias="columns",
        min_length=1,
        description="columns to use: `label`, `number`, or a mapping of members for a struct",
    )

    @field_validator("columns_")
    @classmethod
    def _are_known_kinds(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, kind in value.items():
            if isinstance(kind, dict):
                cls._are_known_kinds(kind)
            elif kind not in ("label", "number"):
                raise ValueError(f"{name}: expected label, number or a mapping of members")
        return value

    def columns(self) -> ColumnTypes:
        return {name: type_of(kind) for name, kind in self.columns_.items()}

    def needs(self) -> tuple[str, ...]:
        return (f"{IMPORT}{self.sha256}",)

    def of_documents(self) -> tuple[str, ...]:
        return (COLUMN_OF[self.key],)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        from corpus_assets.signals.import_tables import find_rows, key_texts, kind_of, load_import

        table = load_import(model_path(models, f"{IMPORT}{self.sha256}", self.family))
        wrong = [
            field.name
            for field in arrow_schema(self.columns())
            if field.name not in table.schema.names
            or table.schema.field(field.name).type != field.type
        ]
        if wrong:
            known = {n: kind_of(table.schema.field(n).type) for n in table.schema.names[2:]}
            raise ModelError(
                f"signals.families ({self.name}): the import has no {wrong[0]!r} of this kind; it "
                f"has {known}"
            )
        rows = find_rows(table, key_texts(batch.columns[COLUMN_OF[self.key]]))
        places = pa.array(rows, mask=rows < 0)
        return self.record_batch({name: table.column(name).take(places) for name in self.columns()})

    def covered(self, signals: pa.Table) -> int:
        """Count the documents with a row, among their signals."""

        import numpy as np
        import pyarrow.compute as pc

        there = np.zeros(signals.num_rows, np.bool_)
        for name in self.columns_:
            there |= pc.is_valid(signals[name]).to_numpy()
        return int(there.sum())


# Imports in the store.
