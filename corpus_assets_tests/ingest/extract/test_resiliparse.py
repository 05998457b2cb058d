from resiliparse.extract.html2text import extract_plain_text

from corpus_assets.ingest.extract.extractor import Extractor, extractor_version
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets_tests.ingest.extract.test_extractor import real_pages
from pageblocks import normalise

SETTINGS = ExtractionSettings(engine="resiliparse")


def test_the_text_is_what_resiliparse_returns_for_the_same_settings() -> None:
    extractor = Extractor(SETTINGS)
    filled = 0
    for html in real_pages():
        expected = extract_plain_text(
            html, main_content=True, preserve_formatting=True, list_bullets=False, links=False,
            alt_texts=False, form_fields=False, noscript=False, comments=False,
        )  # fmt: skip
        found = extractor.extract(html)
        assert found.reason is None
        assert found.text == normalise(expected)
        filled += bool(expected)
    assert filled > 50


def test_odd_pages_give_text_or_none() -> None:
    extractor = Extractor(SETTINGS)
    for html in ("", " ", "<", "\x01\ufffe", "lone \ud800 surrogate", "<p>" * 300):
        assert extractor.extract(html).reason is None


def test_the_release_is_part_of_the_identity() -> None:
    assert extractor_version(SETTINGS).startswith("resiliparse 1.")
    assert extractor_version(ExtractionSettings()).startswith("trafilatura 2.")
