"""Lines that a site repeats: counted by part, merged by snapshot, told by key alone."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.signals import TextBatch
from corpus_assets.stages.boilerplate import (
    LINE_COUNTS,
    BoilerplateSettings,
    boilerplate_keys,
    count_lines,
    line_key,
    merge_counts,
    repeated_lines,
)

FOOTER = "Subscribe to our newsletter today"
SETTINGS = BoilerplateSettings(min_documents=3)


def documents(rows: Sequence[tuple[str | None, str]], domain: str = "web") -> pa.Table:
    """(host, text) rows with what counting looks at."""
    return pa.table(
        {
            "domain": pa.array([domain] * len(rows), pa.string()),
            "host": pa.array([host for host, _ in rows], pa.string()),
            "text_id": pa.array([text.encode().ljust(16)[:16] for _, text in rows], pa.binary(16)),
            "text": pa.array([text for _, text in rows], pa.large_string()),
        }
    )


def pages(host: str | None, count: int, line: str = FOOTER) -> list[tuple[str | None, str]]:
    return [(host, f"{i:02d} is the number of this page\n{line}\n") for i in range(count)]


def keys(table: pa.Table, settings: BoilerplateSettings = SETTINGS) -> set[int]:
    return set(boilerplate_keys(merge_counts([count_lines(table, settings)], settings)).tolist())


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
    hosts = table["host"].to_pylist()
    cut = repeated_lines(batch, ["web"] * 5, hosts, frozenset(found), everywhere)
    assert sorted(cut) == [0, 1, 2, 3]


def test_a_page_that_repeats_a_line_counts_once() -> None:
    assert keys(documents([("a.org", f"{FOOTER}\n" * 9)])) == set()


def test_exact_copies_of_a_page_count_once() -> None:
    assert keys(documents([("a.org", f"same words\n{FOOTER}")] * 5)) == set()


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
    assert count_lines(documents([]), SETTINGS).equals(LINE_COUNTS.empty_table())
    assert merge_counts([], SETTINGS).equals(LINE_COUNTS.empty_table())


def test_parts_are_counted_together() -> None:
    rows = pages("a.org", 6)
    parts = [count_lines(documents(rows[i : i + 2]), SETTINGS) for i in (0, 2, 4)]
    merged = merge_counts(parts, SETTINGS)
    assert merged.to_pylist() == [{"line_key": line_key("a.org", FOOTER), "documents": 6}]


def test_no_text_is_in_the_calibration() -> None:
    table = count_lines(documents(pages("a.org", 3)), SETTINGS)
    assert table.schema.equals(LINE_COUNTS)
    assert all(pa.types.is_integer(field.type) for field in table.schema)


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
    for host, text in rows:
        for line in {line for line in text.split("\n") if len(line) >= SETTINGS.min_chars}:
            key = line_key(host, line)
            expected[key] = expected.get(key, 0) + 1
    parts = [count_lines(documents(rows[i::n_parts]), SETTINGS) for i in range(n_parts)]
    merged = merge_counts(parts, SETTINGS)
    assert merged.equals(merge_counts(parts[::-1], SETTINGS))
    assert merged["line_key"].to_pylist() == sorted(merged["line_key"].to_pylist())
    assert dict(zip(*merged.to_pydict().values(), strict=True)) == {
        key: n for key, n in expected.items() if n >= 3
    }


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
    texts = ["\n".join(lines) for _, _, lines in rows]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    domains = [domain for domain, _, _ in rows]
    hosts = [host for _, host, _ in rows]
    found = repeated_lines(batch, domains, hosts, keys_listed, SETTINGS)
    for row, (domain, host, _) in enumerate(rows):
        lines = keys_listed if domain == "web" else frozenset()
        assert found.get(row, []) == plain_lines(texts[row], host, lines, SETTINGS.min_chars)


def test_host_and_line_cannot_be_confused() -> None:
    assert line_key("a", "b" * 12) != line_key("ab", "b" * 11)


@pytest.mark.parametrize("text", ["ünïcödé line of text", "日本語の行がここにあります"])
def test_any_script_has_keys(text: str) -> None:
    assert 0 <= line_key("a.org", text) < 2**64
