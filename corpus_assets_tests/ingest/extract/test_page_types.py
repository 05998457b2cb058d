"""Types of pages that a recipe has noted."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.documents import ingest_part
from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.ingest.extract.article import ARTICLE, SENTENCE
from corpus_assets_tests.ingest.test_documents import WEB, pinned
from corpus_assets_tests.ingest.warc_bytes import members, response
from pageblocks import PAGE_TYPES_VERSION


def test_the_type_is_noted_with_every_engine() -> None:
    for engine in ("trafilatura", "resiliparse", "blocks"):
        settings = ExtractionSettings(engine=engine, page_type=True)
        found = Extractor(settings).extract(ARTICLE)
        plain = Extractor(ExtractionSettings(engine=engine)).extract(ARTICLE)
        assert (found.text, found.page_type) == (plain.text, "article")
        assert plain.page_type is None, "not noted where nobody asks"


def test_a_higher_chance_keeps_less() -> None:
    texts = [
        Extractor(ExtractionSettings(engine="blocks", min_chance=chance)).extract(ARTICLE).text
        for chance in (0.0, 0.5, 1.0)
    ]
    assert len(texts[0]) > len(texts[1]) > len(texts[2]) == 0


@pytest.mark.parametrize("engine", ["trafilatura", "resiliparse"])
def test_a_chance_is_refused_for_engines_without_one(engine: str) -> None:
    with pytest.raises(ValidationError, match="min_chance is for blocks"):
        ExtractionSettings.model_validate({"engine": engine, "min_chance": 0.5})


def test_the_version_of_types_counts_in_the_identity_where_types_are_noted() -> None:
    plain, noted = ExtractionSettings(), ExtractionSettings(page_type=True)
    versions = f"{extractor_version(plain)}, page types {PAGE_TYPES_VERSION}"
    assert extractor_version(noted) == versions


def test_documents_have_the_type_of_their_page_and_none_where_there_is_no_page(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.warc.gz"
    plain = response("http://a.test/2", SENTENCE.encode(), headers="Content-Type: text/plain")
    path.write_bytes(members(response("http://a.test/1", ARTICLE.encode()), plain))
    settings = IngestSettings(extraction=ExtractionSettings(engine="blocks", page_type=True))
    _, found = ingest_part(
        WEB, "s", 0, pinned(path), settings, Blocklist(()), Suppressions.from_rows([])
    )
    types = dict(zip(found["url_key"].to_pylist(), found["page_type"].to_pylist(), strict=True))
    assert sorted(types.values(), key=str) == [None, "article"]


def test_the_setting_is_no_part_of_identities_that_do_not_use_it() -> None:
    assert "page_type" not in ExtractionSettings().identity()
    assert ExtractionSettings(page_type=True).identity()["page_type"] is True
