"""Shares of lines by kind, and signals of running text alone."""

import random
import unicodedata

import numpy as np
import pyarrow as pa
import pytest

from catalog.formats.line_kinds import LINE_KIND, LINE_KINDS
from corpus_assets.signals import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.signals.structure import SHARES
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import prose_of
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_texts

PAGE = [
    "Bread",
    "Mix flour and water, then wait for an hour.",
    "- flour",
    "- water",
    "- flour",
    "Thanks, that worked well for me.",
    "",
    "bake --hot",
]
KINDS = ("heading_1", "paragraph", "list_item", "list_item", "list_item", "post", "other", "code")


def documents(*texts: tuple[str, list[str] | None]) -> pa.Table:
    kinds = [None if own is None else [LINE_KIND[name] for name in own] for _, own in texts]
    return pa.table(
        {
            "doc_id": pa.array([k.to_bytes(16, "big") for k in range(len(texts))], pa.binary(16)),
            "domain": pa.array(["web"] * len(texts)),
            "line_kinds": pa.array(kinds, pa.list_(pa.uint8())),
            "text": pa.array([text for text, _ in texts], pa.large_string()),
        }
    )


def settings(*families: dict[str, object], **options: object) -> SignalSettings:
    return SignalSettings.model_validate({"families": families, **options})


def test_shares_are_of_the_characters_of_all_lines_and_null_where_nothing_is_known() -> None:
    table = documents(("\n".join(PAGE), list(KINDS)), ("\n".join(PAGE), None))
    found = compute_signals(table, settings({"family": "structure"}), {}).to_pylist()
    chars = sum(map(len, PAGE))
    assert found[0]["list_share"] == np.float32(21 / chars)
    assert found[0]["heading_share"] == np.float32(5 / chars)
    assert found[0]["code_share"] == np.float32(10 / chars)
    assert found[0]["table_share"] == found[0]["formula_share"] == 0
    assert found[0]["posts"] == 1
    assert {found[1][name] for name in ("list_share", "code_share", "posts")} == {None}


def plain_structure(text: str, kinds: list[str] | None) -> dict[str, float | int | None]:
    """The reference: line by line."""
    lines = list(zip(text.split("\n"), kinds or (), strict=kinds is not None))
    if all(kind == "unknown" for _, kind in lines):
        return dict.fromkeys([*SHARES, "posts"])
    whole = sum(len(line.strip()) for line, _ in lines)
    found: dict[str, float | int | None] = {}
    for name, counted in SHARES.items():
        chars = sum(len(line.strip()) for line, kind in lines if kind in counted)
        found[name] = float(np.float32(chars / whole)) if whole else 0.0
    posts = sum(kind == "post" for line, kind in lines if line.strip())
    return {**found, "posts": posts}


def test_shares_equal_the_reference_on_random_texts() -> None:
    draw = random.Random(5)
    texts = [text for text in (*ADVERSARIAL, *random_texts(seed=4, n=300)) if "\0" not in text]
    kinds = [
        draw.choices(LINE_KINDS, k=text.count("\n") + 1) if draw.random() < 0.9 else None
        for text in texts
    ]
    table = documents(*zip(texts, kinds, strict=True))
    found = compute_signals(table, settings({"family": "structure"}), {}).to_pylist()
    for row, text, own in zip(found, texts, kinds, strict=True):
        expected = plain_structure(text, own)
        assert {name: row[name] for name in expected} == expected


def test_no_documents_have_no_rows() -> None:
    families = ({"family": "repetition"}, {"family": "structure"})
    found = compute_signals(documents(), settings(*families, measured_lines="prose"), {})
    assert found.num_rows == 0


@pytest.mark.parametrize("kinds", [list(KINDS), None])
def test_bounds_on_lines_can_ask_running_text_alone(kinds: list[str] | None) -> None:
    families = ({"family": "repetition"}, {"family": "fineweb"})
    prose = "\n".join(
        line
        for line, kind in zip(PAGE, KINDS, strict=True)
        if kind in ("paragraph", "post", "other")
    )
    if kinds is None:  # by their form the heading and the command are lines like any other
        prose = "\n".join(line for line in PAGE if not line.startswith("- "))
    whole = documents(("\n".join(PAGE), kinds))
    measured = compute_signals(whole, settings(*families, measured_lines="prose"), {})
    expected = compute_signals(documents((prose, None)), settings(*families), {})
    for name in expected.column_names[2:]:
        if name != "newline_to_word_ratio" and "line_char" not in name:
            assert measured[name].to_pylist() == expected[name].to_pylist(), name
    published = compute_signals(whole, settings(*families), {})
    assert published["dup_line_share"][0].as_py() == np.float32(1 / 7)
    assert measured["dup_line_share"][0].as_py() == 0


def plain_alphabetic_share(text: str, kinds: list[str]) -> np.float32:
    """Of words outside of code and formulas, bars between cells and marks of items left out."""

    def counted(line: str, kind: str) -> list[str]:
        words = [] if kind in ("code", "formula") else line.split()
        if kind == "table_row":
            return [word for word in words if word != "|"]
        is_marked = kind == "list_item" and words[:1] in (["-"], ["*"], ["+"])
        return words[1:] if is_marked else words

    lines = zip(text.split("\n"), kinds, strict=True)
    words = [word for line, kind in lines for word in counted(line, kind)] or text.split()
    alphabetic = sum(any(unicodedata.category(c).startswith("L") for c in word) for word in words)
    return np.float32(alphabetic / len(words)) if words else np.float32(0)


def test_words_with_letters_are_a_share_of_words_that_are_language() -> None:
    draw = random.Random(6)
    known = [kind for kind in LINE_KINDS if kind != "unknown"]
    words = ["|", "-", "*", "+", "1/2", "cup", "x", "=", "é"]
    texts = [
        "\n".join(" ".join(draw.choices(words, k=draw.randint(0, 5))) for _ in range(4))
        for _ in range(300)
    ]
    kinds = [draw.choices(known, k=4) for _ in texts]
    table = documents(*zip(texts, kinds, strict=True))
    asked = settings({"family": "gopher_quality"}, measured_lines="prose")
    found = compute_signals(table, asked, {})["alphabetic_word_share"].to_pylist()
    assert found == list(map(plain_alphabetic_share, texts, kinds))


def test_quantities_and_code_do_not_make_a_recipe_or_a_manual_symbols() -> None:
    recipe = "Stir well.\n- 2 eggs\n- 1 cup milk\nfat | 9 | g"
    manual = "Sorts the list.\nx = [3, 1] # { }\n( x ) ; }"
    table = documents(
        (recipe, ["paragraph", "list_item", "list_item", "table_row"]),
        (manual, ["paragraph", "code", "code"]),
        ("a = 1 + 1", ["code"]),
    )
    family = {"family": "gopher_quality"}
    published = compute_signals(table, settings(family), {})
    ours = compute_signals(table, settings(family, measured_lines="prose"), {})
    asked = [one["alphabetic_word_share"].to_pylist() for one in (published, ours)]
    assert asked[0] == [np.float32(n) for n in (7 / 14, 5 / 15, 1 / 5)]
    assert asked[1] == [np.float32(n) for n in (7 / 10, 1, 1 / 5)]
    for name in ours.column_names:
        assert name == "alphabetic_word_share" or ours[name].equals(published[name])


def test_running_text_is_made_once_for_all_families() -> None:
    batch = TextBatch.from_arrow(pa.array(["- a\nSome text."]))
    batch.columns["line_kinds"] = pa.array(
        [[LINE_KIND["list_item"], LINE_KIND["paragraph"]]], pa.list_(pa.uint8())
    )
    assert prose_of(batch) is prose_of(batch)
    assert prose_of(batch).texts.to_pylist() == ["Some text."]
    whole = TextBatch.from_arrow(pa.array(["Some text."]))
    assert prose_of(whole) is whole
    assert whole.prose is None


def test_a_text_without_running_text_is_measured_whole() -> None:
    items = documents(("- a\n- a", ["list_item", "list_item"]))
    measured = settings({"family": "repetition"}, measured_lines="prose")
    assert compute_signals(items, measured, {})["dup_line_share"][0].as_py() == np.float32(1 / 2)


def test_measured_lines_are_part_of_what_a_signal_is() -> None:
    published = settings({"family": "repetition"}).identity()
    assert published == settings({"family": "repetition"}, measured_lines="all").identity()
    assert published != settings({"family": "repetition"}, measured_lines="prose").identity()


def test_kinds_follow_a_step_that_cuts_lines() -> None:
    text = "\n".join(["short", *PAGE])
    table = documents((text, ["code", *KINDS]))
    steps = settings({"family": "squeeze_spaces"}, {"family": "structure"})
    found = compute_signals(table, steps, {}).to_pylist()[0]
    chars = sum(map(len, PAGE)) + len("short")
    assert found["code_share"] == np.float32(15 / chars)
    cut = settings({"family": "c4_lines"}, {"family": "structure"})
    left = compute_signals(table, cut, {}).to_pylist()[0]
    assert left["code_share"] == left["list_share"] == 0
    assert left["posts"] == 1
