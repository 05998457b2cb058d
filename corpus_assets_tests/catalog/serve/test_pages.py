"""The pages of `catalog serve`, asked for over HTTP from a real server."""

import dataclasses
import html
import json
import re
import select
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pytest

from catalog import plugins
from catalog.ask.raw import withheld
from catalog.ask.versions import diff_documents, version_funnel
from catalog.db.registry import Registry
from catalog.db.rows import MetricRow, SuppressionRow
from catalog.errors import TakedownRefused, UnknownName
from catalog.figures import size
from catalog.formats.sketches import near_text_order
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from catalog.serve import differences
from catalog.serve.app import LOOPBACK, make_app
from catalog.serve.guard import MAX_FORM
from catalog.serve.story import asked_of, kind_of, refuse_withheld, segments
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core.home import Home
from corpus_assets.inspect.cost import Prices, version_cost
from corpus_assets_tests.catalog.corpus import Doc, build
from corpus_assets_tests.catalog.serve.browser import TOKEN, Browser, served
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import EMAIL, EVAL_TEXT, FOOTER, prose

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def serving(
    place: Place, token: str | None = None, with_metrics: bool = False
) -> Iterator[Browser]:
    home = Home.resolve(str(place.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)
    app = make_app(registry, store, token, LOOPBACK, with_metrics)
    with served(app) as browser:
        yield browser


@pytest.fixture(scope="module")
def browser(small_build: Place) -> Iterator[Browser]:
    with serving(small_build) as found:
        yield found


def id_of(place: Place, url: str) -> str:
    with duckdb.connect() as connection:
        row = connection.execute(
            "SELECT lower(hex(doc_id)) FROM read_parquet(?) WHERE url = ?",
            [str(place.store / "artifacts/documents/*/records.parquet"), url],
        ).fetchone()
    assert row is not None
    return str(row[0])


class Markup(HTMLParser):
    """Which elements a page has, and that they end where they should."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_page_is_whole_and_without_scripts(browser: Browser, small_build: Place) -> None:
    page = id_of(small_build, "http://people.example.com/contact")
    near = [id_of(small_build, f"http://near.example.net/{name}") for name in ("original", "copy")]
    for path in (
        *(
            "/",
            "/takedowns",
            f"/versions/{VERSION}",
            f"/versions/{VERSION}/what-if",
            f"/versions/{VERSION}/review",
            f"/documents/{page}",
            "/nowhere",
        ),
        *(f"/documents/{near[0]}/beside/{near[1]}", f"/documents/{page}/exposure?steps=50"),
        *(f"/versions/{VERSION}/shards/crawl-1/web/high/shard_00000?sample=0&token=3",),
        *("/find?q=example.com", f"/diff?before={VERSION}&after={VERSION}"),
    ):
        answer = browser.get(path)
        assert answer.status == (404 if path == "/nowhere" else 200), path
        markup = Markup()
        markup.feed(answer.body)
        assert markup.open == [], path
        assert not markup.seen & {"script", "iframe", "img", "object"}, path
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_difference_that_takes_long_is_shown_without_it_first(
    small_build: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, asked = threading.Event(), list[int]()

    def slow(*given: Any) -> dict[str, Any]:
        asked.append(1)
        assert counted.wait(60)
        if len(asked) == 1:
            raise UnknownName("the first try fails")
        return diff_documents(*given)

    monkeypatch.setattr(differences, "diff_documents", slow)
    monkeypatch.setattr(differences, "WAIT_S", 0.05)
    path = f"/diff?before={VERSION}&after={VERSION}"
    with serving(small_build) as browser:
        first = browser.get(path)
        assert first.headers["refresh"] == "2"
        assert "are being counted" in first.body
        assert "Tokens by group" in first.body
        counted.set()
        monkeypatch.setattr(differences, "WAIT_S", 60)
        assert "the first try fails" in browser.get(path).body
        last = browser.get(path)
        assert "Documents that came: 0" in last.body
        assert "refresh" not in last.headers
        browser.get(path)
    assert len(asked) == 2, "an answer is kept"


def test_a_count_under_way_does_not_hold_up_the_end(
    small_build: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(before: Lineage, after: Lineage) -> dict[str, Any]:
        begun.set()
        try:
            before.query("SELECT count(*) FROM range(1_000_000_000) a, range(1_000_000_000) b")
        finally:
            ended.set()
        return {}

    monkeypatch.setattr(differences, "diff_documents", endless)
    monkeypatch.setattr(differences, "WAIT_S", 0.05)
    home = Home.resolve(str(small_build.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)
    (row,) = (row for row in registry.versions() if row.name == VERSION)
    rows = {name: dataclasses.replace(row, created_at=name) for name in "abc"}
    counting = differences.Differences(registry, store)
    monkeypatch.setattr(registry, "version", lambda name: rows.get(name, row))
    assert counting.documents("a", "b") is None
    assert counting.documents("b", "c") is None, "it waits for the first"
    assert begun.wait(30)
    assert not ended.is_set()
    counting.close()
    assert ended.is_set()


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("66cf6a0ba36f6de4", "id"),
        ("http://a.example/b", "address"),
        ("a.example/b?c=d", "address"),
        ("www.example.org", "host"),
        ("bücher.example", "host"),
        ("some words of a text", "text"),
        ("word", "text"),
        ("1.5 litres", "text"),
    ],
)
def test_what_was_typed_is_told_by_its_form(asked: str, kind: str) -> None:
    assert kind_of(asked) == kind


def test_a_page_is_found_by_address_host_text_and_id(browser: Browser, small_build: Place) -> None:
    url = "http://site-3.example.org/article"
    doc_id = id_of(small_build, url)
    for asked in (url, "site-3.example.org", "http://SITE-3.example.org:80/article"):
        answer = browser.find(asked)
        assert f"/documents/{doc_id}" in answer.body, asked
        assert "kept" in answer.text
    assert url in browser.find(doc_id[:16]).text  # the page itself, by the start of its id
    passage = prose("first", 3).split("\n")[1]
    assert doc_id not in browser.find(passage).body
    assert f"/documents/{doc_id}" in browser.find(passage, inside="yes").body


def test_a_document_shows_what_was_taken_out_and_no_personal_data(
    browser: Browser, small_build: Place
) -> None:
    answer = browser.get("/documents/" + id_of(small_build, "http://harbour.example.com/page-4"))
    assert f'<del data-kind="boilerplate line">{FOOTER}' in html.unescape(answer.body)
    assert prose("footer", 4).split("\n")[0] in answer.text
    personal = browser.get("/documents/" + id_of(small_build, "http://people.example.com/contact"))
    assert '<ins data-kind="email">' in personal.body
    assert EMAIL not in personal.body + html.unescape(personal.body)
    dropped = browser.get("/documents/" + id_of(small_build, "http://spam.example.com/win"))
    assert "dropped by selection" in dropped.text
    assert "failed" in dropped.text


def test_a_benchmark_item_stands_beside_the_passage_that_holds_it(place: Place) -> None:
    doc_id = id_of(place, "http://quiz.example.com/answers")
    with serving(place) as browser:
        page = browser.get(f"/documents/{doc_id}")
        beside = page.body.partition("beside its passage</summary>")[2].partition("</details>")[0]
        item, passage = beside.split("In this document")
        assert "a lighthouse lamp turns once every twelve seconds and a second lamp" in item
        assert f">{EVAL_TEXT[:40]}" in html.unescape(passage)
        assert prose("quiz").split("\n")[0] not in html.unescape(passage)
        add_orders(Registry(Home.resolve(str(place.home)).catalog_url),
                   [SuppressionRow("host", "quiz.example.com")])  # fmt: skip
        hidden = browser.get(f"/documents/{doc_id}")
    assert "under a takedown" in hidden.text
    assert "lighthouse lamp" not in hidden.text.lower()


@pytest.mark.parametrize("kinds", [[3, 1, 9, 9], None])
def test_lines_are_counted_by_kind_where_kinds_are_known(
    tmp_path: Path, kinds: list[int] | None
) -> None:
    text = "Bread\n\n- flour\n- salt"
    docs = [Doc("A", 0, k, f"http://{k}.example/", text, line_kinds=kinds) for k in range(2)]
    corpus = build(tmp_path, docs=docs)
    without_hits = max(docs, key=lambda doc: doc.doc_id)
    with served(make_app(corpus.registry, corpus.store, None, LOOPBACK)) as browser:
        page = browser.get(f"/documents/{without_hits.doc_id.hex()}")
    assert page.status == 200
    shown = "Lines by kind, as extracted: heading 1 (1), list item (2)." in page.text
    assert shown is (kinds is not None)


def test_a_passage_of_edited_text_shows_what_was_done_in_it_only() -> None:
    text, final = "one two 555 three four", "two <NUMBER> three four"
    edits = [
        {"start": 0, "end": 4, "new_length": 0, "kind": "boilerplate_line"},
        {"start": 8, "end": 11, "new_length": 8, "kind": "phone"},
    ]
    found = [(p["how"], p["text"]) for p in segments(text, final, edits, (), 4, 17)]
    assert found == [("same", "two "), ("put", "<NUMBER>"), ("same", " three")]


def test_a_slider_says_what_selection_keeps_at_its_place(
    browser: Browser, small_build: Place
) -> None:
    address = f"/versions/{VERSION}/what-if"
    counted = json.loads((small_build.store / f"versions/{VERSION}/thresholds.json").read_bytes())
    page, names = browser.get(address), []
    for one in counted["thresholds"]:
        name, last = f"{one['rule']}.{one['end']}", len(one["values"]) - 1
        field = f'name="{name}" min="0" max="{last}" value="{one["now"]}"'
        assert f'<input type="range" id="{name}" {field}>' in page.body
        moved = browser.get(f"{address}?{name}={last}").text
        assert f"{one['documents'][last] - counted['kept']:+d}" in moved
        assert f"now {one['values'][one['now']]:.4g}" in moved
        names.append(f"{name}={last}")
        assert browser.get(f"{address}?{name}={last + 1}").status == 400
        assert browser.get(f"{address}?{name}=-1").status == 400
    changes = [one["documents"][-1] - counted["kept"] for one in counted["thresholds"]]
    least, most = max(0, counted["kept"] + sum(changes)), counted["kept"] + min(changes)
    together = browser.get(f"{address}?{'&'.join(names)}").text
    assert f"With these {len(names)} moved: from {least} to {most} documents" in together
    assert f"/versions/{VERSION}/what-if" in browser.get(f"/versions/{VERSION}").body


def test_a_rule_asks_what_holds_for_the_documents_language_and_domain() -> None:
    rules = [
        {"name": "long", "signal": "n_words", "min": 50.0, "max": 100000.0,
         "languages": {"ja": {"min": 20.0, "max": None}, "bo": {"max": 0.206}}},
        {"name": "web_only", "signal": "share.of.stops", "max": 0.25, "exclusive": True,
         "domains": ["web"]},
        {"name": "for_ja", "signal": "n_words", "min": 1, "only_languages": ["ja"]},
        {"name": "script", "signal": "language", "in": ["en", "ja"],
         "where": {"signal": "n_words", "min": 1000.0}},
        {"name": "best", "signal": "score", "cutoff": "quality", "where": {"tier": ["low"]}},
    ]  # fmt: skip
    cutoffs = {"quality": {"signal": "score", "drop_share": 0.1, "drop": "highest"}}
    recipe = {"selection": {"rules": rules, "cutoffs": cutoffs}}
    signals = {"n_words": 1234567, "share": {"of": {"stops": 0.125}}, "score": 0.5}

    def asked(language: str, domain: str, *failed: str) -> dict[str, tuple[Any, str, bool]]:
        found = asked_of(recipe, signals | {"language": language}, domain, failed)
        return {row["name"]: (row["value"], row["asked"], row["failed"]) for row in found}

    assert asked("en", "web", "long") == {
        "long": (1234567, "at least 50, at most 100,000", True),
        "web_only": (0.125, "below 0.25", False),
        "script": ("en", "one of en, ja, where n_words is at least 1,000", False),
        "best": (0.5, "not among the highest 10%, where the tier is one of low", False),
    }
    assert asked("ja", "books")["long"][1] == "at least 20, at most 100,000"
    assert asked("ja", "books")["for_ja"][1] == "at least 1"
    assert "web_only" not in asked("ja", "code")


def test_a_document_shows_no_python(browser: Browser, small_build: Place) -> None:
    for url in ("http://people.example.com/contact", "http://spam.example.com/win"):
        page = browser.get("/documents/" + id_of(small_build, url))
        rules = page.text.partition("Signals and rules")[2]
        assert "at least 30" in rules
        assert "passed" in rules
        assert not re.search(r"[{}\[\]]|None|\d\.0\b", rules)


def test_the_funnel_that_was_counted_is_that_of_the_decisions(place: Place) -> None:
    home = Home.resolve(str(place.home))
    with Lineage(Registry(home.catalog_url), FileStore(home.store_url), VERSION) as lineage:
        counted = version_funnel(lineage)
        older = dataclasses.replace(lineage.version, contents_sha256=None)
        lineage.version = older  # as of a release that published none
        assert version_funnel(lineage) == counted
    assert [step["stage"] for step in counted if step["reasons"]][:2] == ["documents", "selection"]
    stored = place.store / "versions" / VERSION / "funnel.json"
    stored.chmod(0o600)
    stored.write_bytes(stored.read_bytes().replace(b"1", b"2"))
    with serving(place) as browser:
        assert "funnel.json has SHA-256" in browser.get(f"/versions/{VERSION}").text


def test_a_token_leads_to_its_document(browser: Browser, small_build: Place) -> None:
    doc_id = id_of(small_build, "http://people.example.com/contact")
    story = browser.get(f"/documents/{doc_id}")
    place = re.search(r'href="(/versions/[^"]*sample=[^"]*)"', story.body)
    assert place is not None
    answer = browser.get(html.unescape(place[1]))
    assert "http://people.example.com/contact" in answer.text
    assert f"/documents/{doc_id}" in answer.body
    assert "The harbour notebook" in answer.text


def test_a_run_that_saw_a_document_is_drawn(browser: Browser, small_build: Place) -> None:
    doc_id = id_of(small_build, "http://people.example.com/contact")
    answer = browser.get(f"/documents/{doc_id}/exposure?steps=200&batch=2&version={VERSION}")
    times = int(re.search(r"Seen (\d+) times", answer.text)[1])  # type: ignore[index]
    assert times > 0
    assert answer.body.count('stroke-width="2"') > 0
    assert browser.get(f"/documents/{doc_id}/exposure?steps=many").status == 400


def test_takedowns_are_listed_with_what_was_done(place: Place) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    store = FileStore(str(place.store))
    target = url_target("http://site-3.example.org/article")
    number = request_takedown(registry, store, target, "owner of the page").request.id
    with serving(place) as browser:
        assert "1 takedown pending" in browser.get("/").text
        listed = browser.get("/takedowns")
        assert f"/takedowns/{number}" in listed.body
        shown = browser.get(f"/takedowns/{number}")
        assert shown.status == 200
        assert "pending" in shown.text
        assert "owner of the page" in shown.text
        assert browser.get(f"/takedowns/{number}/00000001.html").status == 404


def test_text_under_a_takedown_is_not_shown_whatever_version_still_has_it(place: Place) -> None:
    doc_id = id_of(place, "http://people.example.com/contact")
    other = id_of(place, "http://site-3.example.org/article")
    words = prose("personal").split("\n")[0]
    with serving(place) as browser:
        story = browser.get(f"/documents/{doc_id}")
        sample = re.search(r'href="(/versions/[^"]*sample=[^"]*)"', story.body)
        assert words in story.text
        assert sample is not None
        add_orders(Registry(Home.resolve(str(place.home)).catalog_url),
                   [SuppressionRow("host", "people.example.com")])  # fmt: skip
        hidden = browser.get(f"/documents/{doc_id}")
        assert "under a takedown" in hidden.text
        assert words not in hidden.text
        assert browser.get(f"/documents/{other}/beside/{doc_id}").status == 451
        tokens = browser.get(html.unescape(sample[1]))
        assert "·····" in tokens.text
        assert "The harbour notebook" not in tokens.text


@pytest.mark.parametrize(
    ("kind", "column"),
    [("doc_id", "doc_id"), ("url_key", "url_key"), ("host", "host"), ("url_prefix", "url_key"),
     ("text_id", "text_id"), ("near_text", "sketch")],
)  # fmt: skip
def test_documents_under_takedowns_are_known_many_at_once_as_one_by_one(
    place: Place, kind: str, column: str
) -> None:
    home = Home.resolve(str(place.home))
    registry = Registry(home.catalog_url)
    with duckdb.connect() as connection:
        places = [str(place.store / f"artifacts/documents/*/{name}.parquet") for name in
                  ("records", "documents")]  # fmt: skip
        ids = [row[0] for row in connection.execute(
            "SELECT DISTINCT doc_id FROM read_parquet(?)", [places[0]]).fetchall()]  # fmt: skip
        (value,) = connection.execute(
            f"SELECT text.{column} FROM read_parquet(?) AS record JOIN read_parquet(?) AS text "
            "USING (doc_id) WHERE record.url = 'http://site-3.example.org/article'",
            places,
        ).fetchone() or (None,)
    with Lineage(registry, FileStore(home.store_url), VERSION) as lineage:
        assert withheld(lineage, ids) == set()
        written = value.hex() if isinstance(value, bytes) else value
        order = near_text_order(value) if column == "sketch" else (kind, written)
        add_orders(registry, [SuppressionRow(*order)])
        alone = set()
        for doc_id in ids:
            try:
                refuse_withheld(lineage, doc_id)
            except TakedownRefused:
                alone.add(doc_id)
        assert alone
        assert withheld(lineage, ids) == alone


def test_what_is_not_there_is_said(browser: Browser) -> None:
    for path, said in (
        ("/versions/none", "none"),
        ("/documents/ffffffffffff", "has no document"),
        ("/documents/xyz", "not a document id"),
        ("/takedowns/99", "99"),
        ("/takedowns/99999999999999999999", "99999999999999999999"),
        (f"/takedowns/{'9' * 5000}", "999"),
        (f"/takedowns/{'9' * 20}/00000001.html", "999"),
        (f"/versions/{VERSION}/what-if?gopher_word_count.min={'9' * 5000}", "places from 0"),
        (f"/versions/{VERSION}/what-if?gopher_word_count.min.value=nan", "finite number"),
        (f"/versions/{VERSION}%00", "NUL"),
        (f"/versions/{VERSION}/shards/crawl-1/web/high/shard_00000?sample=99999", "has samples"),
        (f"/diff?before={VERSION}&after=other", "other"),
    ):
        answer = browser.get(path)
        assert answer.status in (400, 404), path
        assert said in answer.text
        assert "Traceback" not in answer.body


def test_a_hostile_search_is_text(browser: Browser) -> None:
    answer = browser.find('<script>alert(1)</script>"\u202e', inside="yes")
    assert "<script" not in answer.body
    assert "\u202e" not in answer.body
    assert "&lt;script&gt;" in answer.body


def test_a_version_tells_when_and_at_what_cost_it_was_built(
    small_build: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = json.loads((ROOT / "pyproject.toml").read_text().partition("version_cost")[2]
                      .partition("corpus_assets = ")[2].partition("\n")[0])  # fmt: skip
    with serving(small_build) as browser, monkeypatch.context() as patch:
        patch.setattr(plugins, "entry_points", lambda **_: ())
        assert "is not installed here" in browser.get(f"/versions/{VERSION}/cost").text
    folder = tmp_path / "told-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[catalog.version_cost]\ntold = {cost}\n")
    monkeypatch.syspath_prepend(tmp_path)
    home = Home.resolve(str(small_build.home))
    row = Registry(home.catalog_url).version(VERSION)
    wanted = version_cost(home, row, Prices())
    with serving(small_build) as browser:
        shown = browser.get(f"/versions/{VERSION}/cost")
        assert f'href="/versions/{VERSION}/cost"' in browser.get(f"/versions/{VERSION}").body
    assert row.created_at in shown.text
    assert f"{wanted.first_computed_at} to {wanted.last_computed_at}" in shown.text
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in shown.body.split("<tr>")[2:]]
    assert [(cells[0], cells[1], cells[2], cells[7], cells[10]) for cells in rows] == [
        (one.stage, f"{one.parts:,}", f"{one.cpu_hours * 3600:,.1f}",
         size(one.bytes_out), f"{one.money:.6f}")
        for one in wanted.stages
    ]  # fmt: skip


def test_nothing_can_be_changed_and_no_other_name_is_answered(browser: Browser) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert browser.get("/", method, b"").status == 405
    assert browser.get("/", Host="attacker.example").status == 400


def test_with_a_token_nothing_is_shown_without_it(small_build: Place) -> None:
    with serving(small_build, TOKEN) as browser:
        for path in ("/", f"/versions/{VERSION}", "/find?q=example.com", "/nowhere"):
            answer = browser.get(path)
            assert answer.status == 401
            assert VERSION not in answer.text
            assert browser.get(path, Authorization="Bearer wrong").status == 401
        assert browser.get("/", Authorization=f"Bearer {TOKEN}").status == 200
        wrong = browser.get("/enter", "POST", b"token=wrong")
        assert wrong.status == 401
        opened = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        given = urllib.parse.urlencode({"token": TOKEN}).encode()
        with opened.open(browser.address + "/enter", given) as answer:
            assert VERSION in answer.read().decode()
        for then, leads in (
            ("/takedowns?a=b", "/takedowns?a=b"),
            ("//attacker.example/", "/"),
            ("/\\attacker.example/", "/"),
            ("https://attacker.example/", "/"),
        ):
            given = urllib.parse.urlencode({"token": TOKEN, "then": then}).encode()
            with opened.open(browser.address + "/enter", given) as answer:
                assert answer.url == browser.address + leads
        with opened.open(browser.address + "/takedowns") as answer:
            assert answer.status == 200


class Counting:
    """An application between a server and another one that counts the bytes of bodies."""

    def __init__(self, app: Any) -> None:
        self.app, self.bytes = app, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def counted() -> Any:
            message = await receive()
            self.bytes += len(message.get("body", b""))
            return message

        await self.app(scope, counted, send)


@pytest.mark.parametrize("path", ["/enter", "/judge", "/", "/takedowns/1"])
@pytest.mark.parametrize("is_length_told", [True, False])
def test_no_more_of_a_body_is_taken_than_a_form_may_hold(
    small_build: Place, path: str, is_length_told: bool
) -> None:
    home = Home.resolve(str(small_build.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)
    app = Counting(make_app(registry, store, TOKEN, LOOPBACK, with_review=True))
    piece, most = b"x" * 16_384, 64 << 20
    with served(app) as browser:
        host, _, port = browser.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as line:
            told = f"Content-Length: {most}" if is_length_told else "Transfer-Encoding: chunked"
            line.sendall(f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{told}\r\n\r\n".encode())
            line.setblocking(False)
            answer, sent = b"", 0
            while b"\r\n" not in answer and sent < most:
                can_read, can_write, _ = select.select([line], [line], [])
                if can_read:
                    answer += line.recv(4096)
                elif can_write and is_length_told:
                    sent += line.send(piece)
                elif can_write:
                    line.setblocking(True)
                    line.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                    line.setblocking(False)
                    sent += len(piece)
    is_form = path in ("/enter", "/judge")
    assert answer.startswith(b"HTTP/1.1 413" if is_form else b"HTTP/1.1 405")
    # What the server had read before the answer was sent comes to it too.
    assert app.bytes <= (0 if is_length_told or not is_form else 4 * MAX_FORM)
    assert sent < most, "the answer did not wait for the whole body"


def test_edits_are_laid_over_the_text_in_order() -> None:
    text, final = "one two three four", "ONE three fo-ur"
    edits = [
        {"start": 4, "end": 8, "new_length": 0, "kind": "boilerplate_line"},
        {"start": 0, "end": 3, "new_length": 3, "kind": "text_step"},
        {"start": 16, "end": 16, "new_length": 1, "kind": "text_step"},
    ]
    places = [{"start": 8, "end": 13, "of": "quiz q-1: common"}]
    found = [(piece["how"], piece["text"]) for piece in segments(text, final, edits, places)]
    assert found == [
        ("cut", "one"),
        ("put", "ONE"),
        ("same", " "),
        ("cut", "two "),
        ("item", "three"),
        ("same", " fo"),
        ("put", "-"),
        ("same", "ur"),
    ]


def test_numbers_of_every_stage_are_given_to_prometheus_where_that_is_asked_for(
    place: Place,
) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    registry.add_metrics([MetricRow('odd "name"\\', 0.5)])
    with serving(place, TOKEN, with_metrics=True) as browser:
        assert browser.get("/metrics").status == 401
        answer = browser.get("/metrics", Authorization=f"Bearer {TOKEN}")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.splitlines()
    named = 'corpus_metric{name="documents.documents_in",snapshot="crawl-1",version=""} 26.0'
    assert named in lines
    assert r'corpus_metric{name="odd \"name\"\\",snapshot="",version=""} 0.5' in lines
    assert sum(line.startswith("corpus_versions{") for line in lines) == 1
    stages = {row.name.partition(".")[0] for row in registry.metrics(snapshot="crawl-1")}
    assert {"documents", "signals", "selection", "clusters", "clean_text", "shards"} <= stages
    with serving(place) as browser:
        assert browser.get("/metrics").status == 404
