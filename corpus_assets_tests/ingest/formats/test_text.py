from pathlib import Path

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats.text import TEXT, first_heading, front_matter
from corpus_assets.ingest.listing import list_files
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.source import FieldNames, SourceSpec

FIELDS = FieldNames(
    title="title", licence="license", language="lang", derived_from="sources", generator="model",
)  # fmt: skip
SPEC = SourceSpec(name="notes", format="text", fields=FIELDS)
MATTER = """---
title: Tides
license: [CC-BY-4.0, MIT]
lang: en
sources:
  - http://a.test/one
  - notes:two
model: writer-1
---
# Another heading

Words.
"""


def read(folder: Path, spec: SourceSpec = SPEC, max_bytes: int = 10_000) -> dict[str, RawRecord]:
    [part] = list_files(spec, str(folder), "s")
    return {str(record.file): record for record in TEXT.read(part, spec, max_bytes)}


def test_each_file_is_a_record_with_its_text_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.md").write_bytes(b"\r\n# One *star*\r\n\r\nText.\r\n")
    (tmp_path / "two.txt").write_text("# not a heading here\nünder")
    (tmp_path / "wide.txt").write_bytes("wide words".encode("utf-16"))
    found = read(tmp_path)
    assert list(found) == ["a/one.md", "two.txt", "wide.txt"]
    one = found["a/one.md"]
    assert (one.text, one.title) == ("\r\n# One *star*\r\n\r\nText.\r\n", "One *star*")
    assert (one.key, one.offset, one.length, one.damage) == ("a/one.md", 0, 25, None)
    assert (found["two.txt"].title, found["two.txt"].text) == (None, "# not a heading here\nünder")
    assert found["wide.txt"].text == "wide words"


def test_front_matter_gives_the_fields_that_the_source_maps(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(MATTER)
    found = read(tmp_path)["a.md"]
    assert (found.title, found.licence, found.language) == ("Tides", "CC-BY-4.0 AND MIT", "en")
    assert found.derived_from == ("http://a.test/one", "notes:two")
    assert found.generator == "writer-1"
    assert found.text == MATTER
    labelled = SourceSpec(name="notes", format="text", fields={"labels": {"tongue": "lang"}})
    assert read(tmp_path, labelled)["a.md"].labels == {"tongue": "en"}
    plain = SourceSpec(name="notes", format="text", generator="writer-2")
    found = read(tmp_path, plain)["a.md"]
    assert (found.title, found.licence, found.derived_from) == ("Another heading", None, ())
    assert found.generator == "writer-2"


@pytest.mark.parametrize(
    "broken",
    ["---\na: [\n---\n", "---\nno end\n", "---\n- list\n---\n", "---\nd: 2024-99-99\n---\n",
     "---\n" + "[" * 3000 + "\n---\n", "--- a\n---\n"],
)  # fmt: skip
def test_broken_front_matter_is_text(broken: str) -> None:
    assert front_matter(broken + "words")[1] == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A #\n", "A"),
        ("words\n\n## B\n", "B"),
        ("C  c\n=====\n", "C c"),
        ("D\n---\n", "D"),
        ("```\n# code\n```\n# E\n", "E"),
        ("~~~~\n```\n# code\n~~~\n# code\n~~~~\n# F\n", "F"),
        ("#no space\n", None),
        ("\n---\n", None),
        ("# " + "x" * 900, "x" * 500),
        ("", None),
    ],
)
def test_the_first_heading_is_the_title(text: str, expected: str | None) -> None:
    assert first_heading(text) == expected


def test_what_is_no_text_or_too_large_is_a_record_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"PK\0\0\1")
    (tmp_path / "b.txt").write_bytes(bytes(range(1, 256)) * 20)
    (tmp_path / "c.txt").write_bytes(b"x" * 10_001)
    (tmp_path / "d.txt").write_bytes(b"")
    found = read(tmp_path)
    assert [(each.damage, each.detail) for each in found.values()] == [
        ("not_text", "nul_bytes"),
        ("not_text", "cp1252"),
        ("too_large", "10001"),
        (None, None),
    ]
    assert len({each.payload_digest for each in list(found.values())[:3]}) == 3


def test_a_file_that_changed_since_it_was_pinned_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    [part] = list_files(SPEC, str(tmp_path), "s")
    (tmp_path / "a.txt").write_text("after!")
    with pytest.raises(SourceError, match="a.txt: pinned as"):
        list(TEXT.read(part, SPEC, 100))
