"""Kinds of the lines of Markdown and source code."""

import pytest

import pageblocks
from catalog.formats.line_kinds import LINE_KINDS
from corpus_assets.ingest.records import RawRecord
from corpus_assets.ingest.written_lines import markdown_kinds, written_kinds


def test_the_extractor_and_the_files_mean_the_same_by_a_number() -> None:
    assert pageblocks.LINE_KINDS == LINE_KINDS


def named(text: str) -> list[str]:
    return [LINE_KINDS[kind] for kind in markdown_kinds(text)]


def record(file: str | None = None, path: str | None = None) -> RawRecord:
    return RawRecord(url=None, key="k", offset=0, length=0, text="", file=file, path=path)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("# One\n\n###### Six", ["heading_1", "other", "heading_6"]),
        ("Title\n=====\nSub\n---", ["heading_1", "heading_1", "heading_2", "heading_2"]),
        ("Some text\nthat goes on", ["paragraph", "paragraph"]),
        ("- one\n  more of it\n\n  a second paragraph\n\nText",
         ["list_item", "list_item", "other", "list_item", "other", "paragraph"]),
        ("1. one\n2) two\n\n    code below it", ["list_item", "list_item", "other", "list_item"]),
        ("```python\n# no heading\n\n```\nText", ["code"] * 4 + ["paragraph"]),
        ("~~~~\n```\n~~~~\n# One", ["code"] * 3 + ["heading_1"]),
        ("Text\n\n    indented = 1", ["paragraph", "other", "code"]),
        ("> said\n> so\n\nText", ["quotation", "quotation", "other", "paragraph"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\na | b", ["table_row"] * 3 + ["other", "paragraph"]),
        ("a | b\n--- | :-:\n1 | 2", ["table_row"] * 3),
        ("$$x^2$$\n$$\n\\frac{1}{3}\n$$\nText", ["formula"] * 4 + ["paragraph"]),
        ("***\n\n- - -\nText", ["other", "other", "other", "paragraph"]),
        ("---\ntitle: T\n---\n# One", ["other", "other", "other", "heading_1"]),
        ("<div class=x>\nText", ["other", "paragraph"]),
        ("```\nnever closed\n# One", ["code"] * 3),
        ("", ["other"]),
    ],
)  # fmt: skip
def test_lines_are_what_their_marks_say(text: str, kinds: list[str]) -> None:
    assert named(text) == kinds


def test_only_files_whose_form_is_known_have_kinds() -> None:
    assert written_kinds(record("notes/a.MD"), "# One") == markdown_kinds("# One")
    assert written_kinds(record("a.txt"), "# One") is None
    assert written_kinds(record(path="docs/guide.rst"), "Guide\n=====") is None
    kinds = written_kinds(record(path="src/a.py"), "# a comment\n\nx = 1")
    assert kinds is not None
    assert [LINE_KINDS[kind] for kind in kinds] == ["code", "other", "code"]
