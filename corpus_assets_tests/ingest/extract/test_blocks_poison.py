"""Pages made to stop the engine `blocks`: text or a reason, never the end of a part."""

import gc

import numpy as np
import pytest

from corpus_assets.ingest.extract import ExtractionSettings, Extractor, PageText, read_page
from corpus_assets.ingest.extract import extractor as extractor_module
from corpus_assets.ingest.extractors import blocks
from corpus_assets.ingest.extractors.blocks import block_engine
from corpus_assets.ingest.kernels.blocks import find_blocks
from corpus_assets_tests.ingest.extract.test_blocks_engine import ARTICLE, SENTENCE

LONG = 300_000
PAGES = {
    "nested": b"<div>" * (LONG // 5) + SENTENCE.encode(),
    "nested tables": b"<table><tr><td>" * 4_000 + SENTENCE.encode() * 5,
    "nested lists": b"<ul><li>" * 8_000 + SENTENCE.encode() * 5,
    "nothing closed": b"<p>a<b>b<i>c<ul><li>d<table><tr><td>e" * 3_000,
    "closed for nothing": b"</div></p></table></li>" * 15_000,
    "closed the wrong way": b"<div><p><span></div></span></p>" * 8_000,
    "nul": ARTICLE.encode().replace(b" ", b" \0"),
    "nothing but nul": b"\0" * LONG,
    "lone surrogates": "<p>a \ud800 \udfff b".encode("utf-8", "surrogatepass") * 5000,
    "links to itself": b"<a href='#a' id=a><a href='#a'>again</a>" * 8_000,
    "one word": b"<p>" + b"x" * LONG,
    "one tag": b"<p " + b"a=b " * (LONG // 4),
    "open quote": b'<p class="' + b"x> " * (LONG // 3),
    "open comment": b"<p>a<!--" * 15_000,
    "open script": b"<script>" * 15_000,
    "entities": b"&lt;&#x41;&#99999999;&amp" * 12_000,
    "one row": b"<table><tr>" + b"<td>x" * 15_000,
    "brackets": b"<" * LONG,
    "equal blocks": b"<li>same words here" * 15_000,
}

CHARSETS = {
    "latin-1": "Grüße aus Köln über Straßen. ".encode("latin-1") * 500,
    "utf-16": (SENTENCE * 50).encode("utf-16"),
    "broken utf-8": b"<p>\xe2\x82 \xf0\x9f \xc3 \xff\xfe" * 500,
}


@pytest.fixture(scope="module")
def engine() -> object:
    return block_engine({"include_tables": True})


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_to_stop_it_has_a_text(name: str, engine: object) -> None:
    text = engine(PAGES[name])  # type: ignore[operator]
    assert isinstance(text, str)
    assert len(text) <= 2 * len(PAGES[name]) + 100
    gc.collect()  # features of so many blocks


@pytest.mark.parametrize("name", CHARSETS)
def test_a_page_in_another_charset_than_it_says_is_read_before_it_comes_here(
    name: str, engine: object
) -> None:
    page = read_page(CHARSETS[name], "text/html; charset=utf-8")
    if isinstance(page, PageText):
        assert isinstance(engine(page.utf8), str)  # type: ignore[operator]


def test_bytes_that_are_no_utf8_are_a_reason_and_no_end() -> None:
    found = Extractor(ExtractionSettings(engine="blocks")).extract(b"<p>" + b"ab \xff cd. " * 50)
    assert found.reason == "extraction_failed"


def test_prose_is_found_however_deep_it_stands(engine: object) -> None:
    for name in ("nested", "nested tables", "nested lists"):
        assert "under water by dawn" in engine(PAGES[name])  # type: ignore[operator]


def test_a_row_is_looked_at_once_however_many_cells_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []
    monkeypatch.setattr(blocks, "_is_data", lambda page, row: not looked_at.append(row))
    page = find_blocks(PAGES["one row"])
    kept = np.ones(len(page.blocks), dtype=np.bool_)
    assert blocks.text_of(page, kept, include_tables=False) == ""
    assert len(looked_at) == 1


def test_fifty_megabytes_of_markup_meet_the_limit_of_memory_and_the_next_page_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extractor_module, "MAX_MEMORY_MB", 300)
    settings = ExtractionSettings(engine="blocks", max_seconds=60)
    extractor = Extractor(settings)
    huge = extractor.extract(b"<p>a <i>b</i>" * 4_000_000)
    assert (huge.reason, huge.text) == ("extraction_memory", "")
    assert "lower town" in extractor.extract(ARTICLE).text
