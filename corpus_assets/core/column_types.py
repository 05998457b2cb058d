"""Types of columns by name, as settings state them: reading a recipe needs no Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

ColumnType: TypeAlias = (
    "Literal['string', 'int32', 'int64', 'float32', 'float64'] | Mapping[str, ColumnType]"
)
"""Arrow's name of a type; of a struct the types of its members by their names."""

ColumnTypes: TypeAlias = "Mapping[str, ColumnType]"


def arrow_type(kind: ColumnType) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, str):
        return pa.type_for_alias(kind)
    return pa.struct([(name, arrow_type(member)) for name, member in kind.items()])


def arrow_schema(columns: ColumnTypes) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, arrow_type(kind)) for name, kind in columns.items()])


def column_types(schema: pa.Schema) -> ColumnTypes:
    """What rules and groups know of stored columns: labels are `string`, numbers `float64`."""
    return {field.name: _column_type(field.type) for field in schema}


def _column_type(kind: pa.DataType) -> ColumnType:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return {member.name: _column_type(member.type) for member in kind}
    is_label = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return "string" if is_label else "float64"
