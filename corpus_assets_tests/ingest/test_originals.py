"""Records read again: each at the place that its reader gave it, from files as they were pinned."""

import gzip
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from catalog.db.rows import FileRow
from catalog.errors import SourceUnavailable
from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats import read_records
from corpus_assets.ingest.formats.archived_record import HEAD_BYTES, records_at
from corpus_assets.ingest.formats.framing import CHUNK_BYTES
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.listing import list_files
from corpus_assets.ingest.originals import open_again, read_original
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.source import SourceSpec
from corpus_assets_tests.crawl_server import CrawlServer
from corpus_assets_tests.ingest.warc_bytes import member, response

MOST = 1 << 30


def pages(count: int, size: int) -> list[bytes]:
    draw = random.Random(7)
    return [response(f"http://x.example/{n}", draw.randbytes(size)) for n in range(count)]


@pytest.mark.parametrize("size", [10, 5_000, 3 * CHUNK_BYTES])
def test_every_record_of_every_member_is_found_at_its_offset(size: int) -> None:
    records = pages(12, size)
    groups = [records[:5], records[5:6], records[6:]]
    data = b"".join(member(b"".join(group)) for group in groups)
    places = [found.offset for found in read_warc(io.BytesIO(data), "a", MOST)]
    assert len(places) == 12
    for record, place in zip(records, places, strict=True):
        assert record in list(records_at(io.BytesIO(data), place, MOST))


def test_a_place_without_a_record_gives_none() -> None:
    data = member(b"".join(pages(3, 100)))
    for place in (1, 7, 10_000_000):
        assert list(records_at(io.BytesIO(data), place, MOST)) == []


def test_a_record_longer_than_allowed_or_without_a_length_is_none() -> None:
    first, second = pages(2, 100)
    assert list(records_at(io.BytesIO(member(first + second)), 0, 50)) == []
    headless = first.replace(b"Content-Length", b"Content-Lenght")
    assert list(records_at(io.BytesIO(member(headless + second)), 0, MOST)) == []
    endless = b"WARC/1.0\r\n" + b"A: b\r\n" * HEAD_BYTES
    assert list(records_at(io.BytesIO(member(endless)), 0, MOST)) == []


def test_records_before_and_after_a_damaged_stretch_are_found_where_the_reader_found_them() -> None:
    records = pages(9, 5_000)
    one, two, three = (member(b"".join(records[n : n + 3])) for n in (0, 3, 6))
    broken = bytearray(two)
    broken[len(two) // 2 :] = bytes(len(two) - len(two) // 2)
    for data in (b"no gzip" + one + three, one + bytes(broken) + three, one + three[:9_000]):
        found = [each for each in read_warc(io.BytesIO(data), "a", MOST) if each.damage is None]
        assert len(found) >= 4
        for each in found:
            (record,) = [page for page in records if f"{each.url}\r\n".encode() in page]
            assert record in list(records_at(io.BytesIO(data), each.offset, MOST))


# Every format.


def rows(count: int) -> list[dict[str, str]]:
    return [{"text": f"Row {number} of the table: été, 東京."} for number in range(count)]


def lines(count: int) -> list[bytes]:
    return [(json.dumps(row, ensure_ascii=False) + "\n").encode() for row in rows(count)]


def write_files(kind: str, folder: Path) -> list[bytes]:
    """Make a file of a format; return what its records are, in order."""
    if kind == "parquet":
        table = pa.Table.from_pylist(rows(25))
        pq.write_table(table, folder / "a.parquet", row_group_size=10)
        return lines(25)
    if kind in ("text", "code"):
        texts = [b"# One\n\nwords", "caf\u00e9".encode("latin-1")]
        (folder / "deep").mkdir()
        (folder / "deep/a.md").write_bytes(texts[0])
        (folder / "deep/b.txt").write_bytes(texts[1])
        return texts
    if kind == "wet":
        texts = [
            response(f"http://x.example/{n}", b"words").replace(b"response", b"conversion")
            for n in range(3)
        ]
        (folder / "a.wet").write_bytes(b"".join(texts))
        return texts
    compress = {
        "jsonl": bytes,
        "jsonl.gz": gzip.compress,
        "jsonl.zst": zstandard.ZstdCompressor().compress,
    }
    (folder / f"a.{kind}").write_bytes(compress[kind](b"".join(lines(9))))
    return lines(9)


@pytest.mark.parametrize(
    "kind", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet", "text", "code", "wet"]
)
def test_every_record_that_ingest_reads_can_be_read_again(kind: str, tmp_path: Path) -> None:
    wanted = write_files(kind, tmp_path)
    spec = SourceSpec(name="s", format=kind.partition(".")[0])
    (part,) = list_files(spec, str(tmp_path), "s")
    row = FileRow(0, part.name, part.uri, part.size, part.sha256)
    found = []
    for record in read_records(spec, part, MOST):
        place = {"offset": record.offset, "length": record.length, "url": record.url}
        again = read_original(spec.format, row, place | {"file": record.file or part.name})
        assert again.stored == again.data
        found.append(again.data)
    assert found == wanted


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "wet"])
def test_a_place_that_the_file_does_not_have_is_said(kind: str, tmp_path: Path) -> None:
    write_files(kind, tmp_path)
    (path,) = tmp_path.iterdir()
    file = FileRow(0, path.name, str(path), path.stat().st_size)
    place = {"offset": 100_000, "length": 10, "url": None, "file": path.name}
    with pytest.raises(SourceUnavailable, match="does not hold the record .* at place 100000"):
        read_original(kind, file, place)


def test_a_file_outside_the_folder_or_of_another_size_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "a.txt").write_text("words")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    file = FileRow(0, "part-00000", str(folder), 5)
    place = {"offset": 0, "url": None, "length": 6}
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt"):
        with pytest.raises(SourceUnavailable, match="leads out of"):
            read_original("text", file, place | {"file": name})
    with pytest.raises(SourceUnavailable, match="has 5 bytes, ingested were 6"):
        read_original("text", file, place | {"file": "a.txt"})


def test_an_unknown_format_is_refused_by_name_and_not_read_as_warc(tmp_path: Path) -> None:
    (tmp_path / "part.xyz").write_bytes(b"WARC/1.0\r\n\r\n")
    file = FileRow(0, "part.xyz", str(tmp_path / "part.xyz"), 12)
    for kind in ("xyz", ""):
        with pytest.raises(SourceUnavailable, match=rf"'{kind}' is not a source format; known are"):
            read_original(kind, file, {"offset": 0, "length": 12, "url": None, "file": "part.xyz"})


# Files on a server.


def test_ranges_over_http_are_patient_and_notice_changes() -> None:
    data = bytes(range(256)) * 100
    with CrawlServer({"f.bin": data}) as server:
        pin = f"etag:{len(data)}:{server.etag('f.bin')}"
        file = SourceFile("f.bin", f"{server.base}f.bin", len(data), pin)
        waits: list[float] = []
        for fault in ("503", "close", "reset", "ignore_range", "wrong_range", "hang_up"):
            server.seen.clear()
            server.faults = lambda path, number, fault=fault: fault if number == 0 else None  # type: ignore[misc]
            with open_again(file, waits.append) as stream:
                stream.seek(1000)
                assert stream.read(500) == data[1000:1500], fault
        server.faults = lambda path, number: "503"
        with (
            open_again(file, waits.append) as stream,
            pytest.raises(SourceError, match="given up after 6 attempts"),
        ):
            stream.read(1)
        server.faults = lambda path, number: None
        server.files["f.bin"] = data[::-1]
        with (
            open_again(file, waits.append) as stream,
            pytest.raises(SourceError, match="has changed"),
        ):
            stream.read(1)
