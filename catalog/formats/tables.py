"""What a table is: named columns, each with its Arrow type and what it means.

Tables are declared once (`lineage_tables.py`, and in the pipeline `core/tables.py`). The schemas of
files, the tables of `catalog sql`, what Dagster shows of columns and the reference page derive from
the declarations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

ID = pa.binary(16)
"""Documents, texts and clusters by their ids: bytes in files, hex on screen."""


@dataclass(frozen=True)
class Column:
    """One column; `meaning` is a sentence for people."""

    name: str
    type: pa.DataType
    meaning: str

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.type)


@dataclass(frozen=True)
class Table:
    """One table, and the file of a part, snapshot or shard that holds its rows."""

    name: str
    file: str  # a `*` stands for a number or a name
    about: str
    columns: tuple[Column, ...]
    sometimes: tuple[Column, ...] = ()
    """Columns that only some recipes or sources bring."""
    placed: tuple[Column, ...] = ()
    """Columns that the registry adds to the file's own: where the file is from."""
    is_open: bool = False
    """Whether files of one version can differ in what they have beside `columns`."""

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns that every file has."""
        return pa.schema([column.field for column in self.columns])

    @property
    def shown(self) -> Sequence[Column]:
        """Columns that every query can name."""
        return (*self.columns, *self.placed)

    @property
    def ids(self) -> Sequence[str]:
        """Columns that people see as hex."""
        return [column.name for column in self.columns if column.type == ID]

    def column(self, name: str) -> Column:
        """Return a column by its name, be it one of `sometimes`."""
        return next(each for each in (*self.shown, *self.sometimes) if each.name == name)
