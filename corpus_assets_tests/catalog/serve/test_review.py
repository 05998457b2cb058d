"""Review by people in `catalog serve`: samples, judgements, results, who may write them."""

import base64
import hashlib
import html
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main
from catalog.db.registry import Registry
from catalog.db.rows import GateRow, SuppressionRow
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from catalog.review.records import new_judgement, place_of
from catalog.review.strata import Asked, draw, stratum_sizes
from catalog.serve.app import LOOPBACK, make_app
from corpus_assets.core.home import Home
from corpus_assets_tests.catalog.serve.browser import TOKEN, Answer, Browser, served
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import GERMAN

AUTH = {"Authorization": f"Bearer {TOKEN}"}


@contextmanager
def reviewing(place: Place, with_review: bool = True) -> Iterator[Browser]:
    app = make_app(registry_of(place), FileStore(str(place.store)), TOKEN, LOOPBACK,
                   with_review=with_review)  # fmt: skip
    with served(app) as browser:
        yield browser


def registry_of(place: Place) -> Registry:
    return Registry(Home.resolve(str(place.home)).catalog_url)


def fields(page: str) -> dict[str, str]:
    """The hidden fields of the form that is sent."""
    form = page.partition('action="/judge"')[2].partition("</form>")[0]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found}


def ask(browser: Browser, **query: str) -> Answer:
    return browser.get(f"/review?{urllib.parse.urlencode(query)}", **AUTH)


def send(browser: Browser, form: dict[str, str], **headers: str) -> Answer:
    return browser.get("/judge", "POST", urllib.parse.urlencode(form).encode(), **AUTH | headers)


def number(page: Answer) -> tuple[int, int]:
    """Which record of how many a page shows."""
    found = re.search(r"Record (\d+) of (\d+)", page.text)
    assert found is not None, page.text
    return int(found[1]), int(found[2])


def keys(page: Answer) -> set[str]:
    return set(re.findall(r'aria-keyshortcuts="(.)"', page.body))


def test_samples_are_drawn_by_filter_and_each_record_has_an_address(small_build: Place) -> None:
    with reviewing(small_build, with_review=False) as browser:
        german = ask(browser, decision="selection: language", language="de")
        assert GERMAN.split(",")[0] in german.text
        assert "language is de, asked for: one of en" in german.text
        assert "No record fits" in ask(browser, decision="selection: language", language="xx").text
        seen = []
        for at in range(1, 5):
            asked = {"decision": "kept: web / high", "kept": "10", "at": str(at)}
            page = ask(browser, **asked)
            assert number(page) == (at, 10)
            assert page.body == ask(browser, **asked).body
            seen += re.findall(r'<code>([0-9a-f]{12})</code></a> <span class="soft', page.body)
            assert "kept: " in page.text
            assert "rules passed" in page.text
            assert keys(page) == ({"j", "k"} if at > 1 else {"j"}), "there is nobody to judge"
        assert len(set(seen)) == 4
        assert number(ask(browser, at="99999"))[0] == number(ask(browser))[1]
        refused = ask(browser, decision="documents: opted_out")
        assert "dropped before it had a text" in refused.text
        copied = ask(browser, decision="clusters: repeated_url")
        assert "side by side" in copied.text
        assert "/judge" not in german.body
        assert ask(browser, kept="1001").status == 400
        assert ask(browser, kept="many").status == 400


def test_a_sample_has_kept_and_dropped_records_and_says_which_rules_have_no_place(
    small_build: Place,
) -> None:
    with reviewing(small_build, with_review=False) as browser:
        whole = ask(browser)
        assert "Too few are drawn" not in whole.text
        pages = [ask(browser, at=str(at)).text for at in range(1, number(whole)[1] + 1)]
        for decision in ("selection: low_quality", "clusters: near_duplicate_text",
                         "contamination: contains_eval_item"):  # fmt: skip
            assert any(f"dropped by {decision}" in page for page in pages), decision
        assert sum("kept: " in page.partition("Record ")[2] for page in pages) > 30
        few = ask(browser, kept="1", dropped="1")
        assert "Too few are drawn for these: clusters: near_duplicate_text" in few.text
        assert number(few) == (1, 2)


def test_the_one_script_is_that_of_the_keys_and_only_the_review_may_run_it(
    small_build: Place,
) -> None:
    with reviewing(small_build) as browser:
        page = ask(browser, by="ann")
        (script,) = re.findall(r"<script>(.*?)</script>", page.body, re.S)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = page.headers["content-security-policy"]
        assert f"script-src 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/", f"/versions/{VERSION}/review", f"/versions/{VERSION}"):
            answer = browser.get(path, **AUTH)
            assert "<script" not in answer.body
            assert "script-src" not in answer.headers["content-security-policy"]


def test_a_judgement_is_recorded_and_the_next_record_shown(place: Place) -> None:
    registry = registry_of(place)
    registry.put_gate(GateRow(VERSION, "review", False, None, 0.5, {"min_judged": 3}))
    with reviewing(place) as browser:
        asked = {"kept": "20", "dropped": "0", "by": "ann"}
        assert "Write your name" in ask(browser, kept="20", dropped="0").text
        page = ask(browser, **asked)
        assert keys(page) == {"g", "b", "s", "j"}, "nothing to undo, and none before it"
        first = fields(page.body)
        after = send(browser, first | {"verdict": "bad", "why": "a list <b>of links"})
        assert after.status == 200, "the browser was sent on"
        assert (number(after), "1 answered" in after.text) == ((2, 20), True)
        assert keys(after) == {"g", "b", "s", "u", "j", "k"}
        second = fields(after.body)
        assert second["doc_id"] != first["doc_id"]
        assert (second["kept"], second["dropped"]) == ("20", "0")
        third = send(browser, second | {"verdict": "good"})
        assert number(third) == (3, 20)
        assert fields(ask(browser, **asked | {"by": "ben"}).body)["doc_id"] == first["doc_id"]
        again = ask(browser, **asked, at="1")
        assert "You said: bad" in again.text
        assert 'value="a list &lt;b&gt;of links"' in again.body
        assert "Results of 2 judgements" in browser.get(f"/versions/{VERSION}", **AUTH).text
        assert number(ask(browser, **asked)) == (3, 20), "without a number, the next one"
        send(browser, fields(third.body) | {"verdict": "good"})
    rows = registry.judgements(VERSION)
    assert [(row.doc_id, row.agrees, row.why) for row in rows[:2]] == [
        (first["doc_id"], False, "a list <b>of links"),
        (second["doc_id"], True, None),
    ]
    assert {row.stage for row in rows} == {"kept"}
    assert next(gate for gate in registry.gates(VERSION) if gate.name == "review").passed
    command = ["judgements", "--version", VERSION, "--home", str(place.home)]
    answer = json.loads(CliRunner().invoke(main, [*command, "--list", "--json"]).stdout)
    everything = answer["kept"][0]
    assert (everything["group"], everything["judged"], everything["good"]) == ("all", 3, 2)
    assert everything["low"] < everything["share"] < everything["high"]
    assert answer["dropped"] == []
    assert len(answer["judgements"]) == 3
    told = CliRunner().invoke(main, [*command, "--list"]).stdout
    assert "  ann  no      a list <b>of links" in told
    add_orders(registry, [SuppressionRow("doc_id", first["doc_id"])])
    told = CliRunner().invoke(main, [*command, "--list"]).stdout
    assert "list <b>of" not in told


def test_the_last_judgement_is_withdrawn_and_its_record_shown_again(place: Place) -> None:
    registry = registry_of(place)
    with reviewing(place) as browser:
        form = fields(ask(browser, by="ann").body)
        second = send(browser, form | {"verdict": "good"})
        third = send(browser, fields(second.body) | {"verdict": "good"})
        send(browser, form | {"by": "ben", "verdict": "good"})
        back = send(browser, fields(third.body) | {"verdict": "undo"})
        assert number(back)[0] == 2
        assert "1 answered" in back.text
        twice = send(browser, fields(third.body) | {"verdict": "undo"})
        assert number(twice)[0] == 2, "an undo that is sent twice takes back no other"
        assert len(registry.judgements(VERSION)) == 2
        first = send(browser, fields(back.body) | {"verdict": "undo"})
        assert (number(first)[0], "u" in keys(first)) == (1, False)
        assert send(browser, fields(first.body) | {"verdict": "undo"}).status == 400
    assert [row.judged_by for row in registry.judgements(VERSION)] == ["ben"]


def test_after_the_last_record_come_those_that_were_skipped(place: Place) -> None:
    with reviewing(place) as browser:
        asked = {"kept": "1", "dropped": "2", "by": "ann"}
        page = ask(browser, **asked)
        (skip,) = re.findall(r'href="([^"]*)" aria-keyshortcuts="s"', page.body)
        page = browser.get(html.unescape(skip), **AUTH)
        assert number(page) == (2, 3)
        page = send(browser, fields(page.body) | {"verdict": "good"})
        page = send(browser, fields(page.body) | {"verdict": "bad"})
        assert number(page) == (1, 3)
        assert "s" not in keys(page), "it is the only one left"
        page = send(browser, fields(page.body) | {"verdict": "bad"})
        assert "All 3 are answered" in page.text


def test_results_lead_from_a_proposed_threshold_to_what_it_would_keep(place: Place) -> None:
    """Long documents are judged good: the rule about words should ask for more of them."""
    registry, rule = registry_of(place), "gopher_word_count"
    _let_one_document_fail_only(place, rule)
    good = 182
    with Lineage(registry, FileStore(str(place.store)), VERSION) as lineage:
        for row in draw(lineage, stratum_sizes(lineage), Asked(1000, 1000)).records:
            names = ("doc_id", "snapshot", "part", "offset")
            at = dict(zip(names, map(str, place_of(row)), strict=True))
            (signals,) = lineage.documents_in(
                "signals", [row["doc_id"]], row["snapshot"], [row["part"]]
            )
            is_long = signals["n_words"] >= good
            registry.judge(new_judgement(lineage, at, is_long, "", "ann"))
        judged = [row for row in registry.judgements(VERSION) if row.reason == rule]
    assert len(judged) == 1
    with reviewing(place) as browser:
        results = browser.get(f"/versions/{VERSION}/review", **AUTH)
        assert "Dropped: wrongful loss by rule" in results.text
        assert "selection: low_quality" in results.text
        assert "not enough answers" in results.text
        (links) = re.findall(r'<a href="([^"]*/what-if[^"]*)"', results.body)
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(html.unescape(links[0])).query))
        proposed = float(asked[f"{rule}.min.value"])
        assert good - 1 < proposed < good
        opened = browser.get(html.unescape(links[0]), **AUTH)
        assert "With this one moved" in opened.text
        assert "(now 30)" in opened.text
    command = ["judgements", "--version", VERSION, "--home", str(place.home), "--json"]
    answer = json.loads(CliRunner().invoke(main, command).stdout)
    one = answer["thresholds"][0]
    assert (one["threshold"], one["value"]) == (f"{rule}.min", proposed)
    assert one["wrong_then"] == 0 < one["wrong"] < one["answers"]
    text = CliRunner().invoke(main, command[:-1]).stdout
    assert re.search(rf"{rule}.min +n_words +30 +{proposed:g} +{one['answers']} ", text)


def _let_one_document_fail_only(place: Place, rule: str) -> None:
    """In the small corpus, what is short fails a cutoff as well."""
    changed = 0
    for path in (place.store / "artifacts/clean_text").glob("*/decisions.parquet"):
        table = pq.read_table(path)
        rows = table.to_pylist()
        for row in rows:
            if rule in (row["failed_rules"] or ()):
                row["failed_rules"] = [rule]
                changed += 1
        path.unlink()  # the store's files are read-only
        pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    assert changed == 1


def test_only_a_form_of_the_page_itself_is_listened_to(place: Place) -> None:
    with reviewing(place) as browser:
        asked = ask(browser, dropped="0", by="ann")
        form = fields(asked.body) | {"verdict": "good"}
        assert browser.get("/judge", "POST", b"verdict=good").status == 401, "no token"
        assert send(browser, form | {"form_token": ""}).status == 403
        assert send(browser, form | {"form_token": "x" * 43}).status == 403
        assert send(browser, form, Origin="https://attacker.example").status == 403
        for site in ("cross-site", "same-site"):
            headers = {"Sec-Fetch-Site": site, "Origin": "null"}
            assert send(browser, form, **headers).status == 403
        assert registry_of(place).judgements(VERSION) == []
        refused = send(browser, form | {"form_token": "", "why": "typed <words>"})
        assert "typed &lt;words&gt;" in refused.body
        assert "typed+%3Cwords%3E" in refused.body
        assert send(browser, form | {"why": "x" * 70_000}).status == 413
        assert send(browser, form | {"verdict": "maybe"}).status == 400
        assert send(browser, form | {"by": " "}).status == 400
        assert send(browser, form | {"part": "one"}).status == 400
        assert send(browser, form | {"doc_id": "00" * 16}).status == 404
        for headers in ({"Origin": browser.address}, {"Origin": "null"}, {},
                        {"Origin": "null", "Sec-Fetch-Site": "same-origin"}):  # fmt: skip
            assert send(browser, form | {"stage": "documents"}, **headers).status == 200
        for path in ("/", "/review", f"/versions/{VERSION}"):
            assert browser.get(path, "POST", b"x", **AUTH).status == 405
    (row,) = registry_of(place).judgements(VERSION)
    assert row.stage == "kept", "what was decided is read from the version, not from the form"
    with reviewing(place, with_review=False) as browser:
        assert send(browser, form).status == 405


def test_what_a_standing_order_covers_is_not_shown(place: Place) -> None:
    add_orders(registry_of(place), [SuppressionRow("host", "de.example.com")])
    with reviewing(place) as browser:
        page = ask(browser, decision="selection: language", language="de", by="ann")
        assert "No record fits" in page.text
        assert "1 record under a takedown is left out" in page.text
        assert GERMAN[:30] not in page.text


def test_a_takedown_that_is_filed_during_a_review_hides_the_record(place: Place) -> None:
    asked = {"decision": "selection: language", "language": "de", "by": "ann"}
    with reviewing(place) as browser:
        page = ask(browser, **asked)
        assert GERMAN[:30] in page.text
        add_orders(registry_of(place), [SuppressionRow("host", "de.example.com")])
        hidden = ask(browser, **asked)
        assert GERMAN[:30] not in hidden.body
        assert "under a takedown: it is not shown" in hidden.text
        assert "g" not in keys(hidden)
        assert send(browser, fields(page.body) | {"verdict": "good"}).status == 404
    assert registry_of(place).judgements(VERSION) == []


def test_writing_needs_a_token(small_build: Place) -> None:
    with pytest.raises(CatalogError, match="token"):
        make_app(registry_of(small_build), FileStore(str(small_build.store)), with_review=True)
    command = ["serve", "--review", "--home", str(small_build.home)]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code != 0
    assert "--token-file" in refused.output
