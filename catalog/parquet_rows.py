"""Single rows of Parquet files: only the row groups that can hold them are read.

A row group of a thousand records takes a millisecond; opening a file and reading its footer
takes less. The footers of the last files stay open.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.errors import StoreFileError
from catalog.files import Store

OPEN_FILES = 256

Row = dict[str, Any]
Answer = TypeVar("Answer")


class _File:
    """An open file and what its footer says."""

    def __init__(self, store: Store, path: str) -> None:
        self._stack = ExitStack()
        if store.is_local:
            mapped = self._stack.enter_context(pa.memory_map(store.address(path)))
            self.parquet = pq.ParquetFile(mapped)
        else:
            handle = self._stack.enter_context(store.open(path))
            self.parquet = pq.ParquetFile(handle, pre_buffer=True)
        meta = self.parquet.metadata
        sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self.starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self._ranges: dict[str, list[tuple[Any, Any] | None]] = {}

    def close(self) -> None:
        self.parquet.close()
        self._stack.close()

    def groups_with(self, column: str, values: Sequence[Any]) -> list[int]:
        """Row groups whose statistics do not rule all of `values` out."""
        if column not in self._ranges:
            meta = self.parquet.metadata
            number = meta.schema.names.index(column)
            found: list[tuple[Any, Any] | None] = []
            for group in range(meta.num_row_groups):
                known = meta.row_group(group).column(number).statistics
                has_range = known is not None and known.has_min_max
                found.append((known.min, known.max) if has_range else None)
            self._ranges[column] = found
        return [
            group
            for group, span in enumerate(self._ranges[column])
            if span is None or any(span[0] <= value <= span[1] for value in values)
        ]


class ParquetRows:
    """Rows of the store's Parquet files, by number or by value. Close it when done."""

    def __init__(self, store: Store, advice: str, most: int = OPEN_FILES) -> None:
        self._store = store
        self._advice = advice
        self._most = most
        self._open: OrderedDict[str, _File] = OrderedDict()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def take(
        self, path: str, numbers: npt.NDArray[np.int64], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of one file by ascending number."""

        def read(file: _File) -> pa.Table:
            groups = np.searchsorted(file.starts, numbers, side="right") - 1
            wanted = np.unique(groups).tolist()
            table = file.parquet.read_row_groups(wanted, _listed(columns), use_threads=False)
            sizes = np.diff(file.starts)
            first = np.zeros(len(sizes), np.int64)
            first[wanted] = np.append(0, np.cumsum(sizes[wanted])[:-1])
            inside = numbers - file.starts[groups] + first[groups]
            if len(inside) == 1:  # the usual case, and a slice copies nothing
                taken = table.slice(int(inside[0]), 1)
            else:
                taken = table.take(pa.array(inside))
            return taken if columns is None else taken.select(list(columns))

        return self._reading(path, read)

    def where(
        self, path: str, column: str, values: Sequence[Any], columns: Sequence[str] | None = None
    ) -> list[Row]:
        """Rows of one file whose `column` is one of `values`, in the file's order."""

        def read(file: _File) -> list[Row]:
            groups = file.groups_with(column, values)
            if not groups:
                return []
            listed = _listed(columns)
            wanted = None if listed is None else list(dict.fromkeys([*listed, column]))
            table = file.parquet.read_row_groups(groups, wanted, use_threads=False)
            wanted_values = pa.array(values, table[column].type)
            hits = table.filter(pc.is_in(table[column], value_set=wanted_values))
            rows: list[Row] = (hits if listed is None else hits.select(listed)).to_pylist()
            return rows

        return self._reading(path, read)

    def _reading(self, path: str, read: Callable[[_File], Answer]) -> Answer:
        try:
            return read(self._file(path))
        except (pa.ArrowException, OSError, IndexError, ValueError, KeyError) as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise StoreFileError(f"{path} cannot be read: {line}; {self._advice}") from error

    def _file(self, path: str) -> _File:
        found = self._open.pop(path, None)
        if found is None:
            while len(self._open) >= self._most:
                self._open.popitem(last=False)[1].close()
            found = _File(self._store, path)
        self._open[path] = found
        return found


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)
