import dataclasses
import time
from typing import Any

import pytest

from corpus_assets.sources.base import RawRecord
from corpus_assets.sources.gates import Blocklist, GateSettings, Refusal, gate_page, gate_record
from corpus_assets.sources.optout import OptOutSettings
from corpus_assets.sources.urls import address_of
from corpus_assets_tests.sources.warc_bytes import page

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
            {"blocked_url_words": ("Casino",)},
            ("blocked_url", "casino"),
        ),
        (
            change(url="http://example.com/%63asino"),
            {"blocked_url_words": ("casino",)},
            ("blocked_url", "casino"),
        ),
        (change(http_status=404), {}, ("http_status", "404")),
        (change(content_type="image/png"), {}, ("content_type", "image/png")),
        (change(content_type="", payload=b"\x89PNG"), {}, ("content_type", "none")),
        (change(payload=b"<p>"), {"min_bytes": 10}, ("too_small", "3")),
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
    assert gate(change(url="http://essex.com/sussex"), blocked_url_words=("sex",)) is None


def test_a_page_without_a_type_that_begins_like_html_is_html() -> None:
    assert gate(change(content_type="")) is None


def test_ready_text_needs_neither_url_nor_type() -> None:
    text = RawRecord(url=None, key="7", offset=1, length=0, text="words")
    assert gate(text) is None
    assert gate(text, max_bytes=4) == ("too_large", "5")


def test_markup_is_refused_for_opt_outs_licences_and_absurdity() -> None:
    settings = GateSettings(allowed_licences=("CC0-1.0",), refuse_unknown_licence=True)
    lower = PAGE.payload.lower()
    assert gate_page(lower, "CC0-1.0", settings) is None
    assert gate_page(lower, "CC-BY-4.0", settings) == ("licence_not_allowed", "CC-BY-4.0")
    assert gate_page(lower, "unknown", settings) == ("licence_not_allowed", "unknown")
    meta = b'<meta name="robots" content="noai">'
    assert gate_page(meta + lower, "CC0-1.0", settings) == ("opted_out", "meta noai")
    free = GateSettings(optout=OptOutSettings(meta=()))
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
