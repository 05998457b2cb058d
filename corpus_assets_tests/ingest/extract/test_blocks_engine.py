"""The engine `blocks` in the process apart is the package `pageblocks`."""

import pytest
from pydantic import ValidationError

from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets_tests.ingest.extract.article import ARTICLE, SENTENCE
from pageblocks import VERSION, model_digest
from pageblocks import Extractor as Reader

SETTINGS = ExtractionSettings(engine="blocks")


def test_extraction_in_the_child_is_that_of_the_engine() -> None:
    extractor = Extractor(SETTINGS)
    pages = [ARTICLE.encode(), b"", b"<div>" * 3000, b"\xef\xbb\xbf<p>" + SENTENCE.encode() * 5]
    found = extractor.extract_all(pages)
    reader = Reader()
    assert [page.reason for page in found] == [None] * 4
    assert [page.text for page in found] == [reader.read(page).text for page in pages]
    assert found[0].text
    assert not found[1].text


def test_model_and_version_are_part_of_the_identity() -> None:
    assert extractor_version(SETTINGS) == f"blocks {VERSION} {model_digest()}"


def test_comments_cannot_be_asked_for() -> None:
    with pytest.raises(ValidationError, match="include_comments"):
        ExtractionSettings(engine="blocks", include_comments=True)


def test_markdown_is_for_blocks_and_no_part_of_other_identities() -> None:
    with pytest.raises(ValidationError, match="markdown"):
        ExtractionSettings(format="markdown")
    assert "format" not in ExtractionSettings(engine="blocks").identity()
