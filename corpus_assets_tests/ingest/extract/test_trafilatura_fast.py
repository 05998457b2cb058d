"""Trafilatura itself is the reference: its expressions, and its text page for page."""

import random
from collections.abc import Iterator
from typing import Any

import lxml.etree
import lxml.html
import pytest
import trafilatura
import trafilatura.settings
import trafilatura.xpaths

from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.extractors import trafilatura_copy
from corpus_assets.ingest.extractors.engines import make_engine
from corpus_assets.ingest.extractors.pattern_literals import stems_of
from corpus_assets.ingest.extractors.trafilatura_fast import fast_extract
from corpus_assets.ingest.extractors.trafilatura_rules import Rules
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.gates.gates import media_type
from corpus_assets_tests.shared_data import shared_data

FILES = ("snapshot-A", "snapshot-B", "snapshot-C", "genuine-crawl")
MODES: dict[str, dict[str, Any]] = {
    "fast": {"fast": True, "favor_precision": False},
    "balanced": {"fast": False, "favor_precision": False},
    "precision": {"fast": False, "favor_precision": True},
}
TOKENS = (
    "post", "entry", "articleContent", "article", "story", "content", "main-content",
    "Main-Content", "page-content", "fulltext", "FullText", "primary", "comments",
    "comment-list", "commentary", "Comment", "comol", "disqus_thread", "dsq-comments",
    "infinite-scroll", "infinitescroll", "mvp-post-add-box", "elementor-share-buttons", "share",
    "social", "cookie", "cookie-banner", "cookies", "COOKIE-Notice", "onetrust", "footer",
    "Footer", "nav", "menu", "navbar", "subnav", "related", "ad-", "-ad-", "ad", "dfpAd",
    "widget", "hidden", "hide-", "-hide-", "noprint", "akismet", "reply-", "x-reply-y",
    "message", "teaser", "Teaser", "caption", "bottom", "bottom-bar", "link", "permalink",
    "border", "bread-crumb", "paid-content", "byline", "jp-x", "tags", "tag-list", "a", "b",
    "col-md-6", "\u017fhare", "coo\u212aie",
)  # fmt: skip
NAMES = ("class", "id", "style", "role", "itemprop", "aria-hidden", "data-component",
         "data-lp-replacement-content")  # fmt: skip
VALUES = ("true", "nav", "Navigation", "article", "main", "articleBody", "display:none",
          "display: none", "visibility:hidden", "border:0", "MostPopularStories", "")  # fmt: skip
TAGS = ("div", "section", "article", "main", "aside", "list", "item", "p", "span", "ul", "ol",
        "details", "h1", "header", "footer", "script", "svg", "b")  # fmt: skip


def real_pages(step: int) -> Iterator[str]:
    """Every `step`-th HTML page of the real files, decoded."""
    place = 0
    for name in FILES:
        with shared_data(f"web/{name}.warc.gz").open("rb") as stream:
            for record in read_warc(stream, name, 20_000_000):
                if record.damage is None and "html" in media_type(record):
                    place += 1
                    if place % step == 0:
                        html = decode(record.payload, record.content_type).text
                        if html is not None:
                            yield html


@pytest.fixture(scope="module")
def pages() -> list[str]:
    return list(real_pages(73))


def compare(html: str, options: dict[str, Any]) -> bool:
    fast = fast_extract(options)
    assert fast is not None, "the installed trafilatura is not the release that was compared"
    expected = trafilatura.extract(html, **options)
    assert fast(html) == expected
    return expected is not None


def random_tree(draw: random.Random) -> Any:
    root = lxml.html.Element("body")
    places = [root]
    for _ in range(draw.randrange(1, 40)):
        child = lxml.etree.SubElement(draw.choice(places), draw.choice(TAGS))
        for name in draw.sample(NAMES, draw.randrange(4)):
            words = draw.choices(TOKENS, k=draw.randrange(1, 3))
            joined = draw.choice((" ", "-", "")).join(words)
            child.set(name, draw.choice(VALUES) if draw.random() < 0.3 else joined)
        places.append(child)
    return root


def test_every_rule_finds_what_trafilatura_s_expression_finds() -> None:
    xpaths, settings = trafilatura.xpaths, trafilatura.settings
    rules = Rules(xpaths, settings)
    draw = random.Random(7)
    found = 0
    for _ in range(1000):
        tree = random_tree(draw)
        for stage, expression in enumerate(xpaths.BODY_XPATH):
            assert rules.first_body(stage, tree) is next(iter(expression(tree)), None)
        for matcher, expressions in (
            (rules.appended_articles, xpaths.RAW_TREE_PRUNE_XPATH),
            (lambda t: rules.comments(t, with_lists=True), xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH),
            (lambda t: rules.comments(t, with_lists=False), xpaths.REMOVE_COMMENTS_XPATH),
            (rules.basic, [settings.BASIC_CLEAN_XPATH]),
        ):
            expected = [element for expression in expressions for element in expression(tree)]
            assert matcher(tree) == expected
            found += len(expected)
        matches = {e for expression in xpaths.OVERALL_DISCARD_XPATH for e in expression(tree)}
        outer = [e for e in matches if not any(up in matches for up in e.iterancestors())]
        assert set(rules.discarded(tree)) == set(outer)
        found += len(outer)
    assert found > 3_000


@pytest.mark.parametrize(
    ("pattern", "stems"),
    [
        ("abc|def", ("abc", "def")),
        ("^(?:jp-|dpsp-content)", ("jp-", "dpsp-content")),
        ("article(?:-|__)?body", ("article",)),
        ("[Cc]omment(?!ary)|comol", ("omment", "comol")),
        ("notice[-_]{0,2}cookie", ("notice",)),
        (r"(^|\s)bottom|bottom(\s|$)", ("bottom", "bottom")),
        ("(?:a|b)-content", ("-content",)),
    ],
)
def test_stems_are_literals_that_every_match_holds(pattern: str, stems: tuple[str, ...]) -> None:
    assert stems_of(pattern) == stems


def test_a_pattern_without_a_literal_is_refused() -> None:
    with pytest.raises(ValueError, match="no literal"):
        stems_of("[a-z]+x?")


@pytest.mark.parametrize("mode", MODES)
def test_text_is_trafilatura_s_on_real_pages(mode: str, pages: list[str]) -> None:
    options = MODES[mode] | {"include_tables": True, "include_comments": False}
    assert sum(compare(html, options) for html in pages) > 20


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("tables", "comments"), [(False, False), (True, True)])
def test_text_is_trafilatura_s_with_other_settings(
    mode: str, tables: bool, comments: bool, pages: list[str]
) -> None:
    options = MODES[mode] | {"include_tables": tables, "include_comments": comments}
    assert sum(compare(html, options) for html in pages[::4]) > 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_text_is_trafilatura_s_on_every_real_page(mode: str) -> None:
    options = MODES[mode] | {"include_tables": True, "include_comments": False}
    assert sum(compare(html, options) for html in real_pages(1)) > 2000


def test_text_is_trafilatura_s_on_pages_that_were_torn_and_relabelled(pages: list[str]) -> None:
    draw = random.Random(11)
    for html in pages[::2]:
        for mode in MODES.values():
            start, end = sorted(draw.choices(range(len(html) + 1), k=2))
            torn = html[:start] + html[min(end, start + 2000) :]
            for _ in range(20):
                torn = torn.replace('class="', f'CLASS="{draw.choice(TOKENS)} ', 3).replace(
                    "CLASS", "class"
                )
            torn = torn.replace("<p", f"<{draw.choice(TAGS)}", draw.randrange(5))
            compare(torn, mode | {"include_tables": True, "include_comments": False})


@pytest.mark.parametrize(
    "html",
    [
        "", " ", "<", "no markup", "<html/>", "<p>x</p>", "<div>one</div><div>two</div>",
        '<?xml version="1.0" encoding="utf-8"?><html><body><p>declared</p></body></html>',
        "<html><body>" + "\x01\x0b\ufffe<p>control \x1f characters</p>" * 30,
        "<html><body><p>" + "lone \ud800 surrogate " * 30 + "</p></body></html>",
        "<html><body>" + "<div>" * 300 + "deep" + "</div>" * 300,
        "<html><body><form>" + "<p>All of the page is inside a form. </p>" * 20 + "</form>",
        "<html><body><article><p>Short.</p></article>" + "<div><p>Other text, longer. </p></div>" * 90,
        "<!DOCTYPE html SYSTEM 'about:legacy-compat'/><html><body><p>" + "Words here. " * 40,
        '<html><body><div class="post">' + '<p><a href="x">link text</a></p>' * 60 + "</div>",
        "<html><body><table>" + "<tr><td><a href=x>cell</a></td><td>b</td></tr>" * 40 + "</table>",
        "<html><body><main>" + "<ul><li>item <b>bold</b></li></ul>" * 40 + "</main>",
        "<html><body><graphic>x</graphic><ref>literal elements of the inner format</ref>" * 20,
    ],
)  # fmt: skip
def test_text_is_trafilatura_s_on_odd_pages(html: str) -> None:
    for mode in MODES.values():
        compare(html, mode | {"include_tables": True, "include_comments": False})


def test_the_public_package_stays_as_it_is() -> None:
    options = MODES["fast"] | {"include_tables": True, "include_comments": False}
    assert fast_extract(options) is not None
    assert all(isinstance(rule, lxml.etree.XPath) for rule in trafilatura.xpaths.BODY_XPATH)
    assert isinstance(trafilatura.settings.BASIC_CLEAN_XPATH, lxml.etree.XPath)


def test_another_release_gets_its_own_public_function(
    monkeypatch: pytest.MonkeyPatch, pages: list[str]
) -> None:
    html = pages[0]
    plain = {"engine": "trafilatura", "mode": "fast", "include_tables": True,
             "include_comments": False}  # fmt: skip
    expected = make_engine(plain)(html.encode())
    monkeypatch.setattr(trafilatura_copy, "VERIFIED", frozenset())
    monkeypatch.setattr(trafilatura_copy, "COPY", "_corpus_assets_trafilatura_unknown")
    assert trafilatura_copy.load_copy() is None
    calls: list[str] = []

    def public(page: str, **options: Any) -> str:
        calls.append(page)
        return "from the public function"

    assert make_engine(plain)(html.encode()) == expected
    monkeypatch.setattr(trafilatura, "extract", public)
    assert make_engine(plain)(html.encode()) == "from the public function"
    assert calls == [html]
