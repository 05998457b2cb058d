"""Cleaning: what goes, what is put in its place, and the way back from every character."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.text import extracted_range
from corpus_assets.documents import FINAL_TEXT
from corpus_assets.stages.boilerplate import BoilerplateSettings, line_key
from corpus_assets.stages.clean_text import (
    Cleaned,
    CleanTextSettings,
    apply_edits,
    clean,
    clean_documents,
)
from corpus_assets.stages.scrub import ScrubSettings

HOST = "a.example.org"
FOOTER = "Subscribe to our newsletter at news@example.org"
BOILERPLATE = frozenset({line_key(HOST, FOOTER), line_key(HOST, "A second repeated line")})
SETTINGS = CleanTextSettings(min_chars=10)


def cleaned(text: str, settings: CleanTextSettings = SETTINGS) -> Cleaned:
    return clean(text, HOST, BOILERPLATE.__contains__, settings)


def test_boilerplate_lines_go_with_their_line_break() -> None:
    done = cleaned(f"First line.\n{FOOTER}\nLast line.")
    assert done.text == "First line.\nLast line."
    assert done.boilerplate_lines == 1


def test_a_line_of_another_site_stays() -> None:
    text = f"First line.\n{FOOTER}"
    done = clean(text, "b.example.org", BOILERPLATE.__contains__, SETTINGS)
    assert done.boilerplate_lines == 0


def test_addresses_are_replaced_and_counted() -> None:
    done = cleaned("Ask jane@example.org or bob@example.org at 93.184.216.34, not 10.0.0.1.")
    assert done.text == "Ask <email> or <email> at <ip>, not 10.0.0.1."
    assert (done.emails, done.ip_addresses, done.boilerplate_lines) == (2, 1, 0)


def test_an_address_in_a_line_that_goes_is_not_counted() -> None:
    done = cleaned(f"Before.\n{FOOTER}\nAsk jane@example.org.")
    assert done.text == "Before.\nAsk <email>."
    assert (done.emails, done.boilerplate_lines) == (1, 1)


def test_placeholders_are_a_setting() -> None:
    settings = CleanTextSettings(scrub=ScrubSettings(email_placeholder="", ip_placeholder="[IP]"))
    assert cleaned("x a@b.org y 8.8.8.8 z", settings).text == "x  y [IP] z"


def test_without_a_blocklist_all_lines_stay() -> None:
    text = f"First line.\n{FOOTER.split(' at ')[0]}"
    assert clean(text, HOST, None, SETTINGS).text == text


def test_a_clean_text_has_no_edits() -> None:
    done = cleaned("Nothing to see here.")
    assert (done.text, done.edits) == ("Nothing to see here.", [])


PIECES = st.sampled_from(
    [
        *(FOOTER, "A second repeated line", "jane@example.org", "8.8.8.8", "10.0.0.1", " ", "\n"),
        *("\n\n", "word", "日本語", "é", "𝔘", "2001:4860:4860::8888", "a@b.org,"),
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)


def place_by_place(edits: list[tuple[int, int, int]], text: str) -> list[tuple[int, int]]:
    """The reference: for each final character, the range of extracted text that it stands for."""
    places: list[tuple[int, int]] = []
    at = 0
    for start, end, new_length in edits:
        places += [(i, i + 1) for i in range(at, start)]
        places += [(start, end)] * new_length
        at = end
    return places + [(i, i + 1) for i in range(at, len(text))]


@given(TEXTS)
def test_every_final_character_leads_back_to_the_extracted_text(text: str) -> None:
    done = cleaned(text)
    edits = [(e.start, e.end, len(e.replacement)) for e in done.edits]
    places = place_by_place(edits, text)
    assert len(places) == len(done.text)
    replaced = {(e.start, e.end): e.replacement for e in done.edits}
    for i, (start, end) in enumerate(places):
        if (start, end) in replaced:
            assert done.text[i] in replaced[start, end]
        else:
            assert done.text[i] == text[start:end]
        assert extracted_range(edits, i, i + 1) == (start, end)  # the catalog goes the same way


@given(TEXTS)
def test_edits_are_ordered_and_do_not_overlap(text: str) -> None:
    done = cleaned(text)
    end = 0
    for edit in done.edits:
        assert end <= edit.start < edit.end <= len(text)
        end = edit.end
    assert apply_edits(text, done.edits) == done.text
    counted = done.boilerplate_lines + done.emails + done.ip_addresses
    assert counted == len(done.edits)


@given(st.lists(PIECES, max_size=25).map(" ".join))
def test_no_address_and_no_repeated_line_is_left(text: str) -> None:
    assert cleaned(cleaned(text).text).edits == []


def documents(texts: list[str], domain: str = "web", host: str | None = HOST) -> pa.Table:
    return pa.table(
        {
            "doc_id": pa.array([bytes([i]) * 16 for i in range(len(texts))], pa.binary(16)),
            "domain": pa.array([domain] * len(texts), pa.string()),
            "host": pa.array([host] * len(texts), pa.string()),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def clean_all(table: pa.Table, settings: CleanTextSettings = SETTINGS) -> tuple[pa.Table, Any]:
    tiers = pa.chunked_array([["high"] * table.num_rows], pa.string())
    languages = pa.chunked_array([["en"] * table.num_rows], pa.string())
    return clean_documents(table, tiers, languages, BOILERPLATE, settings)


def test_documents_keep_their_order_and_their_edits() -> None:
    final, survived = clean_all(documents([f"A first text.\n{FOOTER}", "Ask jane@example.org ok"]))
    assert final.schema.equals(FINAL_TEXT)
    assert survived == [True, True]
    rows = final.to_pylist()
    assert [row["text"] for row in rows] == ["A first text.\n", "Ask <email> ok"]
    assert rows[0]["edits"] == [{"start": 14, "end": 14 + len(FOOTER), "new_length": 0}]
    assert rows[1]["edits"] == [{"start": 4, "end": 20, "new_length": 7}]
    assert [(r["tier"], r["language"], r["emails"]) for r in rows] == [
        ("high", "en", 0),
        ("high", "en", 1),
    ]


@pytest.mark.parametrize(
    ("text", "alive"),
    [("a" * 10, True), ("a" * 9, False), (" " * 50 + "a" * 9 + "\n" * 50, False), ("", False)],
)
def test_what_is_too_short_after_cleaning_does_not_survive(text: str, alive: bool) -> None:
    final, survived = clean_all(documents([text]))
    assert survived == [alive]
    assert final.num_rows == int(alive)


def test_what_was_only_boilerplate_does_not_survive() -> None:
    _, survived = clean_all(documents([f"{FOOTER}\nA second repeated line\n"]))
    assert survived == [False]


def test_lines_of_other_domains_stay() -> None:
    final, _ = clean_all(documents(["Text.\nA second repeated line"], domain="books"))
    assert final["boilerplate_lines"].to_pylist() == [0]


def test_a_document_without_a_host_is_cleaned_as_one_without_a_site() -> None:
    line = "A line of no site at all"
    settings = CleanTextSettings(min_chars=5, boilerplate=BoilerplateSettings(domains=("web",)))
    table = documents([f"Short text.\n{line}"], host=None)
    tiers = pa.chunked_array([["high"]], pa.string())
    final, _ = clean_documents(table, tiers, tiers, frozenset({line_key("", line)}), settings)
    assert final["text"].to_pylist() == ["Short text.\n"]


def test_no_documents_give_an_empty_table() -> None:
    final, survived = clean_all(documents([]))
    assert final.equals(FINAL_TEXT.empty_table())
    assert survived == []
