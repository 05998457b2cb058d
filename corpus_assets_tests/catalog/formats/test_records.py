"""Records that share a gzip member, by the place that the reader gave them."""

import io
import random
from pathlib import Path

import pytest

from catalog.db.rows import FileRow
from catalog.errors import SourceUnavailable
from catalog.formats.records import INPUT_BYTES, MAX_HEAD_BYTES, read_record, shared_records
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets_tests.ingest.warc_bytes import member, response

MOST = 1 << 30


def pages(count: int, size: int) -> list[bytes]:
    draw = random.Random(7)
    return [response(f"http://x.example/{n}", draw.randbytes(size)) for n in range(count)]


@pytest.mark.parametrize("size", [10, 5_000, 3 * INPUT_BYTES])
def test_every_record_of_every_member_is_found_at_its_offset(size: int) -> None:
    records = pages(12, size)
    groups = [records[:5], records[5:6], records[6:]]
    data = b"".join(member(b"".join(group)) for group in groups)
    places = [found.offset for found in read_warc(io.BytesIO(data), "a", MOST)]
    assert len(places) == 12
    for record, place in zip(records, places, strict=True):
        assert record in list(shared_records(io.BytesIO(data), place, MOST))


def test_a_place_without_a_record_gives_none() -> None:
    data = member(b"".join(pages(3, 100)))
    for place in (1, 7, 10_000_000):
        assert list(shared_records(io.BytesIO(data), place, MOST)) == []


def test_a_record_longer_than_allowed_or_without_a_length_is_none() -> None:
    first, second = pages(2, 100)
    assert list(shared_records(io.BytesIO(member(first + second)), 0, 50)) == []
    headless = first.replace(b"Content-Length", b"Content-Lenght")
    assert list(shared_records(io.BytesIO(member(headless + second)), 0, MOST)) == []
    endless = b"WARC/1.0\r\n" + b"A: b\r\n" * MAX_HEAD_BYTES
    assert list(shared_records(io.BytesIO(member(endless)), 0, MOST)) == []


@pytest.mark.parametrize(
    ("change", "message"), [("cut", "ends before"), ("break", "is damaged before")]
)
def test_a_file_that_is_damaged_before_the_record_says_so(change: str, message: str) -> None:
    records = pages(2, 5_000)
    data = member(b"".join(records))
    broken = data[:6_000] if change == "cut" else b"no gzip at all" + data
    with pytest.raises(SourceUnavailable, match=message):
        list(shared_records(io.BytesIO(broken), len(records[0]), MOST))


def test_an_unknown_format_is_refused_and_not_read_as_warc(tmp_path: Path) -> None:
    (tmp_path / "part.xyz").write_bytes(b"WARC/1.0\r\n\r\n")
    file = FileRow(0, "part.xyz", str(tmp_path / "part.xyz"), 12)
    for kind in ("xyz", ""):
        with pytest.raises(SourceUnavailable, match=rf"part\.xyz has records of format '{kind}'"):
            read_record(kind, file, {"offset": 0, "length": 12, "url": None, "file": "part.xyz"})
