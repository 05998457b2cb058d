"""What a line is, by its own form."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.text.batch import TextBatch
from corpus_assets.text.characters import char_tables
from corpus_assets.text.line_forms import (
    CODE,
    HEADING,
    HEADING_CHARS,
    ITEM,
    OTHER,
    PROSE,
    PROSE_WORDS,
    ROW,
    line_forms,
)
from corpus_assets.text.running_words import running_words
from corpus_assets.text.unicode import class_table

ITEMS = re.compile(r"(?:[-*+•‣⁃∙▪○●◦–·]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]")
MARKS = re.compile(  # also where they overlap
    r"(?=(==|!=|\+=|-=|\*=|/=|=>|->|::|&&|\|\||</|\"\]|'\]|\(\)|\[\]|:=| = |[A-Za-z]_[A-Za-z]"
    r"|\.[A-Za-z0-9_]+\())"
)
ENDED = tuple(".!?…。！？।۔؟።။")


def kinds_of(text: str) -> list[int]:
    batch = TextBatch.from_arrow(pa.array([text], pa.large_string()))
    spans, rows = batch.lines.spans, batch.lines.rows
    words = running_words(batch.data, spans, char_tables().classes, class_table())
    found: list[int] = line_forms(batch.data, batch.offsets, spans, rows, words).tolist()
    return found


def running(line: str) -> int:
    data = np.frombuffer(line.encode(), np.uint8)
    spans = np.array([[0, len(data), len(line)]], np.int64)
    return int(running_words(data, spans, char_tables().classes, class_table())[0])


def plain_kind(line: str) -> int:
    """The reference for a line outside of fences."""
    body = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if ITEMS.match(body):
        return ITEM
    if "\t" in body or " | " in body or (len(body) > 1 and "|" in (body[0], body[-1])):
        return ROW
    marks = [found for found in MARKS.finditer(body) if found.start() or found[1][0].isalpha()]
    if (
        len(indent.encode()) + 3 * indent.count("\t") >= 4
        or body.endswith(("{", "}", ";", "\\"))
        or body.startswith(("{", "}", "<", "//", "/*", "#!", "$ ", ">>"))
        or marks
    ):
        return CODE
    if body.startswith("#"):
        return HEADING
    words, ended = running(body), body.endswith(ENDED)
    if words >= PROSE_WORDS or (ended and words >= 3):
        return PROSE
    has_letter = any(char.isalpha() or not char.isascii() for char in body)
    return HEADING if has_letter and not ended and len(body) <= HEADING_CHARS else OTHER


PIECES = st.sampled_from(
    [
        *"abZ1.|;{}()[]=_-*+#<>$\\/:\"'&!?",
        " ",
        " ",
        "  ",
        "\t",
        "    ",
        "•",
        "漢",
        "。",
        " word",
        "1.",
        "ef(",
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_kinds_are_those_of_the_plain_rules(line: str) -> None:
    if line.strip() and not line.strip().startswith(("```", "~~~")) and not line.isspace():
        assert kinds_of(line) == [plain_kind(line)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("- 1 teaspoon salt", ITEM),
        ("12) Stir well", ITEM),
        ("(a) All of the above", ITEM),
        ("• zwei Eier", ITEM),
        ("  * nested item", ITEM),
        ("1984 was a year", HEADING),
        ("flour | 2 cups", ROW),
        ("| a | b |", ROW),
        ("name\tvalue", ROW),
        ("sub vcl_recv {", CODE),
        ("import numpy.random as r;", CODE),
        ("x = 5", CODE),
        ("print(os.getcwd())", CODE),
        ("#!/bin/sh", CODE),
        ("$ pip install x", CODE),
        ("<div class=x>", CODE),
        ("    indented", CODE),
        ("## Changes", HEADING),
        ("Share this story with your friends", HEADING),
        ("The ferry left at noon, as it did on every day of that year.", PROSE),
        ("Er kam, sah und blieb.", PROSE),
        ("12.05.2024", OTHER),
        ("***", OTHER),
    ],
)
def test_lines_are_told_by_their_form(line: str, kind: int) -> None:
    assert kinds_of(line) == [kind]


def test_what_stands_between_fences_is_code() -> None:
    text = "Before it\n```python\nfrom a import b\n\nplain words\n```\nafter it\n~~~\n```\nx\n~~~\nend of it"
    assert kinds_of(text) == [HEADING, CODE, CODE, CODE, CODE, HEADING, *[CODE] * 4, HEADING]


def test_a_fence_that_is_never_closed_ends_with_its_document() -> None:
    batch = TextBatch.from_arrow(pa.array(["```\ncode words", "plain words"], pa.large_string()))
    spans, rows = batch.lines.spans, batch.lines.rows
    words = np.zeros(len(spans), np.int64)
    assert line_forms(batch.data, batch.offsets, spans, rows, words).tolist()[2] != CODE
