"""Cleaning: what goes, what is put in its place, and the way back from every character."""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.line_kinds import LINE_KIND
from catalog.formats.token_text import extracted_range
from corpus_assets.clean import clean_text
from corpus_assets.clean.clean_text import Cleaned, clean_documents
from corpus_assets.clean.edits import apply_edits, stretches_of_left
from corpus_assets.clean.keyed_lines import line_key
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.settings import BoilerplateSettings, CleanTextSettings
from corpus_assets.core.schemas import FINAL_TEXT
from corpus_assets.core.task import parquet_bytes
from corpus_assets.scrub.settings import (
    RecognizerSettings,
    ScrubSettings,
)
from corpus_assets.scrub.text_hashes import HashList, text_digest
from corpus_assets.signals.published.c4_lines import C4Lines
from corpus_assets_tests.scrub.one_text import find_personal_data
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages

HOST = "a.example.org"
FOOTER = "Subscribe to our newsletter at news@example.org"
LINES = frozenset({line_key("", FOOTER), line_key("", "A second repeated line")})


def listed(lines: Iterable[int]) -> Boilerplate:
    """Lines that no document keeps."""
    return Boilerplate(np.array(sorted(lines), np.uint64))


BOILERPLATE = listed(LINES)
ANYWHERE = BoilerplateSettings(bucket="snapshot")
SETTINGS = CleanTextSettings(min_chars=10, boilerplate=ANYWHERE)


def clean(
    text: str,
    host: str,
    lines: frozenset[int],
    settings: CleanTextSettings,
    cuts: list[tuple[int, int]] | None = None,
) -> Cleaned:
    """The plain way: line by line, finding by finding."""
    repeated = []
    start = 0
    for line in _lines(text):
        if len(line.strip()) >= settings.boilerplate.min_chars and line_key("", line) in lines:
            repeated.append((start, start + len(line)))
        start += len(line)
    found = find_personal_data(text, settings.scrub)
    places = {"benchmark_item": cuts or []}
    return clean_text.clean(text, repeated, found, settings.scrub, cuts=places)


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def cleaned(text: str, settings: CleanTextSettings = SETTINGS) -> Cleaned:
    return clean(text, HOST, LINES, settings)


def test_boilerplate_lines_go_with_their_line_break() -> None:
    done = cleaned(f"First line.\n{FOOTER}\nLast line.")
    assert done.text == "First line.\nLast line."
    assert done.boilerplate_lines == 1


def test_addresses_are_replaced_and_counted() -> None:
    done = cleaned("Ask jane@example.org or bob@example.org at 93.184.216.34, not 10.0.0.1.")
    assert done.text == "Ask <email> or <email> at <ip>, not 10.0.0.1."
    assert (done.scrubbed, done.boilerplate_lines) == ({"email": 2, "ip": 1}, 0)


def test_an_address_in_a_line_that_goes_is_not_counted() -> None:
    done = cleaned(f"Before.\n{FOOTER}\nAsk jane@example.org.")
    assert done.text == "Before.\nAsk <email>."
    assert (done.scrubbed, done.boilerplate_lines) == ({"email": 1}, 1)


def test_placeholders_are_a_setting() -> None:
    settings = CleanTextSettings(scrub=ScrubSettings(placeholders={"email": "", "ip": "[IP]"}))
    assert cleaned("x a@b.org y 93.184.216.34 z", settings).text == "x  y [IP] z"


def test_without_a_blocklist_all_lines_stay() -> None:
    text = f"First line.\n{FOOTER.split(' at ')[0]}"
    assert clean(text, HOST, frozenset(), SETTINGS).text == text


def test_a_clean_text_has_no_edits() -> None:
    done = cleaned("Nothing to see here.")
    assert (done.text, done.edits) == ("Nothing to see here.", [])


PIECES = st.sampled_from(
    [
        *(
            FOOTER,
            "A second repeated line",
            "jane@example.org",
            "93.184.216.34",
            "10.0.0.1",
            " ",
            "\n",
        ),
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
    counted = done.boilerplate_lines + done.scrubbed.total()
    assert counted == len(done.edits)


@given(st.lists(PIECES, max_size=25).map(" ".join))
def test_no_address_and_no_repeated_line_is_left(text: str) -> None:
    assert cleaned(cleaned(text).text).edits == []


def documents(texts: list[str], domain: str = "web", host: str | None = HOST) -> pa.Table:
    return pa.table(
        {
            "doc_id": pa.array([bytes([i % 256]) * 16 for i in range(len(texts))], pa.binary(16)),
            "domain": pa.array([domain] * len(texts), pa.string()),
            "host": pa.array([host] * len(texts), pa.string()),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def clean_all(table: pa.Table, settings: CleanTextSettings = SETTINGS) -> tuple[pa.Table, Any, Any]:
    tiers = pa.chunked_array([["high"] * table.num_rows], pa.string())
    languages = pa.chunked_array([["en"] * table.num_rows], pa.string())
    return clean_documents(table, tiers, languages, BOILERPLATE, settings)[:3]


def test_documents_keep_their_order_and_their_edits() -> None:
    final, reasons, *_ = clean_all(
        documents([f"A first text.\n{FOOTER}", "Ask jane@example.org ok"])
    )
    assert final.schema.equals(FINAL_TEXT)
    assert reasons == [None, None]
    rows = final.to_pylist()
    assert [row["text"] for row in rows] == ["A first text.\n", "Ask <email> ok"]
    line = {"start": 14, "end": 14 + len(FOOTER), "new_length": 0, "kind": "boilerplate_line"}
    assert rows[0]["edits"] == [line]
    assert rows[1]["edits"] == [{"start": 4, "end": 20, "new_length": 7, "kind": "email"}]
    assert [(r["tier"], r["language"], r["scrubbed"]) for r in rows] == [
        ("high", "en", []),
        ("high", "en", [("email", 1)]),
    ]


def test_lines_keep_their_kinds_through_every_edit() -> None:
    text = f"A heading\n{FOOTER}\nAsk jane@example.org ok\nx = 1;"
    kinds = [LINE_KIND[name] for name in ("heading_2", "paragraph", "paragraph", "code")]
    column = pa.array([kinds, None], pa.list_(pa.uint8()))
    final, *_ = clean_all(documents([text, text]).append_column("line_kinds", column))
    assert final["text"][0].as_py() == "A heading\nAsk <email> ok\nx = 1;"
    assert final["line_kinds"].to_pylist() == [[kinds[0], *kinds[2:]], None]


def test_a_repeated_line_stays_where_it_is_known_to_be_an_item() -> None:
    text = f"A first text.\n{FOOTER}"
    for kind, is_cut in (("list_item", False), ("formula", False), ("paragraph", True)):
        kinds = [[LINE_KIND["paragraph"], LINE_KIND[kind]]]
        column = pa.array(kinds, pa.list_(pa.uint8()))
        final, *_ = clean_all(documents([text]).append_column("line_kinds", column))
        assert (final["boilerplate_lines"][0].as_py() == 1) is is_cut


@pytest.mark.parametrize(
    ("text", "alive"),
    [("a" * 10, True), ("a" * 9, False), (" " * 50 + "a" * 9 + "\n" * 50, False), ("", False)],
)
def test_what_is_too_short_after_cleaning_does_not_survive(text: str, alive: bool) -> None:
    final, reasons, *_ = clean_all(documents([text]))
    assert reasons == [None if alive else "too_short_after_cleaning"]
    assert final.num_rows == int(alive)


def test_what_was_only_boilerplate_does_not_survive() -> None:
    _, reasons, details = clean_all(documents([f"{FOOTER}\nA second repeated line\n"]))
    assert reasons == ["too_short_after_cleaning"]
    length = len(FOOTER) + 1 + len("A second repeated line")
    assert details == [f"{length} of {length} characters cut"]


def test_what_was_too_short_before_was_not_emptied_by_cleaning() -> None:
    _, reasons, details = clean_all(documents(["a b"]))
    assert (reasons, details) == (["too_short_after_cleaning"], [None])


def test_lines_of_other_domains_stay() -> None:
    final, *_ = clean_all(documents(["Text.\nA second repeated line"], domain="books"))
    assert final["boilerplate_lines"].to_pylist() == [0]


def test_a_document_without_a_host_is_cleaned_as_one_without_a_site() -> None:
    line = "A line of no site at all"
    settings = CleanTextSettings(min_chars=5)
    table = documents([f"Short text.\n{line}"], host=None)
    tiers = pa.chunked_array([["high"]], pa.string())
    final, *_ = clean_documents(table, tiers, tiers, listed([line_key("", line, -1)]), settings)
    assert final["text"].to_pylist() == ["Short text.\n"]


def test_no_documents_give_an_empty_table() -> None:
    final, reasons, *_ = clean_all(documents([]))
    assert final.equals(FINAL_TEXT.empty_table())
    assert reasons == []


def test_a_text_with_too_few_sentences_left_goes_for_that() -> None:
    kept = "One sentence here. Another one! A third"
    texts = [kept, f"One sentence here. Another one!\n{FOOTER}", f"{kept}\n{FOOTER}", "Short."]
    settings = CleanTextSettings(min_chars=10, min_sentences=3, boilerplate=ANYWHERE)
    _, reasons, _ = clean_all(documents(texts), settings)
    assert reasons == [None, "too_few_sentences_after_cleaning", None, "too_short_after_cleaning"]
    _, reasons, _ = clean_all(documents(texts), CleanTextSettings(min_chars=10))
    assert reasons == [None, None, None, "too_short_after_cleaning"]


def test_a_cut_goes_whatever_it_holds() -> None:
    text = "Ask jane@example.org now, or bob@example.org later on."
    tiers = pa.chunked_array([["high"]], pa.string())
    cuts = [{"repeated_span": [(0, 26)]}]
    final, *_ = clean_documents(documents([text]), tiers, tiers, BOILERPLATE, SETTINGS, cuts=cuts)
    row = final.to_pylist()[0]
    assert row["text"] == "or <email> later on."
    assert row["edits"][0] == {"start": 0, "end": 26, "new_length": 0, "kind": "repeated_span"}


def test_an_address_that_reaches_out_of_a_cut_is_replaced_beside_it() -> None:
    text = "Some words, jane@example.org, and more words."
    done = clean(text, HOST, frozenset(), SETTINGS, cuts=[(5, 15), (18, 20)])
    assert done.text == "Some <email>, and more words."
    assert [(e.start, e.end) for e in done.edits] == [(5, 15), (15, 18), (18, 20), (20, 28)]


def test_where_a_cut_and_a_repeated_line_overlap_the_line_has_the_place() -> None:
    text = f"First line here.\n{FOOTER}\nLast line."
    done = clean(text, HOST, LINES, SETTINGS, cuts=[(6, 30)])
    assert done.text == "First Last line."
    places = [(edit.start, edit.end, edit.kind) for edit in done.edits]
    end = 17 + len(FOOTER) + 1
    assert places == [(6, 17, "benchmark_item"), (17, end, "boilerplate_line")]
    assert done.boilerplate_lines == 1


@given(st.lists(st.integers(0, 3), max_size=20), st.lists(st.integers(0, 4), max_size=20))
def test_cuts_of_the_extracted_text_become_cuts_of_what_is_left(
    kept_runs: list[int], cut_runs: list[int]
) -> None:
    def stretches(runs: list[int]) -> list[tuple[int, int]]:
        ends = [sum(runs[: k + 1]) for k in range(len(runs))]
        pairs = zip(ends[::2], ends[1::2], strict=False)
        return [(start, end) for start, end in pairs if start < end]

    kept, cuts = stretches(kept_runs), stretches(cut_runs)
    left = [place for low, high in kept for place in range(low, high)]
    expected = {
        at for at, place in enumerate(left) if any(start <= place < end for start, end in cuts)
    }
    found = [at for low, high in stretches_of_left(kept, cuts) for at in range(low, high)]
    assert sorted(expected) == found


PLANTED = (
    "jane@example.org", "+49 30 901820", "93.184.216.34", "4111 1111 1111 1111", FOOTER,
    "A second repeated line", "GB29NWBK60161331926819", "\n", "\n", " ", "漢字", "été",
)  # fmt: skip


def planted_texts(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    pages = [*ADVERSARIAL, *random_pages(seed, n)]
    return ["".join([*draw.choices(PLANTED, k=draw.randrange(9)), page]) for page in pages]


@pytest.mark.parametrize("with_steps", [False, True])
def test_a_batch_is_cleaned_as_each_document_alone(with_steps: bool) -> None:
    texts = planted_texts(5, 40 if with_steps else 300)
    steps = [C4Lines(end_marks="", min_words=1)] if with_steps else []
    tiers = pa.chunked_array([["high"] * len(texts)], pa.string())
    final, reasons, *_ = clean_documents(
        documents(texts), tiers, tiers, BOILERPLATE, SETTINGS, steps=steps
    )
    rows = iter(final.to_pylist())
    for number, (text, reason) in enumerate(zip(texts, reasons, strict=True)):
        tier = pa.chunked_array([["high"]], pa.string())
        alone, alone_reasons, *_ = clean_documents(
            documents([text]), tier, tier, BOILERPLATE, SETTINGS, steps=steps
        )
        assert [reason] == alone_reasons
        if reason is None:
            row, expected = next(rows), alone.to_pylist()[0]
            assert row["doc_id"] == bytes([number % 256]) * 16
            assert row | {"doc_id": b""} == expected | {"doc_id": b""}
        if not with_steps:
            done = cleaned(text)
            short = len((text if done.text is None else done.text).strip()) < SETTINGS.min_chars
            assert reason == ("too_short_after_cleaning" if short else None)
            if reason is None:
                assert row["text"] == done.text
                assert row["scrubbed"] == sorted(done.scrubbed.items())
                assert row["boilerplate_lines"] == done.boilerplate_lines


def reasons_of(texts: list[str], settings: CleanTextSettings, **more: Any) -> list[str | None]:
    tiers = pa.chunked_array([["high"] * len(texts)], pa.string())
    domain = more.pop("domain", "web")
    table = documents(texts, domain=domain)
    return clean_documents(table, tiers, tiers, BOILERPLATE, settings, **more)[1]


HOLDERS = {
    "email": "Write to jane@example.org today, please do.",
    "ip": "The server is at 93.184.216.34 since Monday.",
    "phone": "Call us: +49 30 901820, we are there all day.",
    "credit_card": "My card is 4111 1111 1111 1111, charge it.",
    "iban": "Pay to DE89 3704 0044 0532 0130 00 by Friday.",
    "national_id": "Her number is 078-05-1120, as on the card.",
    "api_key": "key = AKIAIOSFODNN7EXAMPLE  # do not commit",
    "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n",
    "secret": "password = 'Xk29fLq0Zr81mNpT'  # of the test user",
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_document_that_holds_a_kind_is_dropped_where_the_recipe_says_so(kind: str) -> None:
    settings = CleanTextSettings(min_chars=10, scrub=ScrubSettings(drop=(kind,)))
    texts = [HOLDERS[kind], "Nothing of the kind stands here at all."]
    assert reasons_of(texts, settings) == [f"holds_{kind}", None]
    left = CleanTextSettings(min_chars=10, scrub=ScrubSettings(replace=()))
    assert reasons_of(texts, left) == [None, None]


def test_what_is_done_can_differ_by_domain() -> None:
    scrub = ScrubSettings(drop=("private_key",), by_domain={"code": {"private_key": "replace"}})
    settings = CleanTextSettings(min_chars=10, scrub=scrub)
    text = [HOLDERS["private_key"] + "and more text"]
    assert reasons_of(text, settings) == ["holds_private_key"]
    assert reasons_of(text, settings, domain="code") == [None]


def test_documents_of_several_domains_are_each_treated_by_their_own_rule() -> None:
    scrub = ScrubSettings(by_domain={"code": {"email": "leave"}})
    table = documents([HOLDERS["email"], HOLDERS["email"], HOLDERS["ip"]])
    table = table.set_column(1, "domain", pa.array(["web", "code", "code"]))
    tiers = pa.chunked_array([["high"] * 3], pa.string())
    settings = CleanTextSettings(min_chars=10, scrub=scrub)
    final, *_ = clean_documents(table, tiers, tiers, listed([]), settings)
    assert final["scrubbed"].to_pylist() == [[("email", 1)], [], [("ip", 1)]]


def test_too_many_findings_drop_a_document() -> None:
    settings = CleanTextSettings(min_chars=10, scrub=ScrubSettings(max_findings=2))
    texts = [" and ".join(["jane@example.org"] * n) for n in (2, 3)]
    assert reasons_of(texts, settings) == [None, "too_much_personal_data"]


@pytest.mark.parametrize("form", ["text", "normalized"])
def test_a_text_whose_hash_is_listed_is_dropped(form: Any) -> None:
    listed = "A text that  must\nnot be there."
    hashes = [HashList(form, frozenset({text_digest(listed, form)}))]
    texts = [listed, "a text THAT must not be there.", "Another text altogether."]
    expected = ["listed_text_hash", "listed_text_hash" if form == "normalized" else None, None]
    assert reasons_of(texts, SETTINGS, hashes=hashes) == expected


class Names:
    """A recognizer that knows one name."""

    def identity(self) -> str:
        return "names 1"

    def find(self, texts: Any, languages: Any) -> Any:
        for text in texts:
            at = text.find("Ada Lovelace")
            yield [(at, at + 12, "person"), (0, 1, "other")] if at >= 0 else []


def test_what_a_recognizer_finds_is_replaced_where_no_rule_found_more() -> None:
    entry = RecognizerSettings(engine="x:y", kinds={"person": "replace"})
    settings = CleanTextSettings(min_chars=5, scrub=ScrubSettings(recognizers=(entry,)))
    texts = ["Ask Ada Lovelace for ada@example.org", "Nobody is here", "éé Ada Lovelace ßß"]
    tiers = pa.chunked_array([["high"] * 3], pa.string())
    final, *_ = clean_documents(
        documents(texts), tiers, tiers, listed([]), settings, recognizers=[Names()]
    )
    assert final["text"].to_pylist() == ["Ask <person> for <email>", texts[1], "éé <person> ßß"]
    assert final["scrubbed"].to_pylist() == [[("email", 1), ("person", 1)], [], [("person", 1)]]
    scrub = ScrubSettings(recognizers=(entry.model_copy(update={"kinds": {"person": "drop"}}),))
    dropping = CleanTextSettings(min_chars=5, scrub=scrub)
    assert reasons_of(texts, dropping, recognizers=[Names()]) == [
        "holds_person", None, "holds_person",
    ]  # fmt: skip


def test_final_text_is_written_alike_whether_its_rows_are_new_or_read_back() -> None:
    final, *_ = clean_all(documents([HOLDERS["email"], "Nothing of the kind stands here."]))
    data = parquet_bytes(final)
    again = pq.read_table(pa.BufferReader(data), use_threads=False)
    assert parquet_bytes(pa.concat_tables([again.slice(0, 1), final.slice(1)])) == data
