import trafilatura

from corpus_assets.ingest.extract import decode
from corpus_assets.ingest.extract.extractor import Extractor
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets_tests.shared_data import shared_data
from pageblocks import normalise

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
        assert extractor.extract(html).text == normalise(expected or "")
        filled += bool(expected)
    assert filled > SAMPLE // 2


def test_precision_mode_is_trafilatura_s_precision_mode() -> None:
    extractor = Extractor(ExtractionSettings(mode="precision"))
    for html in real_pages()[:8]:
        expected = trafilatura.extract(
            html, favor_precision=True, include_comments=False, include_tables=True
        )
        assert extractor.extract(html).text == normalise(expected or "")


def test_balanced_mode_is_trafilatura_s_default() -> None:
    extractor = Extractor(ExtractionSettings(mode="balanced"))
    for html in real_pages()[:8]:
        expected = trafilatura.extract(html, include_comments=False)
        assert extractor.extract(html).text == normalise(expected or "")
    with_comments = Extractor(ExtractionSettings(mode="balanced", include_comments=True))
    for html in real_pages()[:8]:
        assert with_comments.extract(html).text == normalise(trafilatura.extract(html) or "")


def test_extraction_does_not_depend_on_what_was_extracted_before() -> None:
    pages = real_pages()[:12]
    forward = [Extractor(ExtractionSettings()).extract(html).text for html in pages]
    extractor = Extractor(ExtractionSettings())
    backward = [extractor.extract(html).text for html in reversed(pages)]
    assert forward == backward[::-1]


def test_a_page_without_content_gives_no_text() -> None:
    extractor = Extractor(ExtractionSettings())
    assert extractor.extract("<html><body></body></html>").text == ""
    assert extractor.extract("").text == ""
