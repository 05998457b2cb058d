"""What derives from the declarations of tables agrees with the files that have their rows."""

from pathlib import Path

import duckdb
import pytest

from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.lineage.scans import empty_table
from catalog.lineage.tables import Lineage
from corpus_assets.core.task import parquet_bytes
from corpus_assets_tests.catalog.corpus import Corpus


@pytest.mark.parametrize("name", LINEAGE_TABLES)
def test_a_table_without_files_has_the_types_of_its_files(name: str, tmp_path: Path) -> None:
    table, file = LINEAGE_TABLES[name], tmp_path / "rows.parquet"
    file.write_bytes(parquet_bytes(table.schema.empty_table()))
    with duckdb.connect() as database:
        empty = database.sql(f"FROM {empty_table(name)}")
        written = database.sql(f"FROM read_parquet('{file}')")
        count = len(table.columns)
        assert empty.columns == [column.name for column in table.shown]
        assert list(zip(empty.columns, empty.types, strict=True))[:count] == list(
            zip(written.columns, written.types, strict=True)
        )
        assert [str(kind) for kind in empty.types[count:]] == [
            {"part": "INTEGER"}.get(column.name, "VARCHAR") for column in table.placed
        ]


@pytest.mark.parametrize("name", LINEAGE_TABLES)
def test_a_view_has_the_declared_columns(name: str, corpus: Corpus) -> None:
    with Lineage(corpus.registry, corpus.store, "v1") as lineage:
        lineage.create_views()
        shown = lineage.connection.sql(f"FROM {name}")
        kinds = dict(zip(shown.columns, map(str, shown.types), strict=True))
        raw = lineage.connection.sql(f"FROM raw.{name}").columns
    declared = LINEAGE_TABLES[name]
    assert {column.name for column in declared.shown} <= set(raw)
    assert declared.ids
    assert {kinds[column] for column in declared.ids} == {"VARCHAR"}


def test_files_are_looked_up_for_the_tables_that_a_question_names(corpus: Corpus) -> None:
    with Lineage(corpus.registry, corpus.store, "v1") as lineage:
        assert not lineage.files
        assert lineage.ask("SELECT count(*) AS n FROM records")
        assert set(lineage.files) == {"records"}
