"""`catalog raw`: the original record of any document, from the file that it came from."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.crawl_server import CrawlServer, crawl_files
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST
from corpus_assets_tests.ingest.crawl.crawl_corpus import Place as CrawlPlace
from corpus_assets_tests.ingest.warc_bytes import member
from corpus_assets_tests.small_corpus import first_crawl


def run(place: Place, *words: str) -> int:
    with pytest.raises(SystemExit) as done:
        catalog([*words, "--home", str(place.home)])
    return int(str(done.value.code or 0))


def answer(place: Place, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run(place, *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def find(place: Place, capsys: pytest.CaptureFixture[str], url: str) -> str:
    found = answer(place, capsys, "find", "--url", url)
    return str(found["matches"][0]["doc_id"])


def test_a_page_comes_back_as_the_record_it_was(
    small_build: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doc_id = find(small_build, capsys, "http://site-2.example.org/article")
    target = tmp_path / "record.warc"
    told = answer(small_build, capsys, "raw", doc_id[:12], "--out", str(target))
    data = target.read_bytes()
    assert data.startswith(b"WARC/1.0\r\n")
    assert b"WARC-Target-URI: http://site-2.example.org/article\r\n" in data
    assert data.rstrip().endswith(b"</html>")
    assert told["record"] is None
    archive = small_build.source(f"web/crawl-1/{told['file']}").read_bytes()
    stored = archive[told["offset"] : told["offset"] + told["length"]]
    assert gzip.decompress(stored) == data
    raw = answer(small_build, capsys, "raw", doc_id, "--stored")
    assert base64.b64decode(raw["record"]) == stored


def test_a_line_of_json_comes_back_as_it_was(
    small_build: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = small_build.source("books/books-1.jsonl").read_bytes().splitlines(keepends=True)
    ids = answer(
        small_build,
        capsys,
        "sql",
        "SELECT doc_id, \"offset\" FROM records WHERE source = 'books'",
    )
    for doc_id, number in ids["rows"]:
        told = answer(small_build, capsys, "raw", doc_id)
        assert base64.b64decode(told["record"]) == lines[number - 1]


def test_what_a_takedown_covers_is_not_shown(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "http://site-2.example.org/article"
    doc_id = find(place, capsys, url)
    assert run(place, "takedown", "request", "--url", url, "--reason", "asked") == 0
    assert run(place, "raw", doc_id) == 2
    assert "under a takedown" in capsys.readouterr().err


def test_a_file_that_is_gone_or_changed_is_said(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    doc_id = find(place, capsys, "http://site-2.example.org/article")
    told = answer(place, capsys, "raw", doc_id)
    # The registry knows the files of the shared build; point it at a copy of our own.
    file = Path(told["uri"])
    registry = Registry(f"sqlite:///{place.home}/catalog.db")
    own = place.folder / "own.warc.gz"
    data = file.read_bytes()
    own.write_bytes(data)
    with registry.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE source_files SET uri = ? WHERE uri = ?", (str(own), str(file))
        )
    assert answer(place, capsys, "raw", doc_id)["sha256"] == told["sha256"]
    own.write_bytes(data + b"x")
    assert run(place, "raw", doc_id) == 2
    assert "has changed since" in capsys.readouterr().err
    own.write_bytes(bytes(len(data)))
    assert run(place, "raw", doc_id) == 2
    assert "does not hold the record" in capsys.readouterr().err
    own.unlink()
    assert run(place, "raw", doc_id) == 2
    assert "restore it" in capsys.readouterr().err


def test_records_that_share_a_gzip_member_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = first_crawl()
    groups = [records[:1], records[1:9], records[9:10], records[10:]]
    data = b"".join(member(b"".join(group)) for group in groups)
    with CrawlServer(crawl_files(FIRST, {"a.warc.gz": data})) as server:
        place = CrawlPlace(tmp_path, server.base)
        place.build()
        kept = [row for row in place.rows("records") if row["reason"] is None]
        shared, *others = [row for row in kept if row["length"] == 0]
        assert len(others) > 10
        target = tmp_path / "record"
        for row in kept:
            words = ["raw", row["doc_id"].hex(), "-o", str(target), "--home", str(place.home)]
            with pytest.raises(SystemExit) as done:
                catalog(words)
            assert done.value.code == 0
            (wanted,) = [each for each in records if f"URI: {row['url']}\r\n".encode() in each]
            assert target.read_bytes() == wanted
            target.unlink()
        monkeypatch.setattr("corpus_assets.ingest.formats.archived_record.MAX_FETCHED_BYTES", 1000)
        server.seen.clear()
        with pytest.raises(SystemExit) as done:
            catalog(["raw", shared["doc_id"].hex(), "--home", str(place.home)])
        assert done.value.code == 2
        assert "all of the file would have to be fetched" in capsys.readouterr().err
        assert not server.seen


def test_without_a_package_that_reads_sources_it_is_said(
    small_build: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    doc_id = find(small_build, capsys, "http://site-2.example.org/article")
    monkeypatch.setattr("catalog.plugins.entry_points", lambda group: [])
    assert run(small_build, "raw", doc_id) == 2
    assert "nothing that reads source files is installed" in capsys.readouterr().err


def test_a_source_of_an_unknown_format_is_refused_by_name(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    doc_id = find(place, capsys, "http://site-2.example.org/article")
    registry = Registry(f"sqlite:///{place.home}/catalog.db")
    with registry.database.write() as connection:
        connection.exec_driver_sql("UPDATE sources SET kind = 'epub' WHERE name = 'web'")
    assert run(place, "raw", doc_id) == 2
    assert "'epub' is not a source format; known are code, jsonl" in capsys.readouterr().err
