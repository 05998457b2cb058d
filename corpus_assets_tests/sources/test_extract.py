import trafilatura

from corpus_assets.sources.charset import decode, normalise
from corpus_assets.sources.extract import (
    ExtractionSettings,
    Extractor,
    page_language,
    page_title,
)
from corpus_assets.sources.warc import read_warc
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.sources.warc_bytes import page

SAMPLE = 60


def real_pages() -> list[str]:
    pages: list[str] = []
    with shared_data("web/snapshot-A.warc.gz").open("rb") as stream:
        for record in read_warc(stream, "snapshot-A.warc.gz", 2_000_000):
            text = decode(record.payload, record.content_type).text
            if text is not None:
                pages.append(text)
            if len(pages) == SAMPLE:
                break
    return pages


def test_the_text_is_what_trafilatura_returns_for_the_same_settings() -> None:
    extractor = Extractor(ExtractionSettings())
    filled = 0
    for html in real_pages():
        expected = trafilatura.extract(html, fast=True, include_comments=False, include_tables=True)
        assert extractor.extract(html) == normalise(expected or "")
        filled += bool(expected)
    assert filled > SAMPLE // 2


def test_precision_mode_is_trafilatura_s_precision_mode() -> None:
    extractor = Extractor(ExtractionSettings(mode="precision", include_tables=False))
    for html in real_pages()[:8]:
        expected = trafilatura.extract(
            html, favor_precision=True, include_comments=False, include_tables=False
        )
        assert extractor.extract(html) == normalise(expected or "")


def test_extraction_does_not_depend_on_what_was_extracted_before() -> None:
    pages = real_pages()[:12]
    forward = [Extractor(ExtractionSettings()).extract(html) for html in pages]
    extractor = Extractor(ExtractionSettings())
    backward = [extractor.extract(html) for html in reversed(pages)]
    assert forward == backward[::-1]


def test_a_page_without_content_gives_no_text() -> None:
    extractor = Extractor(ExtractionSettings())
    assert extractor.extract("<html><body></body></html>") == ""
    assert extractor.extract("") == ""


def test_titles_are_unescaped_and_of_bounded_length() -> None:
    assert page_title(page(title="A &amp; B &#8211;\n C").decode()) == "A & B \u2013 C"
    assert page_title("<TITLE lang=en>Upper</TITLE>") == "Upper"
    assert page_title("<title></title>") is None
    assert page_title("<p>none</p>") is None
    assert len(page_title("<title>" + "x" * 3000) or "") == 500


def test_the_declared_language_comes_from_the_page_and_else_from_the_header() -> None:
    assert page_language("<html class=a lang='pt-BR'>", "en") == "pt-BR"
    assert page_language("<html xmlns=x xml:lang=de>") == "de"
    assert page_language("<html data-lang=fr>", "en") == "en"
    assert page_language("<html>", "en, fr") is None
    assert page_language("<html>") is None
