"""Pages made to stop the engine `blocks`: text or a reason, never the end of a part."""

import pytest

from corpus_assets.ingest.extract import ExtractionSettings, Extractor
from corpus_assets.ingest.extract import extractor as extractor_module
from corpus_assets_tests.ingest.extract.article import ARTICLE


def test_bytes_that_are_no_utf8_are_a_reason_and_no_end() -> None:
    found = Extractor(ExtractionSettings(engine="blocks")).extract(b"<p>" + b"ab \xff cd. " * 50)
    assert found.reason == "extraction_failed"


def test_fifty_megabytes_of_markup_meet_the_limit_of_memory_and_the_next_page_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extractor_module, "MAX_MEMORY_MB", 300)
    settings = ExtractionSettings(engine="blocks", max_seconds=60)
    extractor = Extractor(settings)
    huge = extractor.extract(b"<p>a <i>b</i>" * 4_000_000)
    assert (huge.reason, huge.text) == ("extraction_memory", "")
    assert "lower town" in extractor.extract(ARTICLE).text
