"""The pages of `catalog serve` in a real browser: every form of every template, words in tables at
three widths, dark colours."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import catalog.serve
from catalog.db.registry import Registry
from catalog.db.rows import GateRow
from catalog.formats.store import FileStore
from catalog.review.records import is_good
from catalog.serve.app import LOOPBACK, make_app
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core.home import Home
from corpus_assets_tests.catalog.serve.browser import TOKEN, served
from corpus_assets_tests.catalog.serve.test_pages import id_of
from corpus_assets_tests.chromium import Page, chromium
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.homes import copy_home

TEMPLATES = Path(catalog.serve.__file__).parent / "templates"
CANDIDATE = "other-1"
ARTICLE = "http://site-3.example.org/article"
CONTACT = "http://people.example.com/contact"
WIDTHS = (390, 768, 1280)
SPLIT_WORDS = """() => {
  const split = [];
  for (const cell of document.querySelectorAll('td, th, caption')) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      if (text.parentElement.closest('.address, .away, caption, code')) continue;
      for (const found of text.data.matchAll(/\\S+/g)) {
        const word = document.createRange();
        word.setStart(text, found.index);
        word.setEnd(text, found.index + found[0].length);
        if (new Set([...word.getClientRects()].map((r) => Math.round(r.top))).size > 1)
          split.push(found[0]);
      }
    }
  }
  return split;
}"""


@dataclass(frozen=True)
class Desk:
    page: Page
    address: str
    place: Place
    registry: Registry

    def open(self, path: str) -> None:
        self.page.open(self.address + path)
        self.page.until(
            lambda: self.page.value("document.readyState") == "complete", f"{path} does not load"
        )

    def fill(self, field: str, text: str) -> None:
        self.page.click(None, field)
        self.page.press("a", 65, control=True)
        self.page.write(text)

    def choose(self, field: str, value: str) -> None:
        self.page.value(f"document.querySelector({json.dumps(field)}).value = {json.dumps(value)}")

    def field(self, field: str) -> Any:
        return self.page.value(f"document.querySelector({json.dumps(field)}).value")


@pytest.fixture(scope="module")
def desk(small_build: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A released version, a later candidate of no documents, a takedown, and who has the token."""
    folder = tmp_path_factory.mktemp("desk")
    copy_home(small_build.home, folder / "home")
    place = Place(folder)
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    store = FileStore(str(place.store))
    row = replace(registry.version(VERSION), name=CANDIDATE, released_at=None, documents=0)
    gate = GateRow(CANDIDATE, "audit", False, detail={"message": "9 words are split"})
    registry.publish_version(row, [], [], gates=[gate])
    request_takedown(registry, store, url_target(ARTICLE), "the owner of the page asks")
    app = make_app(registry, store, TOKEN, LOOPBACK, with_review=True)
    with chromium(folder, patience_s=30) as page, served(app) as browser:
        desk = Desk(page, browser.address, place, registry)
        enter(desk)
        yield desk


# Forms. Each test names the form that it sends; the last one finds forms that none does.

SENT: dict[tuple[str, str], Callable[..., None]] = {}


def sends(template: str, action: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def noted(test: Callable[..., None]) -> Callable[..., None]:
        SENT[template, action] = test
        return test

    return noted


def enter(desk: Desk) -> None:
    """Give the token on the way to a page, which is then shown."""
    desk.open("/takedowns")
    desk.fill("input[name=token]", "token is wrong")
    desk.page.click("Enter", "button")
    desk.page.shows("The token is wrong.")
    desk.fill("input[name=token]", TOKEN)
    desk.page.click("Enter", "button")
    desk.page.shows("Takedowns")
    assert desk.page.address == f"{desk.address}/takedowns"


@sends("bare.html", "/enter")
def test_the_token_opens_the_page_that_was_asked_for(desk: Desk) -> None:
    desk.open("/")  # the fixture has entered
    desk.page.shows("Versions")


@sends("base.html", "/find")
def test_the_search_box_asks_the_version_of_its_page_else_the_released_one(desk: Desk) -> None:
    page, chosen = desk.page, "select[name=version]"
    for path, version in (
        ("/", VERSION),
        ("/takedowns", VERSION),
        (f"/versions/{CANDIDATE}/what-if", CANDIDATE),
        (f"/documents/{id_of(desk.place, CONTACT)}?version={VERSION}", VERSION),
    ):
        desk.open(path)
        assert desk.field(chosen) == version, path
        said = page.value(f"document.querySelector('{chosen}').innerText")
        assert f"{CANDIDATE} (candidate)" in said
    desk.fill("input[name=q]", CONTACT)
    page.click("Find", "button")
    page.shows(f"1 record in {VERSION}")
    for asked, records in (
        (CONTACT, "1 record"),
        ("people.example.com", "1 record"),
        (id_of(desk.place, CONTACT)[:12], "1 record"),
    ):
        desk.fill("input[name=q]", asked)
        desk.choose(chosen, CANDIDATE)
        page.click("Find", "button")
        page.shows(f"0 records in {CANDIDATE}")
        page.shows(f"Found in {VERSION} (released, {records})")
        assert desk.field(chosen) == CANDIDATE
    page.click(VERSION, "main a")
    page.until(lambda: "/documents/" in page.address, "the document is not shown")
    assert desk.field(chosen) == VERSION


@sends("document.html", '{{ link("documents", document.doc_id, "exposure") }}')
def test_steps_of_a_run_are_asked_for_on_a_document(desk: Desk) -> None:
    desk.open(f"/documents/{id_of(desk.place, CONTACT)}")
    desk.fill("input[name=steps]", "100")
    desk.fill("input[name=batch]", "2")
    desk.page.click("Show", "button")
    desk.page.shows("100 steps of 2 samples")


@sends("sample.html", '{{ link("versions", version, "shards", shard) }}')
def test_a_token_is_asked_for_by_its_place(desk: Desk) -> None:
    desk.open(f"/versions/{VERSION}/shards/crawl-1/web/high/shard_00000?sample=1")
    desk.fill("input[name=token]", "5")
    desk.page.click("Show", "button")
    desk.page.shows("Token 5: of a document under a takedown")
    desk.open(f"/versions/{VERSION}/shards/crawl-2/web/high/shard_00000?sample=1")
    desk.fill("input[name=token]", "7")
    desk.page.click("Show", "button")
    desk.page.shows("token 7")
    desk.page.shows("at byte")


@sends("version.html", "/diff")
def test_a_version_is_compared_with_another(desk: Desk) -> None:
    desk.open(f"/versions/{VERSION}")
    desk.page.click("Compare", "button")
    desk.page.shows(f"From {CANDIDATE} to {VERSION}")


@sends("what-if.html", '{{ link("versions", version, "what-if") }}')
def test_a_threshold_is_moved_by_a_slider_or_by_a_number(desk: Desk) -> None:
    page, address = desk.page, f"/versions/{VERSION}/what-if"
    counted = json.loads((desk.place.store / f"versions/{VERSION}/thresholds.json").read_bytes())
    one = next(one for one in counted["thresholds"] if one["signal"] == "n_words")
    name, values, now = f"{one['rule']}.{one['end']}", one["values"], one["now"]
    assert now + 3 < len(values)
    desk.open(address)
    page.value(f"document.getElementById({json.dumps(name)}).focus()")
    for _ in range(2):
        page.press("ArrowRight", 39)
    page.click("Count", "button")
    page.shows(f"at least {values[now + 2]:g}")
    page.shows("With this one moved:")
    assert int(desk.field(f"input[id='{name}']")) == now + 2
    asked = values[now + 3] + 0.25 * (values[now + 3] - values[now + 2])
    desk.fill(f"input[name='{name}.value']", f"{asked}")
    page.click("Count", "button")
    page.shows(f"at least {values[now + 3]:g}")
    page.shows("counted nearest to")
    assert int(desk.field(f"input[id='{name}']")) == now + 3


@sends("review.html", "/review")
@sends("review.html", "/judge")
def test_a_review_is_drawn_and_recorded(desk: Desk) -> None:
    page = desk.page
    desk.open("/review")
    desk.choose("select[name=decision]", "kept: web / low")
    desk.fill("input[name=kept]", "5")
    desk.fill("input[name=by]", "ann")
    page.click("Draw", "button")
    page.shows("Record 1 of 5, 0 answered")
    desk.fill("input[name=why]", "a list of links")
    page.press("Enter", 13)  # which sends nothing
    page.click("Bad b", "button")
    page.shows("Record 2 of 5, 1 answered")
    (row,) = desk.registry.judgements(VERSION)
    assert (row.judged_by, row.stage, row.agrees, row.why) == (
        *("ann", "kept", False, "a list of links"),
    )
    page.click("Results", "a")
    page.shows("Kept: precision")


def test_a_review_needs_one_key_a_record_and_no_mouse(desk: Desk) -> None:
    page = desk.page

    def press(key: str, said: str) -> None:
        page.until(lambda: page.value("document.readyState") == "complete", "no whole page")
        page.press(key, ord(key.upper()))
        page.shows(said)

    desk.open("/review?kept=4&dropped=4&by=kim")  # one of them is under a takedown
    page.shows("Record 1 of 7, 0 answered")
    press("g", "Record 2 of 7, 1 answered")
    press("b", "Record 3 of 7, 2 answered")
    press("u", "Record 2 of 7, 1 answered")
    press("s", "Record 3 of 7, 1 answered")
    press("j", "Record 4 of 7, 1 answered")
    press("k", "Record 3 of 7, 1 answered")
    press("G", "Record 4 of 7, 2 answered")
    page.value("document.querySelector('input[name=why]').focus()")
    for key in "gbu":
        page.press(key, ord(key.upper()))
    page.write("big bugs")
    assert desk.field("input[name=why]") == "big bugs"
    page.press("Escape", 27)
    press("b", "Record 5 of 7, 3 answered")
    verdicts = [(is_good(row), row.why) for row in desk.registry.judgements(VERSION)
                if row.judged_by == "kim"]  # fmt: skip
    assert verdicts == [(True, None), (True, None), (False, "big bugs")]


def test_a_review_works_without_scripts(desk: Desk) -> None:
    page = desk.page
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        desk.page.open(desk.address + "/review?kept=4&dropped=4&by=leo")
        page.shows("Record 1 of 7, 0 answered")
        page.click("Skip s", "a")
        page.shows("Record 2 of 7, 0 answered")
        page.click("Good g", "button")
        page.shows("Record 3 of 7, 1 answered")
        page.click("Undo u", "button")
        page.shows("Record 2 of 7, 0 answered")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_refused_review_keeps_what_was_typed_and_leads_back(desk: Desk) -> None:
    page, why = desk.page, "two “words” & more <b>"
    for spoil, said in (
        ("document.querySelector('input[name=form_token]').value = 'old'", "nothing was recorded"),
        ("document.querySelector('form[action=\"/judge\"] [name=by]').value = ' '", "name"),
    ):
        desk.open("/review?dropped=0&by=ben&at=3")
        record = desk.field("input[name=doc_id]")
        desk.fill("input[name=why]", why)
        page.value(spoil)
        page.click("Good g", "button")
        page.shows("This was not recorded")
        assert said in page.text
        assert why in page.text
        page.click("Back to the record, with what you wrote", "a")
        page.shows("Review of")
        if page.value("!!document.querySelector('form[action=\"/judge\"]')"):
            assert desk.field("input[name=doc_id]") == record
            assert desk.field("input[name=why]") == why


def test_a_review_sent_after_the_session_ended_is_found_again(desk: Desk) -> None:
    page = desk.page
    desk.open("/review?dropped=0&by=cleo")
    desk.fill("input[name=why]", "typed before")
    page.call("Network.clearBrowserCookies")
    page.click("Good g", "button")
    page.shows("Token")
    desk.fill("input[name=token]", TOKEN)
    page.click("Enter", "button")
    page.shows("0 answered")
    assert desk.field("input[name=why]") == "typed before"


def test_a_form_of_another_site_is_refused(desk: Desk) -> None:
    """The other site is another port: same-site for cookies, and of another origin."""
    page = desk.page
    before = desk.registry.judgements(VERSION)
    desk.open("/review?dropped=0&by=eve")
    form = page.value("document.querySelector('form[action=\"/judge\"]').outerHTML")
    body = form.replace('action="/judge"', f'action="{desk.address}/judge"')

    async def stranger(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            kind = [(b"content-type", b"text/html; charset=utf-8")]
            await send({"type": "http.response.start", "status": 200, "headers": kind})
            await send({"type": "http.response.body", "body": body.encode()})

    with served(stranger) as other:
        page.open(other.address)
        page.click("Good g", "button")
        page.shows("nothing was recorded")
    assert desk.registry.judgements(VERSION) == before


def test_every_form_of_every_template_is_sent_by_a_test() -> None:
    forms = {
        (path.name, re.sub(r"\s+", " ", action))
        for path in TEMPLATES.glob("*.html")
        for action in re.findall(
            r"<form\s[^>]*?action=(?:\"((?:{{.*?}}|[^\"])*)\")", path.read_text()
        )
    }
    written = sum(path.read_text().count("<form") for path in TEMPLATES.glob("*.html"))
    assert forms == set(SENT)
    assert written == len(forms), "a form without an action, or two of the same"
    python = Path(catalog.serve.__file__).parent.glob("*.py")
    assert not any("<form" in path.read_text() for path in python), "forms are in templates"


# What is seen.


@pytest.fixture(scope="module")
def paths(desk: Desk) -> list[str]:
    near = [id_of(desk.place, f"http://near.example.net/{name}") for name in ("original", "copy")]
    return [
        *(
            "/",
            "/takedowns",
            "/takedowns/1",
            "/review?by=ann",
            "/review",
            "/find?q=example.org",
            "/nowhere",
        ),
        *(f"/versions/{VERSION}{page}" for page in ("", "/what-if", "/review", "/cost", "/report")),
        *(f"/versions/{CANDIDATE}", f"/diff?before={CANDIDATE}&after={VERSION}"),
        *(f"/documents/{doc_id}" for doc_id in (*near, id_of(desk.place, ARTICLE))),
        f"/documents/{near[0]}/beside/{near[1]}",
        f"/documents/{id_of(desk.place, CONTACT)}/exposure?steps=50",
        f"/versions/{VERSION}/shards/crawl-1/web/high/shard_00000?sample=0&token=3",
    ]


def test_no_table_splits_a_word_and_no_page_scrolls_sideways(desk: Desk, paths: list[str]) -> None:
    try:
        for path in paths:
            desk.open(path)
            for width in WIDTHS:
                desk.page.size(width, 900)
                assert desk.page.value(f"({SPLIT_WORDS})()") == [], f"{path} at {width} px"
                wide = desk.page.value("document.documentElement.scrollWidth")
                assert wide <= width, f"{path} is {wide} px wide at {width} px"
    finally:
        desk.page.size(1400, 900)


def test_a_table_that_splits_a_word_is_found(desk: Desk) -> None:
    desk.open(f"/versions/{VERSION}")
    desk.page.value("document.querySelector('td').style.cssText = 'overflow-wrap: anywhere; "
                    "white-space: normal; display: block; width: 2rem'")  # fmt: skip
    assert desk.page.value(f"({SPLIT_WORDS})()") == ["documents"]


def test_a_report_leads_back_to_its_version(desk: Desk) -> None:
    desk.open(f"/versions/{VERSION}/report")
    desk.page.click(f"← version {VERSION}", "a")
    desk.page.shows("What became of the records")


def test_a_document_and_its_takedown_lead_to_each_other(desk: Desk) -> None:
    page = desk.page
    desk.open(f"/documents/{id_of(desk.place, ARTICLE)}")
    page.shows("under a takedown")
    page.click("1", "main a")
    page.shows("Takedown 1")
    assert f"url {ARTICLE}" in page.text
    assert "address site-3.example.org/article" in page.text
    assert ")/" not in page.text
    page.click(id_of(desk.place, ARTICLE)[:12], "main a")
    page.shows("under a takedown")


def test_a_candidate_says_which_gate_is_closed(desk: Desk) -> None:
    desk.open(f"/versions/{CANDIDATE}")
    desk.page.shows("audit: 9 words are split")


def test_pages_are_dark_where_that_is_preferred(desk: Desk) -> None:
    page, paper = desk.page, "getComputedStyle(document.body).backgroundColor"
    for scheme, dark in (("dark", True), ("light", False)):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.call("Emulation.setEmulatedMedia", features=features)
        desk.open("/")
        red, *_ = (int(n) for n in re.findall(r"\d+", page.value(paper)))
        assert (red < 64) == dark


def test_every_table_has_a_caption_and_every_field_a_name(desk: Desk, paths: list[str]) -> None:
    nameless = """[...document.querySelectorAll('input:not([type=hidden]), select, button, svg, a')]
      .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()
        || e.querySelector('title')?.textContent || e.getAttribute('aria-hidden')
        || e.classList.contains('away'))).map((e) => e.outerHTML)"""
    for path in paths:
        desk.open(path)
        assert desk.page.value("document.querySelectorAll('table:not(:has(caption))').length") == 0
        assert desk.page.value("[...document.querySelectorAll('th')].filter((e) => "
                               "!e.textContent.trim()).length") == 0, path  # fmt: skip
        assert desk.page.value(nameless) == [], path
        skips = "!!document.querySelector('body > a.away[href=\"#main\"] ~ main#main')"
        assert desk.page.value(skips), path


def test_what_scrolls_is_reached_by_keyboard_and_tokens_are_no_tab_stops(
    desk: Desk, paths: list[str]
) -> None:
    unreachable = """[...document.querySelectorAll('body *')].filter((e) =>
      ['auto', 'scroll'].some((how) => [getComputedStyle(e).overflowX, getComputedStyle(e).overflowY]
        .includes(how)) && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight)
      && e.tabIndex < 0 && !['SELECT', 'INPUT'].includes(e.tagName)).map((e) => e.outerHTML)"""
    desk.page.size(390, 900)
    try:
        for path in paths:
            desk.open(path)
            assert desk.page.value(unreachable) == [], path
            stops = "[...document.querySelectorAll('.tokens a')].filter((e) => e.tabIndex >= 0)"
            assert desk.page.value(f"{stops}.length") == 0
    finally:
        desk.page.size(1400, 900)


def test_a_page_prints_whole_and_light(desk: Desk) -> None:
    """On paper nothing is cut off by a box that scrolls, nothing is dark, and forms are left out."""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    desk.page.call("Emulation.setEmulatedMedia", media="print", features=dark)
    try:
        desk.open(f"/documents/{id_of(desk.place, CONTACT)}")
        style = "getComputedStyle(document.querySelector({}))"
        assert desk.page.value(f"{style.format(json.dumps('header'))}.display") == "none"
        assert desk.page.value(f"{style.format(json.dumps('main form'))}.display") == "none"
        assert desk.page.value(f"{style.format(json.dumps('.text'))}.maxHeight") == "none"
        paper = desk.page.value(f"{style.format(json.dumps('body'))}.backgroundColor")
        assert paper == "rgb(255, 255, 255)"
    finally:
        desk.page.call("Emulation.setEmulatedMedia", media="", features=[])
