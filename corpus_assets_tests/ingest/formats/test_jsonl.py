import gzip
import io
import json

import pytest
import zstandard

from corpus_assets.ingest.formats.jsonl import read_jsonl
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.source import FieldNames, SourceSpec

FIELDS = FieldNames(
    key="id", url="link", text="body", licence="license", language="lang", title="t",
    derived_from="parents", generator="model",
)  # fmt: skip
SPEC = SourceSpec(name="rows", format="jsonl", fields=FIELDS)
ROWS = [{"id": n, "body": f"text number {n} " * 50} for n in range(500)]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def read(data: bytes, name: str = "a.jsonl", limit: int = 100_000) -> list[RawRecord]:
    return list(read_jsonl(io.BytesIO(data), name, SPEC, limit))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", LINES),
        ("a.jsonl.gz", gzip.compress(LINES[:9000]) + gzip.compress(LINES[9000:])),
        ("a.jsonl.zst", zstandard.compress(LINES[:9000]) + zstandard.compress(LINES[9000:])),
        ("a.jsonl", LINES.removesuffix(b"\n")),
        ("a.jsonl", b"\xef\xbb\xbf" + LINES),
    ],
)
def test_lines_are_read_plain_gzip_and_zstd(name: str, data: bytes) -> None:
    found = read(data, name)
    assert [(each.key, each.text) for each in found] == [(str(r["id"]), r["body"]) for r in ROWS]
    assert [each.offset for each in found] == list(range(1, 501))


def test_columns_become_fields() -> None:
    row = {
        "id": "k", "link": "http://a.test/", "body": "words", "license": ["MIT", "Apache-2.0"],
        "lang": "en", "t": "A title", "parents": ["http://b.test/x", 5], "model": "writer-1",
    }  # fmt: skip
    [found] = read(json.dumps(row).encode())
    assert (found.url, found.licence, found.language) == (
        "http://a.test/",
        "Apache-2.0 AND MIT",
        "en",
    )
    assert (found.title, found.derived_from, found.generator) == (
        "A title",
        ("http://b.test/x",),
        "writer-1",
    )


def test_labels_and_scores_are_taken_as_they_are_mapped() -> None:
    fields = FieldNames(
        text="body",
        labels={"topic": "meta.topic", "grade": "grade", "clean": "clean", "whole": "meta"},
        scores={"edu": "meta.edu", "word": "grade_word", "far": "far"},
    )
    row = {"body": "x", "meta": {"topic": " Health ", "edu": 3}, "grade": 4, "clean": True,
           "grade_word": "4", "far": float("inf")}  # fmt: skip
    spec = SourceSpec(name="rows", format="jsonl", fields=fields)
    [found] = read_jsonl(io.BytesIO(json.dumps(row).encode()), "a.jsonl", spec, 1000)
    assert found.labels == {
        "topic": "Health", "grade": "4", "clean": "true", "whole": None,
        "edu": 3.0, "word": None, "far": None,
    }  # fmt: skip
    assert [each.labels for each in read(LINES)[:2]] == [None, None]


def test_a_source_without_labels_is_what_it_was() -> None:
    assert not {"labels", "scores"} & FIELDS.model_dump(mode="json").keys()
    again = FieldNames(labels={"topic": "t"})
    assert FieldNames.model_validate(again.model_dump(mode="json")) == again


def test_bad_lines_are_counted_with_their_number_and_the_rest_is_read() -> None:
    good = b'{"id": 1, "body": "x"}'
    bad = [b"{", b"[1]", b'{"body": "\xff"}', b'{"body": 5}', b"[" * 100_000]
    found = read(b"\n".join([good, *bad, b"", good]))
    assert [each.damage for each in found] == [None, *["damaged_record"] * 5, None]
    assert [each.offset for each in found] == [1, 2, 3, 4, 5, 6, 8]
    assert found[1].key == "a.jsonl@2"
    assert [each.detail for each in found[1:6]] == [
        "not_json", "not_an_object", "not_utf8", "text_is_not_a_string", "not_json",
    ]  # fmt: skip


def test_a_line_above_the_limit_is_passed_over() -> None:
    long = json.dumps({"body": "y" * 3_000_000}).encode() + b"\n"
    found = read(LINES[:100] + b"\n" + long + b'{"body": "after"}\n', limit=1000)
    assert [each.damage for each in found] == ["damaged_record", "too_large", None]
    assert found[2].text == "after"


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_a_compressed_file_that_ends_early_says_so(pack: str) -> None:
    data = gzip.compress(LINES) if pack == "gz" else zstandard.compress(LINES)
    found = read(data[: len(data) // 2], f"a.jsonl.{pack}")
    assert all(each.damage is None for each in found[:-1])
    assert found[-1].damage == "damaged_record"
    assert (found[-1].detail or "").startswith("truncated")
    assert found[-1].offset == len(found)


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_a_compressed_file_that_is_corrupt_says_so(pack: str) -> None:
    data = bytearray(gzip.compress(LINES) if pack == "gz" else zstandard.compress(LINES))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    found = read(bytes(data), f"a.jsonl.{pack}")
    assert [each.damage for each in found if each.damage] == ["damaged_record"]
    assert found[-1].damage is not None


def test_a_row_without_text_stays_to_be_counted() -> None:
    [found] = read(b'{"id": 1}')
    assert (found.text, found.damage) == ("", None)
