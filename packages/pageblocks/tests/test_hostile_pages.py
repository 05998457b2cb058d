"""Pages made to stop a parser: each has a text, in time that follows its size."""

import gc

import numpy as np
import pytest
from sample_pages import ARTICLE, SENTENCE

from pageblocks import Extractor, PageText, plain_text, read_page
from pageblocks.kernels.blocks import find_blocks
from pageblocks.plain_text import text_of

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
def reader() -> Extractor:
    return Extractor()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_to_stop_it_has_a_text(name: str, reader: Extractor) -> None:
    text = reader.read(PAGES[name]).text
    assert isinstance(text, str)
    assert len(text) <= 2 * len(PAGES[name]) + 100
    gc.collect()  # features of so many blocks


@pytest.mark.parametrize("name", CHARSETS)
def test_a_page_in_another_charset_than_it_says_is_read_before_it_comes_here(
    name: str, reader: Extractor
) -> None:
    page = read_page(CHARSETS[name], "text/html; charset=utf-8")
    if isinstance(page, PageText):
        assert isinstance(reader.read(page.utf8).text, str)


def test_prose_is_found_however_deep_it_stands(reader: Extractor) -> None:
    for name in ("nested", "nested tables", "nested lists"):
        assert "under water by dawn" in reader.read(PAGES[name]).text


def test_a_row_is_looked_at_once_however_many_cells_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []
    monkeypatch.setattr(plain_text, "_is_data", lambda page, row: not looked_at.append(row))
    page = find_blocks(PAGES["one row"])
    kept = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, kept, include_tables=False) == ("", b"", ())
    assert len(looked_at) == 1
