"""Lines that a site repeats: counted over what is kept, told by key alone, and never the last copy
of prose."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.clean.boilerplate import (
    BOILERPLATE,
    COMMON_LINES,
    LINE_KEYS,
    Boilerplate,
    BoilerplateSettings,
    choose_keepers,
    common_lines,
    count_lines,
    find_candidates,
    line_key,
    line_keys,
    repeated_lines,
)
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.signals.base import TextBatch

FOOTER = "Subscribe to our newsletter today"
SETTINGS = BoilerplateSettings(min_documents=3)
Row = tuple[str | None, str]


def documents(rows: Sequence[Row], domain: str = "web", first: int = 0) -> pa.Table:
    """(host, text) rows with what is looked at; ids count from `first`."""
    ids = [(first + i).to_bytes(16, "big") for i in range(len(rows))]
    return pa.table(
        {
            "doc_id": pa.array(ids, DOC_ID),
            "domain": pa.array([domain] * len(rows), pa.string()),
            "host": pa.array([host for host, _ in rows], pa.string()),
            "text": pa.array([text for _, text in rows], pa.large_string()),
        }
    )


def pages(host: str | None, count: int, line: str = FOOTER) -> list[Row]:
    return [(host, f"{i:02d} is the number of this page\n{line}\n") for i in range(count)]


def keyed(table: pa.Table, settings: BoilerplateSettings = SETTINGS) -> pa.Table:
    return line_keys(TextBatch.from_arrow(table["text"]), table, settings)


def common(tables: Sequence[pa.Table], settings: BoilerplateSettings = SETTINGS) -> pa.Table:
    """Lines of enough documents; all documents are kept."""
    counts = [count_lines(keyed(table, settings), range(table.num_rows)) for table in tables]
    return common_lines([one for one, _ in counts], [one for _, one in counts], settings)


def keys(table: pa.Table, settings: BoilerplateSettings = SETTINGS) -> set[int]:
    return set(common([table], settings)["line_key"].to_pylist())


def test_a_line_of_enough_pages_of_one_site_is_boilerplate() -> None:
    assert keys(documents(pages("a.org", 3))) == {line_key("a.org", FOOTER)}


def test_a_line_of_too_few_pages_is_not() -> None:
    assert keys(documents(pages("a.org", 2))) == set()


def test_sites_are_counted_apart() -> None:
    rows = pages("a.org", 2) + pages("b.org", 2)
    assert keys(documents(rows)) == set()
    assert line_key("a.org", FOOTER) != line_key("b.org", FOOTER)


def test_a_bucket_of_all_sites_counts_a_line_over_them_and_cuts_it_on_each() -> None:
    everywhere = BoilerplateSettings(min_documents=4, bucket="snapshot")
    rows = pages("a.org", 2) + pages("b.org", 2, FOOTER + " ") + [("c.org", "another line\n")]
    table = documents([(host, f"{host} {text}") for host, text in rows])
    found = keys(table, everywhere)
    assert found == {line_key("", FOOTER)}
    batch = TextBatch.from_arrow(table["text"])
    lines = Boilerplate(np.array(sorted(found), np.uint64))
    assert sorted(repeated_lines(batch, table, lines, everywhere)) == [0, 1, 2, 3]


def test_a_page_that_repeats_a_line_counts_once() -> None:
    assert keys(documents([("a.org", f"{FOOTER}\n" * 9)])) == set()


def test_documents_that_are_not_kept_do_not_count() -> None:
    table = documents(pages("a.org", 5))
    lines, buckets = count_lines(keyed(table), [0, 4])
    assert lines["documents"].to_pylist().count(2) == 1
    assert buckets["documents"].to_pylist() == [2]


def test_a_line_needs_a_share_of_its_site() -> None:
    others = [("a.org", f"{i:03d} of the other pages of a site") for i in range(27)]
    assert keys(documents(pages("a.org", 3) + others)) == {line_key("a.org", FOOTER)}
    assert keys(documents([*pages("a.org", 3), *others, ("a.org", "and one more page")])) == set()
    rarely = BoilerplateSettings(min_documents=3, min_share=0)
    assert keys(documents(pages("a.org", 3) + others * 9), rarely) >= {line_key("a.org", FOOTER)}


def test_spaces_around_a_line_make_no_difference() -> None:
    rows = [("a.org", f"{i:02d} is the number\n{' ' * i}{FOOTER}\t\n") for i in range(3)]
    assert keys(documents(rows)) == {line_key("a.org", FOOTER)}


def test_short_lines_are_not_counted() -> None:
    assert keys(documents(pages("a.org", 5, "Share this"))) == set()
    settings = BoilerplateSettings(min_documents=3, min_chars=10)
    assert keys(documents(pages("a.org", 5, "Share this")), settings) == {
        line_key("a.org", "Share this")
    }


def test_other_domains_are_left_alone() -> None:
    assert keys(documents(pages("a.org", 5), domain="books")) == set()
    settings = BoilerplateSettings(min_documents=3, domains=("books",))
    assert len(keys(documents(pages("a.org", 5), domain="books"), settings)) == 1


def test_documents_without_a_host_are_one_site() -> None:
    assert keys(documents(pages(None, 3))) == {line_key("", FOOTER)}


def test_a_part_without_documents_has_no_lines() -> None:
    nothing = keyed(documents([]))
    assert nothing.equals(LINE_KEYS.empty_table())
    assert common([documents([])]).equals(COMMON_LINES.empty_table())
    ids = pa.chunked_array([pa.array([], DOC_ID)])
    candidates = find_candidates(ids, ids, nothing, COMMON_LINES.empty_table())
    assert choose_keepers([candidates], COMMON_LINES.empty_table(), 1).equals(
        BOILERPLATE.empty_table()
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a.org", "b.org"]),
            st.lists(st.sampled_from([FOOTER, FOOTER.upper(), "All rights reserved"]), max_size=3),
        ),
        max_size=12,
    ),
    st.integers(1, 4),
)
def test_counts_are_those_of_a_plain_count_however_parts_are_cut(
    pages_lines: list[tuple[str, list[str]]], n_parts: int
) -> None:
    rows = [(host, "\n".join([f"{i:02d}", *lines])) for i, (host, lines) in enumerate(pages_lines)]
    expected: dict[int, int] = {}
    totals: dict[int, int] = {}
    for host, text in rows:
        for line in {line for line in text.split("\n") if len(line) >= SETTINGS.min_chars}:
            key = line_key(host, line)
            expected[key] = expected.get(key, 0) + 1
            totals[key] = sum(other == host for other, _ in rows)
    half = BoilerplateSettings(min_documents=3, min_share=0.5)
    parts = [documents(rows[i::n_parts]) for i in range(n_parts)]
    found = common(parts, half)
    assert found.equals(common(parts[::-1], half))
    assert found["line_key"].to_pylist() == sorted(
        key for key, n in expected.items() if n >= 3 and n >= 0.5 * totals[key]
    )


SENTENCES = [
    f"Paragraph {name} of the story tells at some length how the old ferry went on its {name} day."
    for name in ("first", "second", "third", "fourth", "fifth", "sixth")
]


def resolved(parts: Sequence[pa.Table], copies: dict[int, int] | None = None) -> Boilerplate:
    """All passes. `copies`: documents that are not kept, by number, and who stands for them."""
    stand_for = {n.to_bytes(16, "big"): k.to_bytes(16, "big") for n, k in (copies or {}).items()}
    counts, candidates = [], []
    for part in parts:
        ids = part["doc_id"].to_pylist()
        kept = [row for row, one in enumerate(ids) if one not in stand_for]
        counts.append(count_lines(keyed(part), kept))
    lines = common_lines([one for one, _ in counts], [one for _, one in counts], SETTINGS)
    for part in parts:
        standing = [stand_for.get(one, one) for one in part["doc_id"].to_pylist()]
        column = pa.chunked_array([pa.array(standing, DOC_ID)])
        candidates.append(find_candidates(part["doc_id"], column, keyed(part), lines))
    table = choose_keepers(candidates, lines, 100)
    assert table.equals(choose_keepers(candidates[::-1], lines, 100))
    assert table.schema.equals(BOILERPLATE), "hashes and ids, no text"
    return Boilerplate.of(table)


def left(part: pa.Table, lines: Boilerplate) -> list[str]:
    batch = TextBatch.from_arrow(part["text"])
    cut = repeated_lines(batch, part, lines, SETTINGS)
    texts = []
    for row, text in enumerate(part["text"].to_pylist()):
        place, out = 0, []
        for start, end in cut.get(row, ()):
            out.append(text[place:start])
            place = end
        texts.append("".join([*out, text[place:]]))
    return texts


LISTS: list[Row] = [  # tag pages, an archive, a home page: each with the text of several articles
    ("a.org", "\n".join([f"Filed under the name number {i}", FOOTER, *SENTENCES])) for i in range(4)
]
ARTICLES: list[Row] = [
    ("a.org", "\n".join([FOOTER, *SENTENCES[k : k + 3], f"And an ending of article {k} alone"]))
    for k in (0, 3)
]


@pytest.mark.parametrize("first_list", [0, 100], ids=["lists first", "articles first"])
def test_articles_keep_what_lists_repeat_and_furniture_goes_from_all(first_list: int) -> None:
    lists, articles = documents(LISTS, first=first_list), documents(ARTICLES, first=50)
    lines = resolved([lists, articles])
    for number, text in zip((0, 3), left(articles, lines), strict=True):
        assert all(sentence in text for sentence in SENTENCES[number : number + 3])
        assert FOOTER not in text
    for number, text in enumerate(left(lists, lines)):
        assert text.strip() == f"Filed under the name number {number}"


def test_however_records_lie_in_parts_the_same_lines_stay() -> None:
    whole = documents(LISTS + ARTICLES)
    expected = left(whole, resolved([whole]))
    for size in (1, 2, 3):
        parts = [whole.slice(start, size) for start in range(0, whole.num_rows, size)]
        lines = resolved(parts)
        assert [text for part in parts for text in left(part, lines)] == expected


def test_copies_of_a_keeper_may_keep_its_lines_when_they_are_promoted() -> None:
    copy = ("a.org", ARTICLES[0][1] + "\n3 views")
    table = documents([*LISTS, *ARTICLES, copy])
    lines = resolved([table], copies={6: 4})
    promoted = left(table.slice(6, 1), lines)[0]
    assert all(sentence in promoted for sentence in SENTENCES[:3])
    assert FOOTER not in promoted


def test_who_keeps_a_line_is_told_by_the_calibration_alone() -> None:
    """The keeper may be taken down: its lines stay cut elsewhere, and no other document moves."""
    table = documents(LISTS + ARTICLES)
    lines = resolved([table])
    without = table.slice(0, 5)
    assert left(without, lines) == left(table, lines)[:5]


def plain_lines(text: str, host: str, lines: frozenset[int], min_chars: int) -> list[Any]:
    """The reference: every line, one after the other."""
    out = []
    start = 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        if len(line.strip()) >= min_chars and line_key(host, line) in lines:
            out.append((start, end))
        start = end
    return out


LINES = ("short", "A line of no site at all", "  Padded line, 12\u3000", "zwölf Zeichen", "漢" * 12)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["web", "books"]),
            st.sampled_from(["", "a.org", "é.org"]),
            st.lists(st.sampled_from([*LINES, "", " ", "\r", "A line of no site at all\r"])),
        ),
        max_size=6,
    ),
    st.lists(st.tuples(st.sampled_from(["", "a.org", "é.org"]), st.sampled_from(LINES))),
)
def test_repeated_lines_are_those_found_one_by_one(
    rows: list[tuple[str, str, list[str]]], listed: list[tuple[str, str]]
) -> None:
    keys_listed = frozenset(line_key(host, line) for host, line in listed)
    boilerplate = Boilerplate(np.array(sorted(keys_listed), np.uint64))
    texts = ["\n".join(lines) for _, _, lines in rows]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    table = documents([(host, text) for (_, host, _), text in zip(rows, texts, strict=True)])
    table = table.set_column(1, "domain", pa.array([domain for domain, _, _ in rows], pa.string()))
    found = repeated_lines(batch, table, boilerplate, SETTINGS)
    for row, (domain, host, _) in enumerate(rows):
        lines = keys_listed if domain == "web" else frozenset()
        assert found.get(row, []) == plain_lines(texts[row], host, lines, SETTINGS.min_chars)


def test_host_and_line_cannot_be_confused() -> None:
    assert line_key("a", "b" * 12) != line_key("ab", "b" * 11)


@pytest.mark.parametrize("text", ["ünïcödé line of text", "日本語の行がここにあります"])
def test_any_script_has_keys(text: str) -> None:
    assert 0 <= line_key("a.org", text) < 2**64
