"""Parquet, read a few rows at a time. A record's offset is its row number, from 0.

A row group that cannot be read costs itself: what is left of it is one `damaged_record`, and the
next group goes on.
"""

import json
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats.base import FileFormat, Original, Place
from corpus_assets.ingest.formats.rows import record_of_row
from corpus_assets.ingest.records import RawRecord, SourceFile, damaged
from corpus_assets.ingest.source import SourceSpec

BATCH_ROWS = 64


def read_parquet(stream: BinaryIO, name: str, spec: SourceSpec) -> Iterator[RawRecord]:
    """All rows of a seekable file; only mapped columns are read."""
    file = _open(stream, name)
    known = file.schema_arrow.names
    wanted = [
        column if column in known else column.partition(".")[0] for column in spec.fields.columns()
    ]
    missing = [column for column in wanted if column not in known]
    if missing:
        raise SourceError(
            f"{name}: has no column {missing[0]!r} but {', '.join(known)}; correct `fields`"
        )
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        done = 0
        try:
            batches = file.iter_batches(
                BATCH_ROWS,
                row_groups=[group],
                columns=list(dict.fromkeys(wanted)),
                use_threads=False,
            )
            for batch in batches:
                for row in batch.to_pylist():
                    record = record_of_row(row, name, spec, first + done, 0)
                    done += 1
                    yield record
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            yield damaged(name, first + done, 0, f"row_group {group} {type(error).__name__}")
        first += rows


def row_at(stream: BinaryIO, part: SourceFile, place: Place) -> Original:
    """Read a row again, as a line of JSON; the rest of its row group is read with it."""
    file = _open(stream, part.name)
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if place.offset < first + rows:
            try:
                (row,) = file.read_row_group(group).slice(place.offset - first, 1).to_pylist()
            except (pa.ArrowException, OSError) as error:
                raise SourceError(f"{part.name}: row group {group} is damaged") from error
            line = (json.dumps(row, default=str, ensure_ascii=False) + "\n").encode()
            return Original(line, line)
        first += rows
    raise place.missing(part)


def _open(stream: BinaryIO, name: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(stream)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{name}: not a readable Parquet file ({type(error).__name__}); fetch it again"
        ) from error


PARQUET = FileFormat(
    "parquet",
    (".parquet",),
    lambda stream, name, spec, _max_bytes: read_parquet(stream, name, spec),
    row_at,
)
