import gzip
import io
import zlib
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from corpus_assets.demo.warc import CORRUPT, TRUNCATED, Exchange, gzip_member, write_warc

Members = list[tuple[int, bytes]]


def exchange(number: int, damage: str | None = None) -> Exchange:
    body = "".join(f"<p>page {number} line {line} {line * 7919}</p>" for line in range(200))
    return Exchange(
        url=f"https://site.example/{number}?q=ü",
        fetched=datetime(2024, 3, 1, 12, 0, number, tzinfo=UTC),
        status=200,
        headers=(("Content-Type", "text/html"),),
        body=body.encode("utf-8"),
        payload_type="text/html",
        damage=damage,
    )


def members_of(data: bytes) -> Members:
    """Offset and content of each gzip member; stops at the first that cannot be inflated."""
    found: Members = []
    at = 0
    while at < len(data):
        inflater = zlib.decompressobj(31)
        content = inflater.decompress(data[at:])
        if not inflater.eof:
            break
        found.append((at, content))
        at = len(data) - len(inflater.unused_data)
    return found


def web_files(demo: Path) -> list[Path]:
    return sorted(demo.glob("web/*/*.warc.gz"))


def test_each_record_is_a_gzip_member_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    write_warc(path, "S", [exchange(1), exchange(2)])
    members = members_of(path.read_bytes())
    kinds = [content.split(b"\r\n")[1] for _, content in members]
    triple = [b"WARC-Type: request", b"WARC-Type: response", b"WARC-Type: metadata"]
    assert kinds == [b"WARC-Type: warcinfo", *triple, *triple]
    for _, content in members:
        head, _, block = content.partition(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        assert block[int(length.split()[1]) :] == b"\r\n\r\n"


def test_a_gzip_member_has_no_time_and_no_system_in_its_header() -> None:
    member = gzip_member(b"x" * 100_000)
    assert member[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    assert gzip.decompress(member) == b"x" * 100_000


def test_a_truncated_exchange_ends_the_file_in_the_middle_of_its_member(tmp_path: Path) -> None:
    path = tmp_path / "cut.warc.gz"
    write_warc(path, "S", [exchange(1), exchange(2, TRUNCATED)])
    members = members_of(path.read_bytes())
    assert len(members) == 5
    with pytest.raises(EOFError):
        gzip.decompress(path.read_bytes())


def test_a_corrupt_member_cannot_be_inflated_and_good_records_follow(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole/a.warc.gz", tmp_path / "broken/a.warc.gz"
    write_warc(whole, "S", [exchange(1), exchange(2), exchange(3)])
    write_warc(broken, "S", [exchange(1), exchange(2, CORRUPT), exchange(3)])
    offsets = [at for at, _ in members_of(whole.read_bytes())] + [whole.stat().st_size]
    good = 0
    for start, end in pairwise(offsets):
        try:
            gzip.decompress(broken.read_bytes()[start:end])
            good += 1
        except (zlib.error, OSError, EOFError):
            assert start == offsets[5]
    assert good == 9


def test_fastwarc_reads_every_record_and_every_digest_is_right(demo: Path) -> None:
    kinds: Counter[str] = Counter()
    for path in web_files(demo):
        for offset, content in _undamaged(path.read_bytes()):
            record = next(iter(ArchiveIterator(io.BytesIO(content), parse_http=False)))
            assert record.verify_block_digest(consume=False), (path, offset)
            kinds[record.headers["WARC-Type"]] += 1
            if record.record_type == WarcRecordType.response:
                record.parse_http()
                assert record.verify_payload_digest(), (path, offset)
                assert record.headers["WARC-Concurrent-To"].startswith("<urn:uuid:")
                assert record.headers["WARC-IP-Address"].startswith("192.0.2.")
    assert kinds["warcinfo"] == 12
    assert kinds["response"] >= 2000
    assert kinds["request"] == kinds["response"] + 2


def test_fastwarc_reads_an_undamaged_file_from_end_to_end(demo: Path) -> None:
    path = demo / "web/CC-DEMO-2024-10/part-00000.warc.gz"
    expected = len(members_of(path.read_bytes()))
    with path.open("rb") as stream:
        assert sum(1 for _ in ArchiveIterator(stream)) == expected


def test_record_ids_are_all_different(demo: Path) -> None:
    ids = [
        line
        for path in web_files(demo)
        for _, content in _undamaged(path.read_bytes())
        for line in content.split(b"\r\n\r\n", 1)[0].split(b"\r\n")
        if line.startswith(b"WARC-Record-ID")
    ]
    assert len(set(ids)) == len(ids) > 6000


def test_the_planted_damage_is_in_one_file_each(demo: Path) -> None:
    broken = []
    for path in web_files(demo):
        try:
            gzip.decompress(path.read_bytes())
        except (EOFError, zlib.error, OSError) as error:
            broken.append((path.parent.name, path.name, type(error).__name__))
    assert [each[:2] for each in broken] == [
        ("CC-DEMO-2024-18", "part-00003.warc.gz"),
        ("CC-DEMO-2024-26", "part-00001.warc.gz"),
    ]


def _undamaged(data: bytes) -> Members:
    """All members that can be inflated, also those after a corrupt one."""
    found: Members = []
    at = 0
    while at < len(data):
        inflater = zlib.decompressobj(31)
        try:
            content = inflater.decompress(data[at:])
        except zlib.error:
            content = b""
        if inflater.eof:
            found.append((at, content))
            at = len(data) - len(inflater.unused_data)
        else:
            following = data.find(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", at + 1)
            at = following if following > 0 else len(data)
    return found
