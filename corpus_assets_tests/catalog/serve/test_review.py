"""Review by people in `catalog serve`: samples by filter, judgements, who may write them."""

import html
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main
from catalog.db.registry import Registry
from catalog.db.rows import GateRow, SuppressionRow
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
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


def test_samples_are_drawn_by_filter_and_the_next_one_is_another(small_build: Place) -> None:
    with reviewing(small_build, with_review=False) as browser:
        german = ask(browser, stage="selection", reason="language", language="de")
        assert GERMAN.split(",")[0] in german.text
        assert "asked for" in german.text
        assert "language is de, asked for: one of en" in german.text
        assert "No record is left" in ask(browser, stage="selection", language="xx").text
        seen = []
        for skip in range(4):
            page = ask(browser, stage="kept", skip=str(skip))
            seen += re.findall(r"/documents/([0-9a-f]{32})", page.body)
            assert f"skip={skip + 1}" in page.body
        assert len(set(seen)) == 4
        refused = ask(browser, stage="documents", reason="opted_out")
        assert "dropped before it had a text" in refused.text
        assert "/judge" not in german.body


def test_a_judgement_is_recorded_and_the_next_sample_shown(place: Place) -> None:
    registry = registry_of(place)
    registry.put_gate(GateRow(VERSION, "review", False, None, 0.5, {"min_judged": 3}))
    with reviewing(place) as browser:
        asked = {"stage": "kept", "by": "ann"}
        assert "Write your name" in ask(browser, stage="kept").text
        first = fields(ask(browser, **asked).body)
        after = send(browser, first | {"verdict": "disagree", "why": "a list <b>of links"})
        assert after.status == 200, "the browser was sent on"
        second = fields(after.body)
        assert second["doc_id"] != first["doc_id"]
        assert second["asked_stage"] == "kept"
        assert "Judged by ann: 1" in after.text
        send(browser, second | {"verdict": "agree"})
        assert fields(ask(browser, stage="kept", by="ben").body)["doc_id"] == first["doc_id"]
        assert "Review" in browser.get(f"/versions/{VERSION}", **AUTH).text
        send(browser, fields(ask(browser, **asked).body) | {"verdict": "agree"})
    rows = registry.judgements(VERSION)
    assert [(row.doc_id, row.agrees, row.why) for row in rows[:2]] == [
        (first["doc_id"], False, "a list <b>of links"),
        (second["doc_id"], True, None),
    ]
    assert {row.stage for row in rows} == {"kept"}
    assert next(gate for gate in registry.gates(VERSION) if gate.name == "review").passed
    command = ["judgements", "--version", VERSION, "--home", str(place.home)]
    answer = json.loads(CliRunner().invoke(main, [*command, "--list", "--json"]).stdout)
    assert sum(row["judged"] for row in answer["reasons"]) == 3
    assert sum(row["disagreed"] for row in answer["reasons"]) == 1
    assert all(row["low"] <= row["share"] <= row["high"] for row in answer["reasons"])
    assert len(answer["judgements"]) == 3
    with Lineage(registry, FileStore(str(place.store)), VERSION) as tables:
        counted = tables.query("SELECT concat_ws(' / ', domain, tier) AS name, count(*) AS n FROM "
                               f"{tables.scan('decisions')} WHERE kept GROUP BY ALL")  # fmt: skip
    records = {row["name"]: row["n"] for row in counted}
    assert all(row["records"] == records[row["reason"]] for row in answer["reasons"])
    told = CliRunner().invoke(main, [*command, "--list"]).stdout
    assert "  ann  no      a list <b>of links" in told
    add_orders(registry, [SuppressionRow("doc_id", first["doc_id"])])
    told = CliRunner().invoke(main, [*command, "--list"]).stdout
    assert "list <b>of" not in told


def test_only_a_form_of_the_page_itself_is_listened_to(place: Place) -> None:
    with reviewing(place) as browser:
        form = fields(ask(browser, stage="kept", by="ann").body) | {"verdict": "agree"}
        assert browser.get("/judge", "POST", b"verdict=agree").status == 401, "no token"
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
        page = ask(browser, stage="selection", language="de", by="ann")
        assert "No record is left" in page.text
        assert GERMAN[:30] not in page.text


def test_writing_needs_a_token(small_build: Place) -> None:
    with pytest.raises(CatalogError, match="token"):
        make_app(registry_of(small_build), FileStore(str(small_build.store)), with_review=True)
    command = ["serve", "--review", "--home", str(small_build.home)]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code != 0
    assert "--token-file" in refused.output
