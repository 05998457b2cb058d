"""`corpus signals show` and `corpus sample-page` on the small corpus."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import revoke
from corpus_assets_tests.small_corpus import EMAIL, GERMAN

Captured = pytest.CaptureFixture[str]

GERMAN_PAGE = "http://de.example.com/seite"
KEPT_PAGE = "http://site-0.example.org/article"


def registry_of(place: Place) -> Registry:
    return Registry(Home.resolve(str(place.home)).catalog_url)


def table_of(place: Place, table: str) -> pa.Table:
    files = registry_of(place).lineage_files(VERSION, table)
    return pa.concat_tables([pq.read_table(place.store / file.path) for file in files])


def doc_id(place: Place, url: str) -> str:
    rows = table_of(place, "records").select(["doc_id", "url"]).to_pylist()
    return str(next(row["doc_id"].hex() for row in rows if row["url"] == url))


def show(place: Place, capsys: Captured, url: str, *more: str) -> Any:
    command = ("signals", "show", doc_id(place, url), "--home", str(place.home), "--json")
    return json.loads(said(capsys, *command, *more))


def forget(place: Place, url: str) -> None:
    store = CatalogStore(Home.resolve(str(place.home)).store_url)
    request_takedown(registry_of(place), store, url_target(url), "asked")


def test_every_signal_is_shown_with_its_rules_and_verdicts(
    small_build: Place, capsys: Captured
) -> None:
    answer = show(small_build, capsys, GERMAN_PAGE)
    assert answer["outcome"] == "dropped by selection: language"
    stored = {row["doc_id"].hex(): row for row in table_of(small_build, "signals").to_pylist()}[
        answer["doc_id"]
    ]
    assert {s["name"]: s["value"] for s in answer["signals"]} == {
        name: value for name, value in stored.items() if name != "doc_id"
    }
    verdicts = {rule["rule"]: rule["passed"] for s in answer["signals"] for rule in s["rules"]}
    assert sorted(name for name, passed in verdicts.items() if not passed) == sorted(
        answer["failed_rules"]
    )
    assert set(verdicts) == {"language", "gopher_word_count", "low_quality", "few_words"}
    assert answer["text"] is None


def test_percentiles_are_ranks_in_the_snapshot(small_build: Place, capsys: Captured) -> None:
    answer = show(small_build, capsys, KEPT_PAGE)
    files = registry_of(small_build).lineage_files(VERSION, "signals")
    values = [
        value
        for file in files
        if file.snapshot == answer["snapshot"]
        for value in pq.read_table(small_build.store / file.path)["n_words"].to_pylist()
    ]
    own = next(s for s in answer["signals"] if s["name"] == "n_words")
    below = sum(v < own["value"] for v in values) + sum(v == own["value"] for v in values) / 2
    assert own["percentile"] == pytest.approx(100 * below / len(values), abs=0.01)


def test_a_cutoff_and_the_tiers_are_shown_as_resolved(small_build: Place, capsys: Captured) -> None:
    answer = show(small_build, capsys, KEPT_PAGE)
    rules = {rule["rule"]: rule for s in answer["signals"] for rule in s["rules"]}
    assert rules["few_words"]["cutoff"] == "words"
    assert rules["few_words"]["min"] > 0
    assert [tier["tier"] for tier in answer["tiers"]] == ["high", "low"]
    words = said(capsys, "signals", "show", answer["doc_id"][:8], "--home", str(small_build.home))
    assert re.search(r"few_words +at least \d+ \(cutoff words\) +passed", words)


def test_text_is_shown_when_asked_for_and_not_once_it_is_suppressed(
    place: Place, capsys: Captured
) -> None:
    assert GERMAN[:40] in show(place, capsys, GERMAN_PAGE, "--text")["text"]
    forget(place, GERMAN_PAGE)
    answer = show(place, capsys, GERMAN_PAGE, "--text")
    assert (answer["suppressed"], answer["text"], answer["url"]) == (True, None, None)
    words = said(capsys, "signals", "show", answer["doc_id"], "--home", str(place.home), "--text")
    assert "Leuchtturm" not in words
    assert "suppressed: a takedown covers it" in words


def test_a_record_without_text_says_why_it_has_no_signals(
    small_build: Place, capsys: Captured
) -> None:
    gone = doc_id(small_build, "http://gone.example.com/")
    message = said(capsys, "signals", "show", gone, "--home", str(small_build.home), code=1)
    assert "has no signals: it gave no text (http_status)" in message


def test_an_unknown_document_is_named(small_build: Place, capsys: Captured) -> None:
    message = said(capsys, "signals", "show", "0" * 32, "--home", str(small_build.home), code=1)
    assert "has no document" in message


def sample_page(place: Place, target: Path, *more: str) -> str:
    command = ["sample-page", VERSION, "--home", str(place.home), "--out", str(target), *more]
    assert main(command) == 0
    return target.read_text(encoding="utf-8")


def test_the_canary_shows_every_fate_with_the_values_behind_it(
    small_build: Place, tmp_path: Path
) -> None:
    page = sample_page(small_build, tmp_path / "c.html", "--per-reason", "2")
    headings = re.findall(r'<h2 id="g\d+">([^<]*?) <span class="soft">(\d+) of (\d+)', page)
    fates = {name: (int(shown), int(total)) for name, shown, total in headings}
    rows = table_of(small_build, "decisions").to_pylist()
    expected: dict[str, int] = {}
    for row in rows:
        where = f"kept: {row['domain']} / {row['tier']}" if row["kept"] else None
        name = where or f"{row['stage']}: {row['reason']}"
        expected[name] = expected.get(name, 0) + 1
    assert fates == {name: (min(2, total), total) for name, total in expected.items()}
    assert '<span class="failed">language</span>: language is de, asked for: one of en' in page
    assert GERMAN[:40] in page
    assert "<script" not in page
    assert "http-equiv" not in page


def test_the_canary_is_the_same_page_each_time_and_text_is_cut(
    small_build: Place, tmp_path: Path
) -> None:
    first = sample_page(small_build, tmp_path / "a.html", "--chars", "50")
    assert sample_page(small_build, tmp_path / "b.html", "--chars", "50") == first
    title = "Der Leuchtturm\n"  # the text begins with it
    assert title + GERMAN[: 50 - len(title)] in first
    assert title + GERMAN[: 51 - len(title)] not in first


def test_a_kept_document_is_shown_as_it_goes_to_the_shards(
    small_build: Place, tmp_path: Path
) -> None:
    page = sample_page(small_build, tmp_path / "c.html", "--per-reason", "100", "--chars", "100000")
    assert "people.example.com" in page
    assert EMAIL not in page


def test_nothing_of_the_canary_is_stored_and_a_suppressed_page_is_left_out(
    place: Place, tmp_path: Path
) -> None:
    before = sorted(path for path in place.store.rglob("*") if path.is_file())
    assert "Leuchtturm" in sample_page(place, tmp_path / "a.html")
    assert sorted(path for path in place.store.rglob("*") if path.is_file()) == before
    forget(place, GERMAN_PAGE)
    page = sample_page(place, tmp_path / "b.html")
    assert "Leuchtturm" not in page
    assert "de.example.com" not in page
    assert "Nothing that may be shown" in page


def test_a_revoked_version_is_refused(place: Place, capsys: Captured, tmp_path: Path) -> None:
    revoke(registry_of(place), VERSION)
    command = ("sample-page", VERSION, "--home", str(place.home), "--out", str(tmp_path / "c.html"))
    assert f"version {VERSION} is revoked" in said(capsys, *command, code=1)
    assert not (tmp_path / "c.html").exists()
