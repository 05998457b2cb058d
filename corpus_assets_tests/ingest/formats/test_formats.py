"""A source format is one file: `new_format.py` is put beside the others, and that is all."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from catalog.cli.commands import main as catalog
from corpus_assets.cli.main import main as corpus
from corpus_assets.core.errors import SourceError
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest import formats
from corpus_assets.ingest.documents import ingest_part
from corpus_assets.ingest.entry import SourceEntry
from corpus_assets.ingest.formats import FORMATS, format_of, read_records
from corpus_assets.ingest.listing import list_files, list_names
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.suppressions import Suppressions

RECIPE = """\
name: verse
seed: 7
sources:
  - {name: verse, format: poems, domain: books, snapshots: {first: tides.poem}}
signals:
  families: [{family: gopher_quality}]
selection:
  rules: [{name: word_count, signal: n_words, min: 3}]
tokenizer:
  train: {vocab_size: 300, special_slots: 2}
  audit: {max_unused_share: 0.5}  # of forty short stanzas
shards:
  seq_len: 64
mixture:
  block_samples: 8
  max_epochs: 100
"""
NEW = Path(__file__).with_name("new_format.py")
SHIPPED = {
    "code": ("",),
    "jsonl": (
        ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".json.zst",
        ".ndjson", ".ndjson.gz", ".ndjson.zst",
    ),
    "parquet": (".parquet",),
    "text": (".txt", ".text", ".md", ".markdown", ".ipynb"),
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
    yield
    sys.modules.pop("corpus_assets.ingest.formats.poems", None)
    vars(formats).pop("poems", None)


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


def test_a_format_in_one_file_is_built_and_its_originals_are_shown(
    with_poems: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stanzas = [
        f"Line one of stanza {n} speaks of the sea and its {n} tides, "
        f"while line two, in its turn, tells how boat {n} came home at dusk.".encode()
        for n in range(40)
    ]
    (tmp_path / "tides.poem").write_bytes(b"\n\n".join(stanzas))
    (tmp_path / "verse.yaml").write_text(RECIPE)
    home = ["--home", str(tmp_path / "home")]
    assert corpus(["build", str(tmp_path / "verse.yaml"), *home, "--workers", "1"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit) as done:
        catalog(["sql", "SELECT doc_id, url_key FROM records", "--json", *home])
    assert not done.value.code
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == len(stanzas)
    shown = []
    for doc_id, key in rows:
        with pytest.raises(SystemExit) as done:
            catalog(["raw", doc_id, "-o", str(tmp_path / "stanza"), *home])
        assert not done.value.code
        number = int(key.partition("#")[2])
        assert (tmp_path / "stanza").read_bytes() == stanzas[number]
        shown.append(number)
    assert sorted(shown) == list(range(40))


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
    with pytest.raises(ValueError, match="there is a 'text' already"):
        list(FORMATS)
