"""Kinds of lines: known or by form, of changed texts, of running text alone."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.line_kinds import LINE_KIND, LINE_KINDS
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import (
    IS_PROSE,
    KINDS_OF_TEXT,
    OTHER,
    chars_by_kind,
    has_known_kinds,
    kept_places,
    kinds_after,
    kinds_column,
    kinds_of_left,
    kinds_of_lines,
    lines_of_kind,
    prose_of,
)
from corpus_assets.text.pieces import copy_pieces

LINES = st.lists(
    st.tuples(st.sampled_from(["", "  ", "a", " é b", "漢字", "- x"]), st.sampled_from(LINE_KINDS)),
    min_size=1,
    max_size=6,
)
Lines = list[tuple[str, str]]


def batch_of(texts: Sequence[str], kinds: Sequence[Sequence[str] | None]) -> TextBatch:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    batch.columns[KINDS_OF_TEXT] = kinds_column(
        None if own is None else [LINE_KIND[name] for name in own] for own in kinds
    )
    return batch


def drawn(documents: list[Lines]) -> TextBatch:
    """A batch of texts; kinds of blank lines are as extraction has them."""
    kinds = [[kind if line.strip() else "other" for line, kind in one] for one in documents]
    return batch_of(["\n".join(line for line, _ in one) for one in documents], kinds)


def names(kinds: "np.ndarray | Sequence[int]") -> list[str]:  # type: ignore[type-arg]
    return [LINE_KINDS[int(kind)] for kind in kinds]


def test_a_known_kind_holds_and_an_unknown_line_is_told_by_its_form() -> None:
    text = "A heading\n\n- an item\nrun();\nplain"
    own = ["heading_2", "other", "quotation", "unknown", "unknown"]
    batch = batch_of([text, text], [own, None])
    assert names(kinds_of_lines(batch)) == [
        *("heading_2", "quotation", "code", "other"),
        *("other", "list_item", "code", "other"),
    ]
    assert has_known_kinds(batch).tolist() == [True, False]
    assert lines_of_kind(batch, "heading_2", "quotation").tolist() == [2, 0]
    assert chars_by_kind(batch, "quotation").tolist() == [len("- an item"), 0]


def test_kinds_of_another_text_are_not_taken_for_its_own() -> None:
    batch = batch_of(["one\ntwo"], [["code"]])
    assert not has_known_kinds(batch).any()


@given(st.lists(LINES, max_size=4))
def test_kinds_are_those_of_each_line_that_is_not_blank(documents: list[Lines]) -> None:
    batch = drawn(documents)
    expected = [kind for one in documents for line, kind in one if line.strip()]
    found = names(kinds_of_lines(batch))
    known = [pair for pair in zip(found, expected, strict=True) if pair[1] != "unknown"]
    assert all(kind == own for kind, own in known)


@given(st.lists(LINES, max_size=4))
def test_prose_is_what_is_no_item_code_table_heading_or_formula(documents: list[Lines]) -> None:
    batch = drawn([[(line, kind) for line, kind in one if kind != "unknown"] or [("a", "code")] for one in documents])  # fmt: skip
    for text, kinds, prose in zip(
        batch.texts.to_pylist(),
        batch.columns[KINDS_OF_TEXT].to_pylist(),
        prose_of(batch).texts.to_pylist(),
        strict=True,
    ):
        lines = list(zip(text.split("\n"), kinds, strict=True))
        inked = [line for line, kind in lines if line.strip() and IS_PROSE[kind]]
        if not inked:
            assert prose == text
            continue
        kept, follows = [], True
        for line, kind in lines:
            follows = bool(IS_PROSE[kind]) if line.strip() else follows
            kept += [line] if follows else []
        assert prose.rstrip("\n") == "\n".join(kept).rstrip("\n")


@given(LINES, st.sets(st.integers(0, 40)))
def test_a_line_of_what_is_left_is_what_its_first_character_was(
    lines: Lines, gone: set[int]
) -> None:
    batch = drawn([lines])
    text, kinds = batch.texts[0].as_py(), batch.columns[KINDS_OF_TEXT][0].as_py()
    owners = [number for number, (line, _) in enumerate(lines) for _ in (*line, "\n")]
    left = [at for at in range(len(text)) if at not in gone]
    after = "".join(text[at] for at in left)
    expected, at = [], 0
    for line in after.split("\n"):
        ink = [left[at + k] for k, char in enumerate(line) if not char.isspace()]
        expected.append(kinds[owners[ink[0]]] if ink else OTHER)
        at += len(line) + 1
    stretches = [(at, at + 1) for at in left]
    assert kinds_after(text, kinds, after, kept_places(stretches)) == expected

    ends = np.cumsum([0, *(len(char.encode()) for char in text)])
    pieces = np.array([(ends[at], ends[at + 1]) for at in left], np.int64).reshape(-1, 2)
    rows = np.array([0, len(left)], np.int64)
    rest = TextBatch.from_bytes(*copy_pieces(batch.data, pieces, rows))
    assert kinds_of_left(batch, rest, pieces, rows).to_pylist() == [expected]


def test_a_line_that_begins_with_a_replacement_is_what_stood_there() -> None:
    text = "head\nsome@one.example wrote\nx = 1"
    kinds = [LINE_KIND[name] for name in ("heading_1", "paragraph", "code")]
    places = [(0, 0, 5), (5, 5, 5), (12, 21, len(text))]
    after = "head\n<email> wrote\nx = 1"
    assert kinds_after(text, kinds, after, places) == kinds
    assert kinds_after(text, kinds[:2], after, places) is None
