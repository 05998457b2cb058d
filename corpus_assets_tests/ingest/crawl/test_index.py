"""The columnar URL index: what no rule could keep is not fetched, and still accounted for."""

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.crawl.index import NEAR_BYTES, index_rows, read_indexed, spans
from corpus_assets.ingest.crawl.settings import IndexSettings
from corpus_assets.ingest.gates.settings import GateSettings
from corpus_assets.ingest.records import RawRecord
from corpus_assets_tests.crawl_server import CrawlServer, every_other
from corpus_assets_tests.ingest.crawl.crawl_corpus import FIRST, Place, index_of, two_crawls
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.small_corpus import stored_member

NAME = "crawl-data/C/segments/1/warc/a.warc.gz"


@pytest.fixture(scope="module")
def server() -> Iterator[CrawlServer]:
    with CrawlServer(two_crawls()) as running:
        yield running


@pytest.fixture(autouse=True)
def _calm(server: CrawlServer) -> Iterator[None]:
    yield
    server.faults = lambda path, number: None
    server.seen.clear()


@pytest.fixture(scope="module")
def full(server: CrawlServer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Every record downloaded, then gated."""
    place = Place(tmp_path_factory.mktemp("full"), server.base)
    place.ingest()
    return place


def reasons(place: Place) -> Counter[str]:
    return Counter(row["reason"] for row in place.rows("records") if row["reason"])


def test_the_same_documents_come_out_as_with_a_full_download(
    full: Place, server: CrawlServer, tmp_path: Path
) -> None:
    server.faults = every_other()
    place = Place(tmp_path, server.base, index=True)
    place.ingest()
    assert place.rows("documents") == full.rows("documents")
    here, there = place.rows("records"), full.rows("records")
    assert sorted((r["file"], r["offset"], r["length"], r["url"]) for r in here) == sorted(
        (r["file"], r["offset"], r["length"], r["url"]) for r in there
    ), "every record is accounted for, fetched or not"
    expected = reasons(full)
    expected["index_http_status"] = expected.pop("http_status")
    assert reasons(place) == expected


def test_records_that_are_ruled_out_are_never_asked_for(
    server: CrawlServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base, index={"languages": ["deu"], "truncated": "skip"})
    place.ingest()
    assert reasons(place) == {"index_language": 24, "index_http_status": 1}
    (kept,) = [row for row in place.rows("records") if row["reason"] is None]
    assert kept["url"] == "http://de.example.com/seite"
    data = [
        seen for seen in server.seen if seen.path.endswith(".warc.gz") and seen.range != "bytes=0-0"
    ]
    assert [seen.range for seen in data] == [
        f"bytes={kept['offset']}-{kept['offset'] + kept['length'] - 1}"
    ]
    told = next(row for row in place.rows("records") if row["reason"] == "index_language")
    assert told["fetched_at"] == "2024-03-01T12:00:00Z"
    assert told["payload_digest"].startswith("sha1:")
    assert told["detail"] == "eng"


def test_truncated_pages_are_left_out_where_the_recipe_says_so(
    server: CrawlServer, full: Place, tmp_path: Path
) -> None:
    place = Place(tmp_path, server.base, index={"truncated": "skip"})
    place.ingest()
    assert reasons(place)["index_truncated"] == 1
    assert len(place.rows("records")) == len(full.rows("records"))


def test_an_index_in_a_folder_serves_as_well(
    server: CrawlServer, full: Place, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    for name, data in index_of({p: d for p, d in server.files.items() if FIRST in p}).items():
        (folder / name).write_bytes(data)
    place = Place(tmp_path, server.base, index={"location": str(folder)})
    place.ingest()
    assert place.rows("documents") == full.rows("documents")
    assert not server.requests("cc-index")


def archive(*types: str) -> bytes:
    return b"".join(
        stored_member(response(f"http://x.example/{n}", headers=f"Content-Type: {kind}"))
        for n, kind in enumerate(types)
    )


def read(data: bytes, index: IndexSettings | None = None, **gates: object) -> list[RawRecord]:
    parts = [(name, io.BytesIO(part)) for name, part in index_of({NAME: data}).items()]
    rows = index_rows(parts, [NAME])[NAME]  # type: ignore[arg-type]
    settings = GateSettings.model_validate(gates)
    return list(
        read_indexed(io.BytesIO(data), NAME, len(data), rows, index or IndexSettings(), settings)
    )


def test_media_types_follow_the_gates() -> None:
    records = read(archive("text/html; charset=utf-8", "image/png", "", "application/pdf"))
    assert Counter(record.damage for record in records) == {"index_content_type": 2, None: 2}
    assert {r.detail for r in records} == {"image/png", "application/pdf", None}


@pytest.mark.parametrize("declared", ["unk", "-", "", " UNK ", None])
def test_an_unknown_media_type_is_none_and_the_detected_one_counts(declared: str | None) -> None:
    data = archive("", "", "", "", "image/png")
    (part,) = index_of({NAME: data}, parts=1).values()
    table = pq.read_table(io.BytesIO(part))
    changed = {
        "content_mime_type": [declared] * 4 + ["image/png"],
        "content_mime_detected": ["text/html", "image/png", declared, None, "text/html"],
    }
    for name, values in changed.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(values, pa.string()))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    rows = index_rows([("index", io.BytesIO(sink.getvalue()))], [NAME])[NAME]
    assert rows["content_type"].to_pylist() == ["text/html", "image/png", None, None, "image/png"]
    records = read_indexed(io.BytesIO(data), NAME, len(data), rows, IndexSettings(), GateSettings())
    found = {str(record.url)[-1]: (record.damage, record.detail) for record in records}
    ruled_out = ("index_content_type", "image/png")
    kept = (None, None)
    assert found == {"0": kept, "1": ruled_out, "2": kept, "3": kept, "4": ruled_out}


def test_records_keep_their_place_in_the_file() -> None:
    data = archive("text/html", "image/png", "text/html")
    found = {record.url: record for record in read(data)}
    for record in found.values():
        assert data[record.offset :].startswith(b"\x1f\x8b")
    assert found["http://x.example/2"].payload.startswith(b"<!DOCTYPE html>")


def test_a_damaged_member_is_one_damaged_record_at_its_place() -> None:
    data = bytearray(archive("text/html", "text/html", "text/html"))
    parts = [(name, io.BytesIO(part)) for name, part in index_of({NAME: bytes(data)}).items()]
    rows = index_rows(parts, [NAME])[NAME]  # type: ignore[arg-type]
    second = rows["offset"][1].as_py()
    data[second : second + 4] = b"\0\0\0\0"
    records = list(
        read_indexed(
            io.BytesIO(bytes(data)), NAME, len(data), rows, IndexSettings(), GateSettings()
        )
    )
    assert [record.damage for record in records] == [None, "damaged_record", None]
    assert (records[1].offset, records[1].key) == (second, f"{NAME}@{second}")


def test_an_index_of_another_crawl_is_refused() -> None:
    data = archive("text/html")
    parts = [(name, io.BytesIO(part)) for name, part in index_of({NAME: data}).items()]
    with pytest.raises(SourceError, match="has no row of this file"):
        index_rows(parts, [NAME, "crawl-data/C/segments/1/warc/b.warc.gz"])  # type: ignore[arg-type]
    rows = index_rows([(n, io.BytesIO(p)) for n, p in index_of({NAME: data}).items()], [NAME])[NAME]  # type: ignore[list-item]
    with pytest.raises(SourceError, match="no record is at the offsets"):
        list(
            read_indexed(io.BytesIO(bytes(9999)), NAME, 9999, rows, IndexSettings(), GateSettings())
        )
    with pytest.raises(SourceError, match="not a readable part"):
        index_rows([("x", io.BytesIO(b"PAR1 no"))], [NAME])  # type: ignore[list-item]
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    with pytest.raises(SourceError, match="has no column 'warc_filename'"):
        index_rows([("x", io.BytesIO(sink.getvalue()))], [NAME])  # type: ignore[list-item]


def test_near_ranges_are_read_together_and_far_ones_alone() -> None:
    kept = [(0, 100), (150, 100), (250 + NEAR_BYTES, 10), (10_000_000, 5), (300, 1)]
    found = list(spans(kept))
    assert [(start, end) for start, end, _ in found] == [
        (0, 260 + NEAR_BYTES),
        (10_000_000, 10_000_005),
    ]
    assert sorted(member for *_, members in found for member in members) == sorted(kept)
    long = [(n << 20, 1 << 20) for n in range(20)]
    assert max(end - start for start, end, _ in spans(long)) <= 8 << 20
