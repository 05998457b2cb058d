"""Lines that a site repeats: counted over what is kept, told by key alone, and never the last copy."""

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
    choose_keepers,
    common_lines,
    count_lines,
    find_candidates,
    line_keys,
)
from corpus_assets.clean.keyed_lines import line_key
from corpus_assets.clean.pinned_lines import Boilerplate, pinned_lines
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.batch import TextBatch

FOOTER = "Subscribe to our newsletter today"
SETTINGS = BoilerplateSettings(min_documents=3)
ANYWHERE = BoilerplateSettings(min_documents=3, min_share=0, bucket="snapshot")
Row = tuple[str | None, str]


def documents(
    rows: Sequence[Row], domain: str = "web", first: int = 0, times: Sequence[str] = ()
) -> pa.Table:
    """(host, text) rows with what is looked at; ids count from `first`."""
    ids = [(first + i).to_bytes(16, "big") for i in range(len(rows))]
    times = times or [""] * len(rows)
    return pa.table(
        {
            "doc_id": pa.array(ids, DOC_ID),
            "domain": pa.array([domain] * len(rows), pa.string()),
            "host": pa.array([host for host, _ in rows], pa.string()),
            "fetched_at": pa.array(times, pa.string()),
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


def foot(host: str, line: str = FOOTER) -> set[int]:
    """The key of the last line of texts of two lines."""
    return {line_key(host, line, -1)}


def test_a_line_of_enough_pages_of_one_site_is_boilerplate() -> None:
    assert keys(documents(pages("a.org", 3))) == foot("a.org")


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
    assert sorted(pinned_lines(batch, table, lines, everywhere, 1)) == [0, 1, 2, 3]


def test_a_page_that_repeats_a_line_counts_once() -> None:
    assert keys(documents([("a.org", f"{FOOTER}\n" * 9)])) == set()


def test_documents_that_are_not_kept_do_not_count() -> None:
    table = documents(pages("a.org", 5))
    lines, buckets = count_lines(keyed(table), [0, 4])
    assert lines["documents"].to_pylist().count(2) == 1
    assert buckets["documents"].to_pylist() == [2]


def test_a_line_needs_a_share_of_its_site() -> None:
    others = [("a.org", f"{i:03d} of the other pages of a site") for i in range(3)]
    assert keys(documents(pages("a.org", 3) + others)) == foot("a.org")
    assert keys(documents([*pages("a.org", 3), *others, ("a.org", "and one more page")])) == set()
    rarely = BoilerplateSettings(min_documents=3, min_share=0)
    assert keys(documents(pages("a.org", 3) + others * 9), rarely) >= foot("a.org")


def test_a_line_counts_at_its_place_only() -> None:
    rows = [("a.org", "\n".join([f"line {k} of text {i}" for k in range(9)])) for i in range(9)]
    at = [text.split("\n") for _, text in rows]
    for number, lines in enumerate(at):
        lines.insert(number, FOOTER)
    assert keys(documents([("a.org", "\n".join(lines)) for lines in at])) == set()


def test_spaces_around_a_line_make_no_difference() -> None:
    rows = [("a.org", f"{i:02d} is the number\n{' ' * i}{FOOTER}\t\n") for i in range(3)]
    assert keys(documents(rows)) == foot("a.org")


def test_short_lines_are_not_counted() -> None:
    assert keys(documents(pages("a.org", 5, "Share this"))) == set()
    settings = BoilerplateSettings(min_documents=3, min_chars=10)
    assert keys(documents(pages("a.org", 5, "Share this")), settings) == foot("a.org", "Share this")


def test_other_domains_are_left_alone() -> None:
    assert keys(documents(pages("a.org", 5), domain="books")) == set()
    settings = BoilerplateSettings(min_documents=3, domains=("books",))
    assert len(keys(documents(pages("a.org", 5), domain="books"), settings)) == 1


def test_documents_without_a_host_are_one_site() -> None:
    assert keys(documents(pages(None, 3))) == foot("")


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
        lines = text.split("\n")
        for k, line in enumerate(lines):
            place = k + 1 if k + 1 <= len(lines) - k else k - len(lines)
            if len(line) >= SETTINGS.min_chars:
                key = line_key(host, line, place)
                expected[key] = expected.get(key, 0) + 1
                totals[key] = sum(other == host for other, _ in rows)
    parts = [documents(rows[i::n_parts]) for i in range(n_parts)]
    found = common(parts, SETTINGS)
    assert found.equals(common(parts[::-1], SETTINGS))
    assert found["line_key"].to_pylist() == sorted(
        key for key, n in expected.items() if n >= 3 and n >= 0.5 * totals[key]
    )


SENTENCES = [
    f"Paragraph {name} of the story tells at some length how the old ferry went on its {name} day."
    for name in ("first", "second", "third", "fourth", "fifth", "sixth")
]


def resolved(
    parts: Sequence[pa.Table],
    copies: dict[int, int] | None = None,
    settings: BoilerplateSettings = ANYWHERE,
) -> Boilerplate:
    """All passes. `copies`: documents that are not kept, by number, and who stands for them."""
    stand_for = {n.to_bytes(16, "big"): k.to_bytes(16, "big") for n, k in (copies or {}).items()}
    counts, candidates = [], []
    for part in parts:
        ids = part["doc_id"].to_pylist()
        kept = [row for row, one in enumerate(ids) if one not in stand_for]
        counts.append(count_lines(keyed(part, settings), kept))
    lines = common_lines([one for one, _ in counts], [one for _, one in counts], settings)
    for part in parts:
        standing = [stand_for.get(one, one) for one in part["doc_id"].to_pylist()]
        column = pa.chunked_array([pa.array(standing, DOC_ID)])
        candidates.append(find_candidates(part["doc_id"], column, keyed(part, settings), lines))
    table = choose_keepers(candidates, lines, 100)
    assert table.equals(choose_keepers(candidates[::-1], lines, 100))
    assert table.schema.equals(BOILERPLATE), "hashes and ids, no text"
    assert table["keeper"].null_count == 0
    return Boilerplate.of(table)


def left(part: pa.Table, lines: Boilerplate, settings: BoilerplateSettings = ANYWHERE) -> list[str]:
    batch = TextBatch.from_arrow(part["text"])
    found = pinned_lines(batch, part, lines, settings, 100)
    texts = []
    for row, text in enumerate(part["text"].to_pylist()):
        place, out = 0, []
        for line in found.get(row, ()):
            if line.goes:
                out.append(text[place : line.start])
                place = line.end
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
def test_articles_keep_what_lists_repeat(first_list: int) -> None:
    lists, articles = documents(LISTS, first=first_list), documents(ARTICLES, first=50)
    lines = resolved([lists, articles])
    kept = left(articles, lines)
    for number, text in zip((0, 3), kept, strict=True):
        assert all(sentence in text for sentence in SENTENCES[number : number + 3])
    assert sum(FOOTER in text for text in [*kept, *left(lists, lines)]) == 1
    for number, text in enumerate(left(lists, lines)):
        assert text.strip() == f"Filed under the name number {number}"


@pytest.mark.parametrize("first", [0, 3, 6])
def test_who_was_fetched_first_keeps_a_line(first: int) -> None:
    """A post that others quote: neither the longest of them nor the smallest id is its origin."""
    quoted = SENTENCES[0]
    rows = [
        ("a.org", f"{quoted}\nReply {i} " + f"with its own {i} words " * (9 + i)) for i in range(7)
    ]
    times = [f"2024-03-{9 + i:02d}T00:00:00Z" for i in range(7)]
    times[first] = "2024-03-01T12:30:00Z"
    table = documents(rows, times=times)
    for settings in (ANYWHERE, SETTINGS):
        found = left(table, resolved([table], settings=settings), settings)
        assert [row for row, text in enumerate(found) if quoted in text] == [first]


def test_only_whole_runs_at_head_and_foot_go_from_a_site() -> None:
    head = ["The Harbour Times", "Read by sailors and by their aunts"]
    tail = ["Write to the editors of this paper", FOOTER]
    inside = "A line that every page has inside"
    rows: list[Row] = []
    for i in range(8):
        own = [f"{k} of {i}: {SENTENCES[k]}" for k in range(4)]
        rows.append(("a.org", "\n".join([*head, own[0], own[1], inside, *own[2:], *tail])))
    table = documents(rows)
    first, *others = left(table, resolved([table], settings=SETTINGS), SETTINGS)
    assert first == rows[0][1]
    for i, text in enumerate(others, 1):
        assert text.strip().split("\n") == rows[i][1].split("\n")[2:-2]


def test_a_run_ends_at_a_line_that_is_not_repeated() -> None:
    rows = [
        ("a.org", f"{FOOTER}\nOwn line {i}\n{FOOTER} {SENTENCES[0]}\n" + f"{i} " * 90)
        for i in range(8)
    ]
    table = documents(rows)
    found = left(table, resolved([table], settings=SETTINGS), SETTINGS)
    assert all(SENTENCES[0] in text for text in found), "pinned, and behind another line"
    assert sum(text.startswith(FOOTER) for text in found) == 1


def test_a_document_is_never_emptied_by_the_frame_of_its_site() -> None:
    rows = pages("a.org", 8, FOOTER)
    rows = [(host, f"{text}{SENTENCES[0]}\n") for host, text in rows]
    table = documents(rows)
    assert left(table, resolved([table], settings=SETTINGS), SETTINGS) == [text for _, text in rows]


@pytest.mark.parametrize("settings", [SETTINGS, ANYWHERE], ids=["frame", "anywhere"])
@pytest.mark.parametrize(
    "line",
    [
        "- 1 teaspoon of sea salt",
        "* two cups of wheat flour",
        "3. Stir until it is smooth",
        "| flour | 2 cups | sieved |",
        "flour | 2 cups | sieved",
        "```python\nfrom x import y as z\n```",
        "    return the_answer",
        "return render(request);",
        "const app = express()",
    ],
)
def test_lists_code_and_tables_stay_in_every_document(
    line: str, settings: BoilerplateSettings
) -> None:
    rows = [
        ("a.org", f"{line}\n{SENTENCES[i % 6]} {i}\nNumber {i} it is\n{line}") for i in range(9)
    ]
    table = documents(rows)
    assert left(table, resolved([table], settings=settings), settings) == [text for _, text in rows]


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


def plain_runs(text: str, host: str, lines: frozenset[int], min_chars: int) -> list[Any]:
    """The same at the head and the foot of a site's texts."""
    at: list[tuple[int, int, str]] = []
    start = 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        at += [(start, end, line)] if line.strip() else []
        start = end
    half = (len(at) + 1) // 2
    out = []
    for sign, order in ((1, at[:half]), (-1, at[half:][::-1])):
        for place, (start, end, line) in enumerate(order, 1):
            if len(line.strip()) < min_chars or line_key(host, line, sign * place) not in lines:
                break
            out.append((start, end))
    return sorted(out)


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
    st.lists(
        st.tuples(
            st.sampled_from(["", "a.org", "é.org"]), st.sampled_from(LINES), st.integers(-3, 3)
        )
    ),
)
def test_repeated_lines_are_those_found_one_by_one(
    rows: list[tuple[str, str, list[str]]], listed: list[tuple[str, str, int]]
) -> None:
    pinned = frozenset(line_key(host, line, place) for host, line, place in listed)
    boilerplate = Boilerplate(np.array(sorted(pinned), np.uint64))
    texts = ["\n".join(lines) for _, _, lines in rows]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    table = documents([(host, text) for (_, host, _), text in zip(rows, texts, strict=True)])
    table = table.set_column(1, "domain", pa.array([domain for domain, _, _ in rows], pa.string()))
    for settings, plain in ((ANYWHERE, plain_lines), (SETTINGS, plain_runs)):
        found = pinned_lines(batch, table, boilerplate, settings, 0)
        for row, (domain, host, _) in enumerate(rows):
            lines = pinned if domain == "web" else frozenset()
            going = [(line.start, line.end) for line in found.get(row, []) if line.goes]
            bucket = "" if settings is ANYWHERE else host
            assert going == plain(texts[row], bucket, lines, settings.min_chars)


def test_host_and_line_cannot_be_confused() -> None:
    assert line_key("a", "b" * 12) != line_key("ab", "b" * 11)


@pytest.mark.parametrize("text", ["ünïcödé line of text", "日本語の行がここにあります"])
def test_any_script_has_keys(text: str) -> None:
    assert 0 <= line_key("a.org", text) < 2**64
