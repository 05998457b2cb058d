"""What the manifest says is what lies in the files."""

import gzip
import io
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.demo.capture import Capture
from corpus_assets.demo.compose import jaccard, shingles
from corpus_assets.demo.library import Library
from corpus_assets.demo.plan import COUNTS, EXPECT, SNAPSHOTS
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets_tests.demo.conftest import Entries

WEB = [snapshot.name for snapshot in SNAPSHOTS]
EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
GLOBAL = re.compile(
    r"\b(?:198\.41\.0\.4|199\.9\.14\.201|192\.33\.4\.12|199\.7\.91\.13|192\.203\.230\.10"
    r"|192\.5\.5\.241|193\.0\.14\.129)\b"
)


def rows_of(demo: Path, file: str) -> list[dict[str, Any]]:
    data = (demo / file).read_bytes()
    if file.endswith(".parquet"):
        return list(pq.read_table(demo / file).to_pylist())
    if file.endswith(".gz"):
        data = gzip.decompress(data)
    if file.endswith(".zst"):
        data = zstandard.ZstdDecompressor().decompress(data)
    return [json.loads(line) for line in data.decode("utf-8").splitlines()]


def test_every_web_record_has_its_line_in_the_order_of_its_file(
    demo: Path, entries: Entries
) -> None:
    expected = defaultdict(list)
    for entry in entries:
        if entry["domain"] == "web":
            damaged = (entry["expect"] or {}).get("reason") == "damaged_record"
            expected[entry["file"]].append(None if damaged else entry["key"])
    assert len(expected) == 12
    for file, keys in expected.items():
        records = read_warc(io.BytesIO((demo / file).read_bytes()), file, 1 << 24)
        assert [None if record.damage else record.url for record in records] == keys


def test_every_document_of_another_source_has_its_line(demo: Path, entries: Entries) -> None:
    expected = defaultdict(list)
    for entry in entries:
        if entry["domain"] != "web":
            expected[entry["file"]].append(entry["key"])
    assert len(expected) == 4
    for file, keys in expected.items():
        rows = rows_of(demo, file)
        assert [row["path" if file.startswith("code/") else "id"] for row in rows] == keys
        assert len(set(keys)) == len(keys)
        assert all(row["text"].strip() and row["licence"] for row in rows)


def test_every_snapshot_has_seven_hundred_records_and_the_languages_planned(
    entries: Entries,
) -> None:
    for snapshot in WEB:
        langs = Counter(entry["lang"] for entry in entries if entry["snapshot"] == snapshot)
        assert 690 <= langs.total() <= 710
        shares = {lang: 100 * count / langs.total() for lang, count in langs.items()}
        assert 70 < shares["en"] < 80
        assert 6 < shares["de"] < 10
        assert 4.5 < shares["fr"] < 8
        assert 3.5 < shares["es"] < 7
        assert 5 < sum(shares[lang] for lang in ("it", "pl", "sv", "ja", "ru")) < 7


@pytest.mark.parametrize("snapshot", WEB)
def test_each_phenomenon_is_planted_as_often_as_planned(snapshot: str, entries: Entries) -> None:
    planted = Counter(
        name for entry in entries if entry["snapshot"] == snapshot for name in entry["planted"]
    )
    for name, count in COUNTS.items():
        if name.startswith("recrawl") and snapshot == WEB[0]:
            assert planted[name] == 0
        else:
            assert planted[name] >= count, name
    assert planted["licence_cc"] >= 60
    assert planted["boilerplate_lines"] >= 40


def test_phenomena_outside_the_ordinary_web_are_there(entries: Entries) -> None:
    planted = Counter((name, entry["domain"]) for entry in entries for name in entry["planted"])
    assert planted["truncated_record", "web"] == 1
    assert planted["corrupt_member", "web"] == 1
    assert planted["proprietary_licence", "code"] >= 10
    assert planted["proprietary_licence", "books"] >= 2
    assert planted["code_duplicate", "code"] >= 30
    assert planted["eval_quote", "code"] >= 5
    assert planted["generated_code", "code"] >= 10
    assert planted["synthetic", "synthetic"] == 120
    assert {name for name, _ in planted} == set(EXPECT)


def test_addresses_are_unique_but_for_what_was_planted(entries: Entries) -> None:
    again = ("recrawl_unchanged", "recrawl_changed", "same_capture_twice")
    keys = [e["key"] for e in entries if not set(again) & set(e["planted"])]
    assert len(set(keys)) == len(keys)


def test_a_copy_names_its_original_and_shares_its_group(entries: Entries) -> None:
    by_key = defaultdict(list)
    for entry in entries:
        by_key[entry["key"]].append(entry)
    copies = [e for e in entries if (e["expect"] or {}).get("reason") == "duplicate"]
    assert len(copies) > 450
    for copy in copies:
        originals = [e for e in by_key[copy["of"]] if e["expect"] is None]
        assert len(originals) == 1
        assert originals[0]["group"] == copy["group"] is not None


def test_one_member_of_each_group_should_stay(entries: Entries) -> None:
    groups = defaultdict(list)
    for entry in entries:
        if entry["group"]:
            groups[entry["group"]].append(entry["expect"])
    assert len(groups) > 300
    assert all(len(fates) > 1 and fates.count(None) == 1 for fates in groups.values())


def test_copies_are_fetched_after_their_original(captures: list[Capture]) -> None:
    fetched = {c.url: c.exchange.fetched for c in captures if c.of is None}
    copies = [c for c in captures if c.of in fetched]
    assert len(copies) > 400
    assert all(c.exchange.fetched > fetched[c.of] for c in copies if c.of)


def test_mirrors_and_unchanged_recrawls_have_the_bytes_of_their_original(
    captures: list[Capture],
) -> None:
    bodies = {c.url: c.exchange.body for c in captures if c.of is None}
    same = {"mirror", "recrawl_unchanged", "same_capture_twice"}
    copies = [c for c in captures if same & set(c.planted) and c.of in bodies]
    assert len(copies) > 280
    assert all(c.exchange.body == bodies[c.of] for c in copies if c.of)


def test_near_duplicates_are_near_and_other_articles_are_not(captures: list[Capture]) -> None:
    texts = {c.url: c.article.text() for c in captures if c.article and c.of is None}
    values = [
        jaccard(texts[c.of], c.article.text())
        for c in captures
        if "near_duplicate" in c.planted and c.article and c.of
    ]
    assert len(values) == 3 * COUNTS["near_duplicate"]
    assert min(values) >= 0.85
    assert max(values) < 1.0


def test_different_articles_stay_clear_of_the_duplicate_threshold(
    captures: list[Capture],
) -> None:
    by_topic = defaultdict(list)
    for c in captures:
        if c.is_plain() and c.article and c.lang in ("en", "de", "fr", "es"):
            by_topic[c.lang, c.article.topic].append(shingles(c.article.text()))
    highest = max(
        len(a & b) / len(a | b)
        for sets in by_topic.values()
        for at, a in enumerate(sets)
        for b in sets[:at]
    )
    assert highest < 0.65


def test_code_files_are_alike_only_where_planted(demo: Path, entries: Entries) -> None:
    rows = {row["path"]: row["text"] for row in rows_of(demo, "code/code-2024-03.jsonl.gz")}
    by_name = defaultdict(list)
    for entry in entries:
        if entry["domain"] == "code" and entry["expect"] is None:
            by_name[entry["key"].rsplit("/", 1)[1]].append(shingles(rows[entry["key"]]))
    assert sum(len(sets) for sets in by_name.values()) > 170
    for name, sets in by_name.items():
        for at, a in enumerate(sets):
            assert all(len(a & b) / len(a | b) < 0.6 for b in sets[:at]), name
    copies = [e for e in entries if "code_duplicate" in e["planted"]]
    assert all(jaccard(rows[e["of"]], rows[e["key"]]) >= 0.85 for e in copies)
    assert 20 <= sum(rows[e["of"]] == rows[e["key"]] for e in copies) < len(copies)


def test_licence_fields_agree_with_the_files(demo: Path) -> None:
    for row in rows_of(demo, "code/code-2024-03.jsonl.gz"):
        assert f"SPDX-License-Identifier: {row['licence']}" in row["text"], row["path"]


def test_changed_recrawls_are_both_light_and_heavy(captures: list[Capture]) -> None:
    notes = [float(c.note.split()[1]) for c in captures if "recrawl_changed" in c.planted]
    assert len(notes) == 2 * COUNTS["recrawl_changed"]
    assert sum(value >= 0.85 for value in notes) >= 30
    assert sum(value < 0.75 for value in notes) >= 30


def test_addresses_to_scrub_are_counted_right(captures: list[Capture]) -> None:
    with_contacts = 0
    for c in captures:
        if c.article is None or c.expect is not None:
            continue
        text = c.article.text()
        assert len(EMAIL.findall(text)) == c.emails, c.url
        assert len(GLOBAL.findall(text)) == c.ips, c.url
        with_contacts += "personal_data" in c.planted
    assert with_contacts == 3 * COUNTS["personal_data"]
    planted = [c for c in captures if "personal_data" in c.planted]
    assert all(c.emails + c.ips > 0 for c in planted)
    assert sum(c.emails for c in planted) > 60
    assert sum(c.ips for c in planted) > 30


def test_questions_are_whole_where_quoted_and_nowhere_else(
    captures: list[Capture], library: Library
) -> None:
    grams = {gram: item.id for item in library.questions for gram in shingles(item.text, 13)}
    for c in captures:
        if c.article is None:
            continue
        found = {grams[gram] for gram in shingles(c.article.text(), 13) if gram in grams}
        if "eval_quote" in c.planted:
            text = " ".join(c.article.text().split())
            whole = {i.id for i in library.questions if " ".join(i.text.split()) in text}
            assert set(c.eval_items) <= whole
        else:
            assert not found, (c.url, found)
    quoted = {item for c in captures for item in c.eval_items if "eval_quote" in c.planted}
    assert len(quoted) >= min(40, len(library.questions) // 2)


def test_synthetic_texts_name_parents_that_should_stay(demo: Path, entries: Entries) -> None:
    staying = {e["key"] for e in entries if e["domain"] == "web" and e["expect"] is None}
    rows = rows_of(demo, "synthetic/synthetic-2024-06.jsonl.zst")
    assert len(rows) == 120
    assert all(set(row["derived_from"]) <= staying for row in rows)
    assert sum(len(row["derived_from"]) == 2 for row in rows) == 30
    assert sum("Answer:" in row["text"] for row in rows) > 40


def test_quality_samples_and_evaluations_are_complete(demo: Path, library: Library) -> None:
    for name in ("positives", "negatives"):
        rows = rows_of(demo, f"quality/{name}.jsonl")
        assert len(rows) == len({row["id"] for row in rows}) == 300
        assert Counter(row["lang"] for row in rows)["en"] == 180
        assert {row["lang"] for row in rows} == {"en", "de", "fr", "es"}
    items = [row for path in sorted(demo.glob("evals/*.jsonl")) for row in rows_of(demo, str(path))]
    assert len(items) == len(library.questions) + len(library.code_questions)


def test_the_blocklist_names_the_hosts_of_blocked_pages(demo: Path, entries: Entries) -> None:
    lines = (demo / "blocklist.txt").read_text(encoding="utf-8").splitlines()
    hosts = {line for line in lines if not line.startswith("#")}
    planted = {e["key"].split("/")[2] for e in entries if "blocked_host" in e["planted"]}
    assert len(hosts) == 2
    assert hosts == planted
