"""A source format is one file: `new_format.py` is put beside the others, and that is all."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import SourceError
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest import formats
from corpus_assets.ingest.documents import IngestSettings, ingest_part
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.formats import FORMATS, find_formats, format_of, read_records
from corpus_assets.ingest.listing import list_files, list_names
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.suppressions import Suppressions

NEW = Path(__file__).with_name("new_format.py")
SHIPPED = {
    "code": ("",),
    "jsonl": (
        ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".json.zst",
        ".ndjson", ".ndjson.gz", ".ndjson.zst",
    ),
    "parquet": (".parquet",),
    "text": (".txt", ".text", ".md", ".markdown"),
    "warc": (".warc", ".warc.gz", ".wet", ".wet.gz"),
    "wet": (".wet", ".wet.gz"),
}  # fmt: skip


@pytest.fixture
def with_poems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of formats as it is with the new file in it."""
    folder = tmp_path / "formats"
    folder.mkdir()
    shutil.copy(NEW, folder / "poems.py")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    for name, found in find_formats().items():
        monkeypatch.setitem(FORMATS, name, found)
    yield
    sys.modules.pop("corpus_assets.ingest.formats.poems")
    del formats.poems  # type: ignore[attr-defined]


def test_the_formats_that_are_shipped_and_the_files_they_take() -> None:
    assert {name: found.suffixes for name, found in FORMATS.items()} == SHIPPED
    assert [name for name, found in FORMATS.items() if found.is_folder] == ["code", "text"]
    assert [name for name, found in FORMATS.items() if found.is_web_archive] == ["warc", "wet"]


def test_a_format_in_one_file_is_listed_and_ingested(with_poems: None, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "tides.poem").write_bytes(b"The sea comes in,\nthe sea goes out.\n\n\xff\n\nAgain.")
    (source / "notes.txt").write_text("not a poem")
    entry = SourceEntry(name="verse", format="poems", snapshots={"s": str(source)})
    assert entry.identity()["format"] == "poems"
    [file] = list_files(entry, str(source), "s")
    assert [name for name, _ in list_names(str(source), "poems")] == ["tides.poem"]
    records, documents = ingest_part(
        entry, "s", 0, file, IngestSettings(), Blocklist(), Suppressions.from_rows([])
    )
    rows = sorted(records.to_pylist(), key=lambda row: row["offset"])
    assert [row["url_key"] for row in rows if not row["reason"]] == [
        "verse:tides.poem#0", "verse:tides.poem#2"
    ]  # fmt: skip
    assert [(row["reason"], row["detail"]) for row in rows if row["reason"]] == [
        ("damaged_record", "not_utf8")
    ]
    assert "Again." in documents["text"].to_pylist()


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(
        ValidationError, match="Input should be 'code', 'jsonl'.*input_value='poems'"
    ):
        SourceEntry(name="verse", format="poems", snapshots={"s": "."})
    spec = SourceSpec(name="verse", format="poems")
    for ask in (
        lambda: format_of("poems"),
        lambda: list(read_records(spec, SourceFile("a", "a", 0, ""), 1)),
        lambda: list_files(spec, ".", "s"),
    ):
        with pytest.raises(SourceError, match="'poems' is not a source format; known are code, j"):
            ask()


def test_two_formats_of_one_name_are_refused(
    with_poems: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = NEW.read_text().replace('"poems"', '"text"')
    (tmp_path / "formats" / "poems.py").write_text(text)
    sys.modules.pop("corpus_assets.ingest.formats.poems")
    with pytest.raises(ValueError, match="there is a format 'text' already"):
        find_formats()
