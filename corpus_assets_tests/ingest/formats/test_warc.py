import gzip
import io
import zlib

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats import framing, warc
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.records import RawRecord
from corpus_assets_tests.ingest.warc_bytes import http, member, members, page, record, response
from corpus_assets_tests.shared_data import shared_data

LIMIT = 100_000


def read(data: bytes, limit: int = LIMIT) -> list[RawRecord]:
    return list(read_warc(io.BytesIO(data), "a.warc.gz", limit))


def urls(records: list[RawRecord]) -> list[str | None]:
    return [each.url for each in records]


FIVE = [response(f"http://example.com/{n}", page(title=f"Page {n}")) for n in range(5)]


def test_offsets_and_lengths_cut_each_record_out_of_the_file() -> None:
    data = members(record(b"x", kind="warcinfo", content_type="application/warc-fields"), *FIVE)
    found = read(data)
    assert urls(found) == [f"http://example.com/{n}" for n in range(5)]
    for raw, each in zip(FIVE, found, strict=True):
        assert gzip.decompress(data[each.offset : each.offset + each.length]) == raw
        assert each.damage is None
        assert each.payload in raw
        assert each.http_status == 200
        assert each.fetched_at == "2024-03-01T12:00:00Z"


def test_plain_files_and_warc_1_1_are_read() -> None:
    late = response("http://example.com/1.1", version="1.1", date="2024-03-01T12:00:00.123456Z")
    data = b"".join([*FIVE, late])
    found = read(data)
    assert len(found) == 6
    assert found[-1].fetched_at == "2024-03-01T12:00:00.123456Z"
    for raw, each in zip([*FIVE, late], found, strict=True):
        assert data[each.offset : each.offset + each.length] == raw


def test_a_file_that_is_one_gzip_member_is_read_record_by_record() -> None:
    found = read(member(b"".join(FIVE)))
    assert urls(found) == [f"http://example.com/{n}" for n in range(5)]
    assert len({each.offset for each in found}) == 5
    assert all(each.damage is None and each.length == 0 for each in found)


def test_requests_metadata_and_warcinfo_are_no_documents_but_resources_and_revisits_are() -> None:
    found = read(
        members(
            record(b"GET / HTTP/1.1\r\n\r\n", kind="request", content_type="application/http"),
            record(b"a: b", kind="metadata", content_type="application/warc-fields"),
            record(b"plain words", kind="resource", content_type="text/plain"),
            record(b"words of a WET file", kind="conversion", content_type="text/plain"),
            record(http(b""), kind="revisit", extra="WARC-Payload-Digest: sha1:ABC"),
        )
    )
    assert [(each.payload, each.content_type, each.damage) for each in found] == [
        (b"plain words", "text/plain", None),
        (b"words of a WET file", "text/plain", None),
        (b"", "text/html; charset=utf-8", "revisit_record"),
    ]
    assert found[2].payload_digest == "sha1:ABC"


def test_the_rest_of_a_segmented_record_is_counted() -> None:
    [found] = read(members(record(b"rest", kind="continuation", content_type="text/plain")))
    assert (found.damage, found.detail) == ("damaged_record", "continuation_record")


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", ["unknown", "x-screenshot", "Response-2", "screenshot/png"])
def test_a_record_of_a_type_that_the_standard_does_not_know_is_passed_over(
    kind: str, compressed: bool
) -> None:
    odd = record(b"who knows", kind=kind, content_type="image/png")
    parts = [FIVE[0], odd, FIVE[1], odd]
    found = read(members(*parts) if compressed else b"".join(parts))
    assert [(each.url, each.damage) for each in found] == [
        ("http://example.com/0", None),
        ("http://example.com/1", None),
    ]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_record_without_a_type_or_cut_off_is_damage_whatever_its_type(compressed: bool) -> None:
    bare = FIVE[1].replace(b"WARC-Type: response\r\n", b"")
    cut = record(b"who knows", kind="x-odd", length=900)
    parts = [FIVE[0], bare, FIVE[2], cut]
    found = read(members(*parts) if compressed else b"".join(parts))
    assert [(each.damage, each.detail) for each in found] == [
        (None, None),
        ("damaged_record", "no_type"),
        (None, None),
        ("damaged_record", "truncated_payload"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.arc", b"filedesc://a.arc 0.0.0.0 20080101000000 text/plain 76\n", "ARC"),
        ("a.ARC.GZ", member(b"filedesc://a.arc 0.0.0.0 2008"), "ARC"),
        ("renamed.warc", b"filedesc://a.arc 0.0.0.0 20080101000000 text/plain 76\n", "ARC"),
        ("a.warc.zst", b"\x28\xb5\x2f\xfd\x00", "Zstandard"),
        ("renamed.warc.gz", b"\x5d\x2a\x4d\x18\x00\x00\x00\x00", "Zstandard"),
    ],
)
def test_archives_in_other_formats_are_refused_by_name(name: str, data: bytes, format: str) -> None:
    with pytest.raises(SourceError, match=f"{name}: {format} archives are not read; "):
        list(read_warc(io.BytesIO(data), name, LIMIT))


def test_target_uris_in_angle_brackets_are_understood() -> None:
    [found] = read(members(response("<http://example.com/wget>")))
    assert found.url == "http://example.com/wget"


@pytest.mark.parametrize("place", [12, 60, 200, -6])
def test_a_corrupt_member_costs_itself_and_not_those_after_it(place: int) -> None:
    parts = [member(each) for each in FIVE]
    broken = bytearray(parts[2])
    broken[place] ^= 0xFF
    found = read(b"".join([*parts[:2], bytes(broken), *parts[3:]]))
    good = [each for each in found if each.damage is None]
    bad = [each for each in found if each.damage is not None]
    assert urls(good) == [f"http://example.com/{n}" for n in (0, 1, 3, 4)]
    assert [(each.damage, each.offset, each.length) for each in bad] == [
        ("damaged_record", len(parts[0]) + len(parts[1]), len(parts[2]))
    ]
    assert bad[0].payload == b""


def test_bytes_between_members_are_one_damaged_stretch_named_by_its_place() -> None:
    first = member(FIVE[0])
    found = read(first + b"not a member at all" + members(*FIVE[1:]))
    assert [each.damage for each in found] == [None, "damaged_record", None, None, None, None]
    assert found[1].key == f"a.warc.gz@{len(first)}"
    assert found[1].length == len(b"not a member at all")


def test_a_member_cut_in_the_middle_of_the_file_is_counted_and_passed() -> None:
    found = read(member(FIVE[0]) + member(FIVE[1])[:150] + members(*FIVE[2:]))
    assert [each.damage for each in found] == [None, "damaged_record", None, None, None]
    assert found[1].detail in ("corrupt_gzip", "truncated_gzip")


@pytest.mark.parametrize("cut", [5, 30, 100, 250])
def test_a_file_that_ends_inside_a_record_says_so(cut: int) -> None:
    found = read(members(*FIVE[:2]) + member(FIVE[2])[:cut])
    assert [each.damage for each in found] == [None, None, "damaged_record"]
    assert found[2].detail == "truncated_gzip"


def test_a_plain_file_that_ends_inside_a_payload_says_so() -> None:
    found = read(b"".join(FIVE[:2]) + FIVE[2][:-700])
    assert [each.damage for each in found] == [None, None, "damaged_record"]
    assert (found[2].url, found[2].detail) == ("http://example.com/2", "truncated_payload")


@pytest.mark.parametrize("length", [10, 999_999, "many", "-5", ""])
@pytest.mark.parametrize("compressed", [True, False])
def test_a_wrong_content_length_costs_one_record(length: int | str, compressed: bool) -> None:
    wrong = response("http://example.com/wrong", length=length)
    records = [*FIVE[:2], wrong, *FIVE[2:]]
    found = read(members(*records) if compressed else b"".join(records), 10_000_000)
    assert [each.damage for each in found] == [None, None, "damaged_record", None, None, None]
    assert urls(found)[3:] == [f"http://example.com/{n}" for n in (2, 3, 4)]


def test_a_record_above_the_limit_is_passed_over_with_its_headers() -> None:
    large = response("http://example.com/large", b"x" * 500_000)
    for data in (members(large, *FIVE), b"".join([large, *FIVE])):
        found = read(data)
        assert [each.damage for each in found] == ["too_large", *[None] * 5]
        assert found[0].content_type == "text/html; charset=utf-8"
        assert found[0].payload == b""


def test_a_member_that_inflates_without_end_is_left_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(framing, "MAX_INFLATED_BYTES", 1 << 22)
    bomb = response("http://example.com/bomb", b"\0" * (1 << 25))
    found = read(members(bomb, *FIVE))
    assert [each.damage for each in found] == ["too_large", *[None] * 5]


def test_an_endless_header_is_damage() -> None:
    data = b"WARC/1.0\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n"
    found = read(members(data, FIVE[0]))
    assert [each.damage for each in found] == ["damaged_record", None]


def test_chunked_and_compressed_bodies_are_decoded() -> None:
    body = page()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    packed = gzip.compress(body, mtime=0)
    html = "Content-Type: text/html\r\n"
    found = read(
        members(
            response("http://a/1", chunked, headers=html + "Transfer-Encoding: chunked"),
            response("http://a/2", packed, headers=html + "Content-Encoding: gzip"),
            response("http://a/3", zlib.compress(body), headers=html + "Content-Encoding: deflate"),
            response("http://a/4", packed[:99], headers=html + "Content-Encoding: gzip"),
        )
    )
    assert [each.payload for each in found[:3]] == [body] * 3
    assert (found[3].damage, found[3].detail) == ("bad_http", "gzip")


def test_a_block_that_is_no_http_is_bad_http() -> None:
    [found] = read(members(record(b"\x16\x03\x01 not http")))
    assert (found.damage, found.detail) == ("bad_http", "status_line")


def test_an_empty_file_has_no_records_and_a_file_of_something_else_is_an_error() -> None:
    assert read(b"") == []
    with pytest.raises(SourceError, match="has no WARC record"):
        read(b"<html>a saved page, not an archive</html>" * 100)
    with pytest.raises(SourceError, match="has no WARC record"):
        read(member(b"compressed, but no archive")[3:])


def test_records_after_a_damaged_beginning_are_found() -> None:
    assert [each.damage for each in read(b"junk" * 99 + members(*FIVE))] == [
        "damaged_record",
        *[None] * 5,
    ]
    assert [each.damage for each in read(b"junk\r\n\r\n" + b"".join(FIVE))] == [
        "damaged_record",
        *[None] * 5,
    ]


def test_the_quick_way_through_a_member_finds_what_the_careful_one_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = [
        FIVE[0].replace(b"WARC-Type: ", b"WARC-Type:  "),
        FIVE[0].replace(b"WARC-Type: ", b"warc-type:"),
        FIVE[0].replace(b"WARC/1.0", b"WARC/1.1"),
        FIVE[0].replace(b"WARC-Date", b"X-Folded: a\r\n b\r\nWARC-Date"),
        FIVE[0].replace(b"WARC-Date", b"WARC-Type: resource\r\nWARC-Date"),
        FIVE[0].replace(b"example.com/0", "example.com/\u00e4".encode()),
        FIVE[0][:-4],
        FIVE[0] + b"\r\n",
        FIVE[0] + FIVE[1],
        record(b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record(b"x", kind="continuation"),
        *(record(b"GET", kind="request", length=n) for n in (0, 2, 4, "03", " 3", "3 ", "+3", "")),
        *(record(b"", kind="metadata", length=n)[: n or None] for n in (0, -4, -2, -3)),
        record(b"GET", kind="request", extra="Content-Length: 3"),
        record(b"GET", kind="request", extra="warc-type: response"),
        *(
            record(b"GET", kind="request", extra=extra)
            for extra in (
                "X: \u00e4",
                "X: a\nContent-Length: 5",
                "X: a\rContent-Length: 5",
                "Content-Length:5",
                "Content-Length : 5",
                " Content-Length: 5",
                "X: a\r\n b",
                "X: a\r\n\tb",
                "no colon",
                "WARC-Type :response",
                "X: WARC-Type",
                ": x",
                "X:\x00",
            )
        ),
        record(b"GET", kind="request").replace(b"WARC/1.0", b"WARC/0.9"),
        record(b"GET", kind="request").replace(b"WARC/1.0\r\n", b"WARC/1.0\n"),
        record(b"GET", kind="request").replace(b"WARC-Type: request", b"WARC-Type: request\r\n x"),
        record(b"GET", kind="request") + b"\r\n",
        record(b"GET", kind="request") + FIVE[1],
    ]
    rest = shared_data("web/genuine-crawl.warc.gz").read_bytes()
    broken = bytearray(rest[:300_000])
    for place in range(1000, len(broken), 30_011):
        broken[place] ^= 0x55
    files = [members(*odd), rest, bytes(broken)]
    quick = [read(file) for file in files]
    monkeypatch.setattr(warc, "_only_record", lambda member, limit: None)
    assert [read(file) for file in files] == quick
