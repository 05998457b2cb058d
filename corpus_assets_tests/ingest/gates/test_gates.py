import dataclasses
import time
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.urls import Blocklist, address_of
from corpus_assets.ingest.gates.categories import CategoryIndex, build_category_index
from corpus_assets.ingest.gates.gates import gate_page, gate_record
from corpus_assets.ingest.gates.settings import (
    GateSettings,
    OptOutSettings,
    RobotsSettings,
    UrlWords,
)
from corpus_assets.ingest.gates.site_index import SiteIndex
from corpus_assets.ingest.gates.url_lists import UrlLists
from corpus_assets.ingest.listing import list_files
from corpus_assets.ingest.records import RawRecord, Refusal
from corpus_assets.ingest.site_files import SiteFileSettings, build_index, read_site_files
from corpus_assets.ingest.source import SourceSpec
from corpus_assets_tests.ingest.warc_bytes import page

PAGE = RawRecord(
    url="http://example.com/story",
    key="k",
    offset=0,
    length=0,
    payload=page(),
    http_status=200,
    content_type="text/html; charset=utf-8",
)


def gate(record: RawRecord, blocklist: Blocklist | None = None, **settings: Any) -> Refusal | None:
    address = address_of(record.url) if record.url else None
    return gate_record(record, address, GateSettings(**settings), blocklist or Blocklist())


def change(**fields: Any) -> RawRecord:
    return dataclasses.replace(PAGE, **fields)


def test_an_ordinary_page_passes() -> None:
    assert gate(PAGE) is None
    assert gate_page(PAGE.payload.lower(), "unknown", GateSettings()) is None


@pytest.mark.parametrize(
    ("record", "settings", "expected"),
    [
        (change(damage="damaged_record", detail="why"), {}, ("damaged_record", "why")),
        (change(url=None), {}, ("no_url", None)),
        (change(url="dns:example.com"), {}, ("no_url", "not_a_web_address")),
        (
            change(url="http://example.com/casino/x"),
            {"blocked_url_words": [{"name": "n", "words": ("Casino",)}]},
            ("blocked_url", "casino"),
        ),
        (
            change(url="http://example.com/%63asino"),
            {"blocked_url_words": [{"name": "n", "words": ("casino",)}]},
            ("blocked_url", "casino"),
        ),
        (change(http_status=404), {}, ("http_status", "404")),
        (change(content_type="image/png"), {}, ("content_type", "image/png")),
        (change(content_type="", payload=b"\x89PNG"), {}, ("content_type", "none")),
        (change(payload=b"x" * 100), {"max_bytes": 99}, ("too_large", "100")),
        (change(headers=(("x-robots-tag", "noai"),)), {}, ("opted_out", "header noai")),
        (change(headers=(("tdm-reservation", "1"),)), {}, ("opted_out", "header tdm-reservation")),
    ],
)
def test_each_gate_refuses_with_its_reason(
    record: RawRecord, settings: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    assert gate(record, **settings) == expected


def test_a_blocked_host_is_refused_by_the_name_on_the_list() -> None:
    assert gate(PAGE, Blocklist(["example.com"])) == ("blocked_host", "example.com")


def test_a_blocked_word_inside_another_word_is_no_reason() -> None:
    assert (
        gate(
            change(url="http://essex.com/sussex"),
            blocked_url_words=[{"name": "n", "words": ("sex",)}],
        )
        is None
    )


@pytest.mark.parametrize(
    ("word", "url", "blocked"),
    [
        ("казино", "http://a.test/казино/x", True),
        ("казино", "http://a.test/%D0%9A%D0%B0%D0%B7%D0%B8%D0%BD%D0%BE", True),
        ("КАЗИНО", "http://xn--80aodfsg.test/", True),
        ("казино", "http://казино.test/", True),
        ("казино", "http://a.test/казинозал", False),
        ("über", "http://a.test/u%CC%88ber", True),
        ("हिन", "http://a.test/हिनि", False),  # a mark goes on
        ("free-porn", "http://a.test/free-porn/x", True),
        ("free-porn", "http://free-porn.test/", True),
        ("free-porn", "http://a.test/free/porn", False),
        ("free-porn", "http://a.test/free-pornography/carefree-porn", False),
        ("porn", "http://a.test/porn_x", True),
        ("porn", "http://a.test/pornö", False),
        ("http", "http://a.test/", False),
    ],
)
def test_words_of_any_script_and_with_hyphens_are_found(word: str, url: str, blocked: bool) -> None:
    expected = ("blocked_url", word.lower()) if blocked else None
    assert gate(change(url=url), blocked_url_words=[{"name": "n", "words": (word,)}]) == expected


STRICT = {"name": "strict", "words": ("Casino",), "inside_words_without": "-."}
HARD = {"name": "hard", "words": ("poker",)}
SOFT = {"name": "soft", "words": ("live", "chat", "free-chat"), "min_words": 2}


@pytest.mark.parametrize(
    ("address", "blocked"),
    [
        ("http://mycasinos.test/", "casino"),
        ("http://a.test/ca-si.no", "casino"),
        ("http://ca.sino/", "casino"),
        ("http://a.test/cas_ino", None),
        ("http://a.test/poker/1", "poker"),
        ("http://a.test/pokerface", None),
        ("http://live.test/news", None),
        ("http://live.test/chat", "live, chat"),
        ("http://live.test/live", None),
        ("http://live.test/chats", None),
    ],
)
def test_lists_find_words_inside_others_whole_or_several(address: str, blocked: str | None) -> None:
    lists = tuple(UrlWords(**rule) for rule in (STRICT, HARD, SOFT))  # type: ignore[arg-type]
    expected = None if blocked is None else ("blocked_url", blocked)
    assert gate(change(url=address), blocked_url_words=lists) == expected


@pytest.mark.parametrize(
    ("word", "advice"),
    [("free-porn", "contains a character of inside_words_without"), ("a b", "several")],
)
def test_a_listed_word_that_no_address_could_hold_is_an_error(word: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        UrlWords(name="strict", words=(word,), inside_words_without="-")


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("free porn", "several words as several entries"),
        ("%D0%BA%D0%B0%D0%B7", "write 'каз'"),
        ("xn--80aodfsg", "write 'казино'"),
        ("", "begins and ends with a letter"),
        ("-porn", "begins and ends with a letter"),
        ("a/b", "'/' is not part of a word"),
    ],
)
def test_a_word_that_no_address_could_hold_is_an_error(word: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        UrlWords(name="n", words=("casino", word))


def test_a_page_without_a_type_that_begins_like_html_is_html() -> None:
    assert gate(change(content_type="")) is None


def test_ready_text_needs_neither_url_nor_type() -> None:
    text = RawRecord(url=None, key="7", offset=1, length=0, text="words")
    assert gate(text) is None
    assert gate(text, max_bytes=4) == ("too_large", "5")


def test_markup_is_refused_for_opt_outs_licences_and_absurdity() -> None:
    settings = GateSettings(allowed_licences=("CC0-1.0",))
    lower = PAGE.payload.lower()
    assert gate_page(lower, "CC0-1.0", settings) is None
    assert gate_page(lower, "CC-BY-4.0", settings) == ("licence_not_allowed", "CC-BY-4.0")
    assert gate_page(lower, "unknown", settings) == ("licence_not_allowed", "unknown")
    meta = b'<meta name="robots" content="noai">'
    assert gate_page(meta + lower, "CC0-1.0", settings) == ("opted_out", "meta noai")
    free = GateSettings(optout=OptOutSettings(directives=()))
    assert gate_page(meta + lower, "unknown", free) is None


def test_fifty_thousand_nested_elements_and_sixty_thousand_attributes_are_caught_at_once() -> None:
    settings = GateSettings()
    nested = b"<html><body>" + b"<div>" * 50_000 + b"</div>" * 50_000
    laden = b"<html><body " + b" ".join(b"a%d=1" % n for n in range(60_000)) + b"><p>text"
    gate_page(b"<p>", "unknown", settings)  # compile first
    began = time.process_time()
    assert gate_page(nested, "unknown", settings) == ("absurd_markup", "nesting")
    assert gate_page(laden, "unknown", settings) == ("absurd_markup", "attributes")
    assert time.process_time() - began < 0.1


def site_lists(tmp_path: Path, **files: bytes) -> UrlLists:
    """An index of example.com's files: robots, ai, tdmrep."""
    names = {"robots": "robots.txt", "ai": "ai.txt", "tdmrep": "tdmrep.json"}
    folder = tmp_path / "sites" / "example.com"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / names[name]).write_bytes(content)
    parts = list_files(SourceSpec(name="s", format="code"), str(tmp_path / "sites"), "s")
    table = read_site_files(parts, SiteFileSettings(agents=("GPTBot", "CCBot")))
    for name, data in zip("ab", build_index([table], ("GPTBot", "CCBot")), strict=True):
        (tmp_path / name).write_bytes(data)
    return UrlLists(sites=SiteIndex(tmp_path / "a", tmp_path / "b"))


def gate_site(record: RawRecord, lists: UrlLists, **settings: Any) -> Refusal | None:
    address = address_of(record.url or "")
    return gate_record(record, address, GateSettings(**settings), Blocklist(), lists)


HALF_CLOSED = b"User-agent: GPTBot\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /story/\n"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.com/story", ("robots_disallowed", "GPTBot")),
        ("http://other.test/story", None),
    ],
)
def test_robots_txt_closes_a_page_that_one_of_the_agents_may_not_have(
    tmp_path: Path, url: str, expected: tuple[str, str] | None
) -> None:
    lists = site_lists(tmp_path, robots=HALF_CLOSED)
    robots = RobotsSettings(agents=("GPTBot", "CCBot"))
    assert gate_site(change(url=url), lists, robots=robots) == expected


def test_a_host_without_robots_txt_is_allowed_or_refused_by_the_recipe(tmp_path: Path) -> None:
    lists = site_lists(tmp_path, ai=b"")
    robots = RobotsSettings(agents=("GPTBot", "CCBot"))
    strict = RobotsSettings(agents=("GPTBot", "CCBot"), missing="refuse")
    for url in ("http://example.com/story", "http://unheard.test/"):
        assert gate_site(change(url=url), lists, robots=robots) is None
        assert gate_site(change(url=url), lists, robots=strict) == (
            "robots_disallowed",
            "no_robots_txt",
        )
    text = RawRecord(url=None, key="7", offset=1, length=0, text="words")
    assert gate_record(text, None, GateSettings(robots=strict), Blocklist(), lists) is None


def test_robots_txt_is_left_alone_where_the_recipe_does_not_ask(tmp_path: Path) -> None:
    assert gate_site(PAGE, site_lists(tmp_path, robots=b"User-agent: *\nDisallow: /")) is None


def test_the_site_s_other_files_are_opt_outs(tmp_path: Path) -> None:
    reserved = b'[{"location": "/", "tdm-reservation": 1}]'
    lists = site_lists(tmp_path, ai=b"User-agent: *\nDisallow: *.html", tdmrep=reserved)
    freed = change(payload=b'<META name="tdm-reservation" content="0">' + PAGE.payload)
    assert gate_site(PAGE, lists) == ("opted_out", "file tdmrep.json")
    assert gate_site(freed, lists) == ("opted_out", "file ai.txt")
    ai_only = site_lists(tmp_path / "ai", ai=b"User-agent: *\nDisallow: *.html")
    assert gate_site(change(content_type="text/plain"), ai_only) is None
    text = dataclasses.replace(PAGE, text="words", payload=b"", http_status=None)
    assert gate_site(text, ai_only) == ("opted_out", "file ai.txt")


def test_ai_txt_closes_a_page_that_one_of_the_agents_may_not_have(tmp_path: Path) -> None:
    lists = site_lists(tmp_path, ai=HALF_CLOSED)
    robots = RobotsSettings(agents=("GPTBot", "CCBot"))
    assert gate_site(PAGE, lists, robots=robots) == ("opted_out", "file ai.txt")


def test_markup_goes_before_a_reservation_in_the_headers() -> None:
    headers = (*PAGE.headers, ("tdm-reservation", "1"))
    freed = b'<META name="tdm-reservation" content="0">' + PAGE.payload
    refused = ("opted_out", "header tdm-reservation")
    assert gate_site(change(headers=headers), UrlLists()) == refused
    assert gate_site(change(headers=headers, payload=freed), UrlLists()) is None
    plain = change(headers=headers, payload=freed, content_type="text/plain")
    assert gate_site(plain, UrlLists()) == refused


def test_a_page_of_a_blocked_category_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "domains").write_text("example.com\n")
    data, _ = build_category_index([("gambling", tmp_path / "domains")])
    (tmp_path / "index").write_bytes(data)
    lists = UrlLists(categories=CategoryIndex(tmp_path / "index"))
    assert gate_site(PAGE, lists) == ("blocked_category", "gambling")
    assert gate_site(change(url="http://other.test/"), lists) is None


@pytest.mark.parametrize("agent", ["", "GPT Bot", "bot/1.0", "*"])
def test_an_agent_is_a_product_token(agent: str) -> None:
    with pytest.raises(ValueError, match="product token"):
        RobotsSettings(agents=(agent,))
