import json
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest
from blake3 import blake3

from corpus_assets.core.errors import SourceError
from corpus_assets.core.schemas import DOCUMENTS, RECORDS
from corpus_assets.core.urls import Blocklist, url_key
from corpus_assets.ingest import documents as documents_stage
from corpus_assets.ingest.document_names import make_text_id
from corpus_assets.ingest.documents import ingest_part
from corpus_assets.ingest.extract import page_worker
from corpus_assets.ingest.extract.extractor import Extractor
from corpus_assets.ingest.extract.page_worker import PageResult
from corpus_assets.ingest.gates.settings import GateSettings, LanguageGateSettings
from corpus_assets.ingest.purge import purge_part
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import FieldNames, SourceSpec
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.models.files import model_at
from corpus_assets_tests.ingest.extract.idle_workers import close_idle_workers
from corpus_assets_tests.ingest.warc_bytes import http, member, members, page, record, response
from corpus_assets_tests.shared_data import shared_data

WEB = SourceSpec(name="web", format="warc")


def pinned(path: Path, name: str | None = None) -> SourceFile:
    size, sha256 = file_sha256(str(path))
    return SourceFile(name or path.name, str(path), size, sha256)


def ingest(
    path: Path,
    spec: SourceSpec = WEB,
    orders: list[tuple[str, str]] | None = None,
    blocked: tuple[str, ...] = (),
    name: str | None = None,
    **gates: Any,
) -> tuple[pa.Table, pa.Table]:
    return ingest_part(
        spec,
        "2024-10",
        3,
        pinned(path, name),
        IngestSettings(gates=GateSettings(**gates)),
        Blocklist(blocked),
        Suppressions.from_rows(orders or []),
        lid=model_at("lid.176").path if "language_gate" in gates else None,
    )


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(data: bytes, name: str = "a.warc.gz") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return _write


def story(number: int) -> bytes:
    return page(f"Story number {number} tells of harbours, storms and the people who live there. ")


def by_url(records: pa.Table) -> dict[str | None, tuple[str | None, str | None]]:
    rows = records.to_pylist()
    return {row["url"]: (row["reason"], row["detail"]) for row in rows}


def check_conserving(records: pa.Table, documents: pa.Table) -> None:
    assert records.schema == RECORDS
    assert documents.schema == DOCUMENTS
    for table in (records, documents):
        keys = list(zip(table["doc_id"].to_pylist(), table["offset"].to_pylist(), strict=True))
        assert keys == sorted(keys)
    kept = records.filter(pa.compute.is_null(records["reason"]))
    assert kept["doc_id"].to_pylist() == documents["doc_id"].to_pylist()
    assert kept["offset"].to_pylist() == documents["offset"].to_pylist()


HTML = "Content-Type: text/html; charset=utf-8"
NESTED = b"<html><body>" + b"<div>" * 20_000 + b"words"
LADEN = b"<html><body " + b" ".join(b"a%d=1" % n for n in range(15_000)) + b">words"
LIMIT = 140_000


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (response("http://a.test/"), None, None),
        (response("http://a.test/", story(1), version="1.1"), None, None),
        (response("http://a.test/", b"plain words", headers="Content-Type: text/plain"), None, None),
        (response("http://a.test/", NESTED), "absurd_markup", "nesting"),
        (response("http://a.test/", LADEN), "absurd_markup", "attributes"),
        (response("http://a.test/", bytes(range(256)) * 40), "undecodable", "cp1252"),
        (response("http://a.test/", b"<html><body></body></html>"), "no_text", None),
        (response("http://a.test/", b"x" * 150_000), "too_large", "150000"),
        (response("http://a.test/", b"x" * 900_000), "too_large", None),
        (response("http://a.test/", status=404), "http_status", "404"),
        (response("http://a.test/", headers="Content-Type: image/png"), "content_type", "image/png"),
        (
            response("http://a.test/", headers=HTML + "\r\nX-Robots-Tag: noai"),
            "opted_out",
            "header noai",
        ),
        (
            response("http://a.test/", page(head='<META NAME="robots" CONTENT="noai">')),
            "opted_out",
            "meta noai",
        ),
        (
            response(
                "http://a.test/",
                page(head='<meta name="tdm-reservation" content="1">').decode().encode("utf-16"),
            ),
            "opted_out",
            "meta tdm-reservation",
        ),
        (
            response(
                "http://a.test/", b"3\r\nabc\r\nzz", headers=HTML + "\r\nTransfer-Encoding: chunked"
            ),
            "bad_http",
            "chunked",
        ),
        (record(http(b""), "http://a.test/", kind="revisit"), "revisit_record", None),
        (response("http://a.test/", length=999_999), "too_large", None),
        (response("http://a.test/", length=100_000), "damaged_record", "truncated_payload"),
        (response("http://sub.blocked.test/"), "blocked_host", "blocked.test"),
        (response("http://a.test/casino"), "blocked_url", "casino"),
        (response(None), "no_url", None),
        (response("urn:x:y"), "no_url", "not_a_web_address"),
    ],
)  # fmt: skip
def test_each_fault_gives_one_row_with_its_reason(
    write: Any, raw: bytes, reason: str | None, detail: str | None
) -> None:
    records, documents = ingest(
        write(members(raw)),
        blocked=("blocked.test",),
        blocked_url_words=[{"name": "n", "words": ("casino",)}],
        max_bytes=LIMIT,
    )
    check_conserving(records, documents)
    [row] = records.to_pylist()
    assert (row["reason"], row["detail"]) == (reason, detail)


def test_a_file_with_every_kind_of_damage_loses_none_of_its_good_records(write: Any) -> None:
    corrupt = bytearray(member(response("http://a.test/corrupt", story(9))))
    corrupt[120] ^= 0xFF
    good = [member(response(f"http://a.test/{n}", story(n))) for n in range(5)]
    data = (
        good[0] + bytes(corrupt) + good[1] + b"stray bytes" + good[2]
        + member(response("http://a.test/length", length=5)) + good[3] + good[4]
        + member(response("http://a.test/cut"))[:99]
    )  # fmt: skip
    records, documents = ingest(write(data))
    check_conserving(records, documents)
    reasons = Counter(records["reason"].to_pylist())
    assert reasons == {None: 5, "damaged_record": 4}
    assert sorted(documents["url_key"].to_pylist()) == [
        url_key(f"http://a.test/{n}") for n in range(5)
    ]
    stray = [row for row in records.to_pylist() if row["detail"] == "not_gzip"]
    assert stray[0]["url_key"] == f"web:a.warc.gz@{stray[0]['offset']}"


def test_what_a_document_s_row_holds(write: Any) -> None:
    licence = '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
    body = page(
        "Words e\u0301\0 and <b>more</b> words, enough of them for a paragraph. ",
        "T &amp; U",
        licence,
    )
    path = write(members(response("https://www.Example.com:443/a?utm_source=x&b=1", body)))
    records, documents = ingest(path, name="part/a.warc.gz")
    [row] = documents.to_pylist()
    [entry] = records.to_pylist()
    assert row["url_key"] == entry["url_key"] == "com,example)/a?b=1"
    assert row["host"] == "example.com"
    assert row["title"] == "T & U"
    assert row["licence"] == entry["licence"] == "CC-BY-4.0"
    assert row["declared_language"] == "en"
    assert row["domain"] == "web"
    assert row["fetched_at"] == "2024-03-01T12:00:00Z"
    assert row["derived_from"] is None
    assert "Words \u00e9 and more words" in row["text"]
    assert row["text_id"] == make_text_id(row["text"])
    assert entry["url"] == "https://www.Example.com:443/a?utm_source=x&b=1"
    assert entry["file"] == "part/a.warc.gz"
    assert (entry["part"], entry["snapshot"], entry["source"]) == (3, "2024-10", "web")
    assert entry["length"] == path.stat().st_size
    assert entry["payload_digest"] == f"blake3:{blake3(body).hexdigest()}"


def test_a_lying_charset_does_not_spoil_the_text(write: Any) -> None:
    body = page("Der Wärter zählt größere Schiffe für die Küste. ").decode().encode("cp1252")
    _, documents = ingest(write(members(response("http://a.test/", body))))
    assert "Wärter zählt größere Schiffe für die Küste" in documents["text"][0].as_py()


def test_removing_a_record_changes_no_other_document(write: Any) -> None:
    blocks = [response(f"http://a.test/{n}", story(n)) for n in range(6)]
    _, before = ingest(write(members(*blocks)))
    _, after = ingest(write(members(*blocks[:2], *blocks[3:]), "renamed.warc.gz"))
    gone = url_key("http://a.test/2")
    kept = before.filter(pa.compute.not_equal(before["url_key"], gone)).drop_columns("offset")
    assert kept.equals(after.drop_columns("offset"))
    assert after.num_rows == 5


def test_the_id_depends_on_source_snapshot_name_and_payload_only(write: Any) -> None:
    path = write(
        members(
            response("http://a.test/", story(1)),
            response("https://www.a.test/#top", story(1), headers="Content-Type: text/html", date="2020-01-01T00:00:00Z"),
            response("http://a.test/", story(2)),
            response("http://b.test/", story(1)),
        )
    )  # fmt: skip
    records, documents = ingest(path)
    ids = {row["offset"]: row["doc_id"] for row in records.to_pylist()}
    one, again, changed, elsewhere = (ids[offset] for offset in sorted(ids))
    assert one == again
    assert len({one, changed, elsewhere}) == 3
    assert documents.num_rows == 4  # a repeated capture is its own row
    other = ingest(path, spec=SourceSpec(name="other", format="warc"))[0]
    assert not set(other["doc_id"].to_pylist()) & set(ids.values())


def test_a_payload_is_extracted_once_and_its_copies_are_documents_of_their_own(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    real = Extractor.extract_all

    def counted(extractor: Extractor, pages: Sequence[bytes]) -> list[PageResult]:
        calls.extend(map(len, pages))
        return real(extractor, pages)

    monkeypatch.setattr(Extractor, "extract_all", counted)
    copies = [response(f"http://a.test/{n}", story(1)) for n in range(4)]
    _, documents = ingest(write(members(*copies)))
    assert len(calls) == 1
    assert documents.num_rows == 4
    assert len(set(documents["doc_id"].to_pylist())) == 4
    assert len(set(documents["text"].to_pylist())) == 1
    alone = ingest(write(members(copies[3]), "one.warc.gz"))[1].drop_columns("offset").to_pylist()
    assert alone[0] in documents.drop_columns("offset").to_pylist()


def test_a_page_that_breaks_the_extractor_is_a_reason_and_the_part_goes_on(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_idle_workers()
    monkeypatch.setattr(page_worker, "CHILD", "corpus_assets_tests.ingest.extract.rude_child")
    pages = [story(0), story(1) + b"<!-- raise an error -->", story(2) + b"<!-- segfault -->"]
    path = write(members(*(response(f"http://a.test/{n}", p) for n, p in enumerate(pages))))
    records, documents = ingest(path)
    close_idle_workers()
    assert by_url(records)["http://a.test/1"] == ("extraction_failed", "RecursionError")
    assert by_url(records)["http://a.test/2"] == ("extraction_crashed", "SIGSEGV")
    assert documents.num_rows == 1


@pytest.mark.parametrize(("records", "size"), [(1, 10**9), (2, 10**9), (64, 1), (64, 5000)])
def test_it_does_not_matter_how_many_pages_are_extracted_at_once(
    write: Any, monkeypatch: pytest.MonkeyPatch, records: int, size: int
) -> None:
    pages = [story(0), story(1), story(0), b"", page("Der Gemeinderat hat es beschlossen. " * 9)]
    pages += [b"plain text \xff\xfe\x00", story(2), story(1), *(story(n) for n in range(3, 20))]
    kinds = {6: "text/plain", 8: "image/png"}
    captures = [
        response(f"http://a.test/{n}", body, headers=f"Content-Type: {kinds.get(n, 'text/html')}")
        for n, body in enumerate(pages)
    ]
    path = write(members(*captures))
    gate = LanguageGateSettings(languages=("en",), min_chars=20, sample_share=1.0)
    expected = ingest(path, language_gate=gate)
    monkeypatch.setattr(documents_stage, "WAITING_RECORDS", records)
    monkeypatch.setattr(documents_stage, "WAITING_BYTES", size)
    found = ingest(path, language_gate=gate)
    check_conserving(*found)
    assert all(one.equals(other) for one, other in zip(found, expected, strict=True))


def test_a_language_gate_refuses_before_extraction_and_samples_what_it_refused(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = "Der Gemeinderat hat gestern beschlossen, dass die alte Brücke erneuert wird. "
    pages = {
        "http://a.test/en": story(1),
        "http://a.test/de": page(german, title="Die Brücke"),
        "http://a.test/short": b"<html><body><p>Hi.</p></body></html>",
    }
    path = write(members(*(response(url, body) for url, body in pages.items())))
    calls: list[int] = []
    real = Extractor.extract_all

    def counted(extractor: Extractor, pages: Sequence[bytes]) -> list[PageResult]:
        calls.extend(map(len, pages))
        return real(extractor, pages)

    monkeypatch.setattr(Extractor, "extract_all", counted)
    reasons = {}
    for share in (0.0, 1.0):
        gate = LanguageGateSettings(languages=("en",), min_chars=20, sample_share=share)
        records, documents = ingest(path, language_gate=gate)
        reasons[share] = by_url(records)
        check_conserving(records, documents)
        assert documents.num_rows == 1
    assert len(calls) == 1 + 3
    assert reasons[0.0] == {
        "http://a.test/en": (None, None),
        "http://a.test/de": ("gate_language", "de"),
        "http://a.test/short": ("gate_too_short", reasons[0.0]["http://a.test/short"][1]),
    }
    assert reasons[1.0]["http://a.test/de"] == ("gate_language", "de/sampled")
    assert reasons[1.0]["http://a.test/short"][1].endswith("/sampled")


def test_suppressed_records_keep_their_names_and_lose_their_text(write: Any) -> None:
    urls = [f"http://a.test/{n}" for n in range(4)] + ["http://b.test/x", "http://sub.c.test/"]
    path = write(members(*(response(url, story(n)) for n, url in enumerate(urls))))
    records, documents = ingest(path)
    rows = {row["url_key"]: row for row in documents.to_pylist()}
    orders = [
        ("url_key", url_key(urls[0])),
        ("doc_id", rows[url_key(urls[1])]["doc_id"].hex()),
        ("text_id", rows[url_key(urls[2])]["text_id"].hex()),
        ("url_prefix", "test,b)/"),
        ("host", "c.test"),
    ]
    after, left = ingest(path, orders=orders)
    check_conserving(after, left)
    assert left["url_key"].to_pylist() == [url_key(urls[3])]
    reasons = {
        row["url_key"]: (row["reason"], row["url"], row["detail"]) for row in after.to_pylist()
    }
    gone = ("suppressed", None, None)
    assert [reasons[url_key(url)] for url in urls] == [gone] * 3 + [
        (None, urls[3], None),
        gone,
        gone,
    ]
    assert after["doc_id"].to_pylist() == records["doc_id"].to_pylist()
    assert after["url_key"].to_pylist() == records["url_key"].to_pylist()


def test_a_damaged_record_of_a_suppressed_page_is_suppressed(write: Any) -> None:
    path = write(members(response("http://a.test/", length=100_000)))
    records, _ = ingest(path, orders=[("host", "a.test")])
    assert records["reason"].to_pylist() == ["suppressed"]


def jsonl(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


MADE = SourceSpec(
    name="made",
    format="jsonl",
    domain="synthetic",
    licence="CC0-1.0",
    fields=FieldNames(key="id", url="url", derived_from="from", generator="by", licence="spdx"),
)


def test_ready_text_goes_in_under_its_key_with_its_parents(write: Any) -> None:
    path = write(
        jsonl(
            {"id": "7", "text": "One e\u0301\r\ntwo", "from": ["https://www.p.test/?b=2&a=1", "books:9"], "by": "m"},
            {"url": "http://u.test/x", "text": "by address", "spdx": "MIT"},
            {"text": "neither key nor address"},
            {"id": "9", "text": " \n"},
            {"id": "10"},
            {"id": "11", "text": "lone \ud800 surrogate"},
        )
        + b"not json\n",
        "made.jsonl",
    )  # fmt: skip
    records, documents = ingest(path, spec=MADE)
    check_conserving(records, documents)
    rows = {row["offset"]: row for row in documents.to_pylist()}
    assert sorted(rows) == [1, 2, 3, 6]
    assert rows[1]["text"] == "One \u00e9\ntwo"
    assert rows[1]["url_key"] == "made:7"
    assert rows[1]["derived_from"] == ["test,p)/?a=1&b=2", "books:9"]
    assert (rows[1]["generator"], rows[1]["licence"]) == ("m", "CC0-1.0")
    assert (rows[2]["url_key"], rows[2]["licence"]) == ("test,u)/x", "MIT")
    assert rows[3]["url_key"].startswith("made:blake3:")
    assert rows[6]["text"] == "lone \ufffd surrogate"
    reasons = {row["offset"]: row["reason"] for row in records.to_pylist()}
    assert reasons == {
        1: None, 2: None, 3: None, 4: "no_text", 5: "no_text", 6: None, 7: "damaged_record",
    }  # fmt: skip


def test_a_text_whose_parent_was_taken_down_goes_too(write: Any) -> None:
    path = write(jsonl({"id": "1", "text": "made", "from": "http://www.p.test/a"}), "made.jsonl")
    records, documents = ingest(path, spec=MADE, orders=[("url_key", "test,p)/a")])
    assert documents.num_rows == 0
    assert records["reason"].to_pylist() == ["suppressed"]


@pytest.mark.parametrize("kinds", [("url_key",), ("doc_id", "host"), ("text_id", "url_prefix")])
def test_purging_a_part_later_gives_the_tables_of_never_having_taken_it_in(
    write: Any, kinds: tuple[str, ...]
) -> None:
    urls = [f"http://a.test/{n}" for n in range(4)] + ["http://b.test/x", "http://sub.c.test/"]
    pages = [response(url, story(n)) for n, url in enumerate(urls)]
    pages.append(response("http://b.test/gone", story(9), status=404))
    path = write(members(*pages))
    records, documents = ingest(path)
    first = documents.to_pylist()[0]
    values = {
        "url_key": url_key(urls[0]),
        "doc_id": first["doc_id"].hex(),
        "text_id": first["text_id"].hex(),
        "url_prefix": "test,b)/",
        "host": "c.test",
    }
    orders = [(kind, values[kind]) for kind in kinds]
    never = ingest(path, orders=orders)
    purged = purge_part(records, documents, Suppressions.from_rows(orders))
    assert purged[0].equals(never[0])
    assert purged[1].equals(never[1])
    assert purged[1].num_rows < documents.num_rows


def test_a_licence_outside_the_list_is_refused(write: Any) -> None:
    lines = jsonl(
        {"id": "1", "text": "a", "spdx": "GPL-3.0-only"},
        {"id": "2", "text": "x = 1", "spdx": "MIT"},
    )
    records, documents = ingest(
        write(lines, "made.jsonl"),
        spec=MADE,
        allowed_licences=("MIT",),
    )
    assert documents["licence"].to_pylist() == ["MIT"]
    refused = [row for row in records.to_pylist() if row["reason"]]
    assert [(row["reason"], row["detail"]) for row in refused] == [
        ("licence_not_allowed", "GPL-3.0-only")
    ]


def test_a_missing_or_changed_file_is_an_error_that_names_it(write: Any) -> None:
    path = write(members(response("http://a.test/")))
    file = pinned(path)
    arguments = (IngestSettings(), Blocklist(), Suppressions())
    path.write_bytes(members(response("http://a.test/other")))
    with pytest.raises(SourceError, match=f"pinned as {file.sha256}.*is now"):
        ingest_part(WEB, "s", 0, file, *arguments)
    path.unlink()
    with pytest.raises(SourceError, match=r"a\.warc\.gz: the source file is missing"):
        ingest_part(WEB, "s", 0, file, *arguments)


def test_progress_is_told_and_ends_with_the_number_of_records(write: Any) -> None:
    path = write(members(*(response(f"http://a.test/{n}", status=404) for n in range(120))))
    told: list[int] = []
    ingest_part(
        WEB, "s", 0, pinned(path), IngestSettings(), Blocklist(), Suppressions(), told.append
    )
    assert told == [50, 100, 120]


def test_all_records_of_a_real_crawl_are_accounted_for() -> None:
    records, documents = ingest(shared_data("web/genuine-crawl.warc.gz"))
    check_conserving(records, documents)
    assert records.num_rows == 288 + 4 + 178
    reasons = Counter(records["reason"].to_pylist())
    assert reasons["revisit_record"] == 178
    assert reasons["damaged_record"] == 0
    assert documents.num_rows > 150


def test_sixty_records_of_a_real_snapshot_become_the_same_tables_twice(write: Any) -> None:
    data = shared_data("web/snapshot-A.warc.gz").read_bytes()
    path = write(cut_after(data, 60))
    records, documents = ingest(path)
    check_conserving(records, documents)
    assert records.num_rows == 60
    assert documents.num_rows >= 50
    again = ingest(path)
    assert again[0].equals(records)
    assert again[1].equals(documents)


def cut_after(data: bytes, wanted: int) -> bytes:
    """The first members of an archive, up to its `wanted`-th response."""
    seen = end = 0
    while seen < wanted:
        inflater = zlib.decompressobj(31)
        head = inflater.decompress(data[end:])
        end = len(data) - len(inflater.unused_data)
        seen += b"WARC-Type: response" in head[:500]
    return data[:end]


def test_a_sample_is_drawn_by_the_ids_of_records(write: Any) -> None:
    path = write(members(*(response(f"http://a.test/{n}", story(n)) for n in range(60))))

    def kept(share: float | None) -> set[bytes]:
        records, documents = ingest(path, sample_share=share)
        assert records.num_rows == 60
        check_conserving(records, documents)
        others = records.filter(pa.compute.is_valid(records["reason"]))
        assert set(others["reason"].to_pylist()) <= {"not_sampled"}
        return set(documents["doc_id"].to_pylist())

    half, most, everything = kept(0.5), kept(0.8), kept(None)
    assert half < most < everything
    assert 15 < len(half) < 45
    assert kept(1.0) == everything


def test_what_is_taken_down_is_suppressed_in_a_sample_too(write: Any) -> None:
    path = write(members(*(response(f"http://a.test/{n}", story(n)) for n in range(20))))
    records, documents = ingest(path, orders=[("host", "a.test")], sample_share=0.1)
    assert set(records["reason"].to_pylist()) == {"suppressed"}
    assert documents.num_rows == 0
