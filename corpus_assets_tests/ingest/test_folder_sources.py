import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.folder_sources import FolderSource, find_sources
from corpus_assets.ingest.formats.guessed_fields import guess_fields
from corpus_assets_tests.ingest.warc_bytes import members, page

PROSE = "A sentence that is long enough to be taken for the text of a document, and not for a name."


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def found(folder: Path) -> dict[str, FolderSource]:
    return {source.locations[0]: source for source in find_sources(folder)[0]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crawl" / "deep").mkdir(parents=True)
    for name in ("papers", "notes", "tool/src", "tool/.git"):
        (tmp_path / name).mkdir(parents=True)
    pages = members(page("https://a.example/1"), page("https://a.example/2"))
    (tmp_path / "crawl" / "deep" / "a.warc.gz").write_bytes(pages)
    (tmp_path / "crawl" / "a.warc.wet.gz").write_bytes(b"")
    rows = [{"id": n, "content": PROSE, "license": "MIT", "year": 2020} for n in range(500)]
    with gzip.open(tmp_path / "papers" / "p.jsonl.gz", "wt") as stream:
        stream.write(lines(*rows))
    table = pa.table({"body": [PROSE] * 7, "link": ["https://a.example/"] * 7})
    pq.write_table(table, tmp_path / "table.parquet")
    (tmp_path / "rows.json").write_text(lines({"text": PROSE}, {"text": PROSE}))
    (tmp_path / "pretty.json").write_text(json.dumps({"text": PROSE}, indent=1))
    for name in (
        "notes/a.md",
        "notes/b.txt",
        "notes/hook.py",
        "tool/src/main.py",
        "tool/README.md",
    ):
        (tmp_path / name).write_text(PROSE)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / ".hidden.jsonl").write_text(lines({"text": PROSE}))
    return tmp_path


def test_sources_of_every_format_are_found_by_sub_folder(folder: Path) -> None:
    sources = found(folder)
    assert {location: source.format for location, source in sources.items()} == {
        "crawl/a.warc.wet.gz": "wet",
        "crawl/deep/a.warc.gz": "warc",
        "notes/": "text",
        "papers/p.jsonl.gz": "jsonl",
        "rows.json": "jsonl",
        "table.parquet": "parquet",
        "tool/": "code",
    }
    assert sources["papers/p.jsonl.gz"].fields == {
        "text": "content", "key": "id", "licence": "license",
    }  # fmt: skip
    assert sources["papers/p.jsonl.gz"].other_columns == ("year",)
    assert sources["table.parquet"].fields == {"text": "body", "url": "link"}
    assert sources["tool/"].files == 2  # a repository's README is a part of it
    assert sources["crawl/deep/a.warc.gz"].records == 2


def test_what_is_no_source_is_named_with_advice(folder: Path) -> None:
    left_out = {each.kind: each for each in find_sources(folder)[1]}
    assert set(left_out) == {".json", ".pdf", "code beside text"}
    assert left_out[".pdf"].advice == "extract its text"


def test_the_number_of_records_is_estimated_from_the_first_ones(tmp_path: Path) -> None:
    many = [{"text": PROSE + str(n)} for n in range(5000)]
    (tmp_path / "plain.jsonl").write_text(lines(*many))
    (source,) = find_sources(tmp_path)[0]
    assert 2500 < source.records < 10_000


def test_tables_with_other_columns_are_other_sources(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "a.jsonl").write_text(lines({"text": PROSE}))
    (tmp_path / "all" / "b.jsonl").write_text(lines({"body": PROSE}))
    sources = found(tmp_path)
    assert {place: source.fields["text"] for place, source in sources.items()} == {
        "all/a.jsonl": "text",
        "all/b.jsonl": "body",
    }


def test_damaged_tables_are_named_and_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but not really")
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe not json\n")
    (tmp_path / "c.jsonl.gz").write_bytes(b"not gzip")
    (tmp_path / "d.jsonl").write_text(lines({"count": 1}))
    (tmp_path / "e.jsonl").write_text("[" * 100_000 + "\n")
    (tmp_path / "f.jsonl").write_text(lines({"text": PROSE}) + "not json\n")
    sources, left_out = find_sources(tmp_path)
    assert [source.locations for source in sources] == [("f.jsonl",)]
    assert {each.kind: each.files for each in left_out} == {
        "table without text": 1,
        "unreadable": 4,
    }


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "a.txt").write_text(PROSE)
    os.symlink(outside, inside / "linked")
    os.symlink(outside / "a.txt", inside / "a.txt")
    assert find_sources(inside) == ([], [])


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(PROSE)
    with pytest.raises(SourceError, match="not a folder"):
        find_sources(tmp_path / "a.txt")


def test_columns_are_told_by_their_values_too() -> None:
    rows = [
        {"id": "same", "uuid": f"u{n}", "url": "a name", "link": f"http://a.example/{n}",
         "meta": {"title": "A title", "lang": "en"}, "story": PROSE, "score": 0.5}
        for n in range(5)
    ]  # fmt: skip
    assert guess_fields(rows) == {
        "text": "story",
        "url": "link",
        "key": "uuid",
        "title": "meta.title",
        "language": "meta.lang",
    }


def test_conversations_have_messages_and_no_text() -> None:
    turns = [{"role": "user", "content": PROSE}]
    assert guess_fields([{"messages": turns, "prompt": PROSE}]) == {"messages": "messages"}
    assert "messages" not in guess_fields([{"messages": "a list would be", "text": PROSE}])


def test_short_columns_are_no_text() -> None:
    assert guess_fields([{"label": "a name", "count": 3}]) == {}
    assert guess_fields([]) == {}
