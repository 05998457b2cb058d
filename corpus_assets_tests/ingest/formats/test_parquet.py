import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats.parquet import read_parquet
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.source import FieldNames, SourceSpec

FIELDS = FieldNames(key="id", url="url")
TABLE = pa.table(
    {
        "id": list(range(300)),
        "url": [f"http://a.test/{n}" for n in range(300)],
        "text": [f"row {n} " * 20 for n in range(300)],
        "unused": [b"x"] * 300,
    }
)


def written(table: pa.Table = TABLE) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=100, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def spec(fields: FieldNames) -> SourceSpec:
    return SourceSpec(name="rows", format="parquet", fields=fields)


def read(data: bytes, fields: FieldNames = FIELDS) -> list[RawRecord]:
    return list(read_parquet(io.BytesIO(data), "a.parquet", spec(fields)))


def test_rows_of_all_groups_are_read_in_order() -> None:
    found = read(written())
    assert [each.text for each in found] == TABLE["text"].to_pylist()
    assert [each.offset for each in found] == list(range(300))
    assert found[7].url == "http://a.test/7"
    assert found[7].key == "7"


def test_a_broken_row_group_is_one_damaged_record_and_the_next_group_is_read() -> None:
    data = bytearray(written())
    column = pq.ParquetFile(io.BytesIO(bytes(data))).metadata.row_group(1).column(2)
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    found = read(bytes(data))
    assert [each.damage for each in found].count("damaged_record") == 1
    assert found[100].key == "a.parquet@100"
    assert [each.offset for each in found] == [*range(101), *range(200, 300)]


def test_a_missing_column_is_an_error_that_names_the_columns_there_are() -> None:
    with pytest.raises(SourceError, match="no column 'content' but id, url, text"):
        read(written(), FieldNames(text="content"))


def test_a_file_that_is_no_parquet_is_an_error() -> None:
    with pytest.raises(SourceError, match="not a readable Parquet file"):
        read(b"PAR1 nothing")
