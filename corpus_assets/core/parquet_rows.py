"""A few rows of a Parquet file, without reading the rest of it."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_rows(path: Path, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Return rows, given in order, of those columns that the file has; one row group at a time."""
    file = pq.ParquetFile(path)
    present = [name for name in columns if name in file.schema_arrow.names]
    tables = [pa.schema([file.schema_arrow.field(name) for name in present]).empty_table()]
    first = 0
    for group in range(file.num_row_groups):
        stop = first + file.metadata.row_group(group).num_rows
        inside = pa.array([row - first for row in rows if first <= row < stop], pa.int64())
        if len(inside):
            tables.append(file.read_row_group(group, present, use_threads=False).take(inside))
        first = stop
    return pa.concat_tables(tables)
