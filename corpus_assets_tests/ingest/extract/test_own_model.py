"""A model of blocks that a recipe brings along."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import ModelError
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets_tests.ingest.extract.article import ARTICLE
from pageblocks import Extractor as Reader
from pageblocks import extract
from pageblocks.model import read_model, write_model

ANY = "0" * 64


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The model of the package, but for what it begins with: it keeps everything."""
    shipped = read_model()
    first, second = (trees._replace(start=10**6) for trees in (shipped.first, shipped.second))
    path = tmp_path / "own.json"
    path.write_bytes(write_model(shipped._replace(first=first, second=second)))
    return path


def settings_of(model: Path) -> ExtractionSettings:
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    return ExtractionSettings(engine="blocks", model=ModelChoice(path="own.json", sha256=sha256))


def test_pages_are_extracted_by_the_model_that_is_named(model: Path) -> None:
    found = Extractor(settings_of(model), model).extract(ARTICLE)
    assert found.text == Reader(model=model).read(ARTICLE.encode()).text
    assert "A cat in a tree" in found.text
    assert "A cat in a tree" not in extract(ARTICLE).text


def test_its_digest_is_identity_and_its_place_is_not(model: Path) -> None:
    settings = settings_of(model)
    sha256 = settings.model.sha256 if settings.model else None
    there = ModelChoice(path="/other/own.json", sha256=sha256)
    elsewhere = settings.model_copy(update={"model": there})
    assert str(sha256) in extractor_version(settings, sha256)
    one, other = (IngestSettings(extraction=each).identity() for each in (settings, elsewhere))
    assert one == other
    assert one["extraction"]["model"] == {"sha256": sha256}
    assert "model" not in IngestSettings().identity()["extraction"]


def test_another_file_than_the_one_named_is_refused(model: Path) -> None:
    settings = settings_of(model)
    model.write_bytes(model.read_bytes() + b" ")
    for given in (model, None):
        with pytest.raises(ModelError, match="extraction needs the model"):
            Extractor(settings, given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "blocks", "model": {"path": "own.json"}}, "needs its `sha256`"),
        ({"model": {"path": "own.json", "sha256": ANY}}, "a model is for blocks"),
    ],
)
def test_settings_say_what_is_missing(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ExtractionSettings.model_validate(settings)
