"""Scores by engines that are plug-ins."""

import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.ingest.locations import Locations
from corpus_assets.signals import embedding_score
from corpus_assets.signals.base import TextBatch
from corpus_assets.signals.embedding_score import PLUG_INS, EmbeddingScore, load_scorer
from corpus_assets.signals.stages.signal_models import folder_digest, signal_models

TINY = EntryPoint("tiny", "corpus_assets_tests.signals.support.tiny_scorer:TinyScorer", PLUG_INS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    model.mkdir()
    (model / "words.txt").write_text("because proof", encoding="utf-8")
    return model


@pytest.fixture(autouse=True)
def plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_score, "entry_points", lambda group: [TINY])
    load_scorer.cache_clear()


def scores(family: EmbeddingScore, folder: Path, texts: list[str | None]) -> list[float | None]:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    found: list[float | None] = (
        family.compute(batch, {family.needs()[0]: folder}).column("edu_score").to_pylist()
    )
    return found


def test_a_plug_in_s_scores_are_rounded_and_texts_without_words_have_none(folder: Path) -> None:
    family = EmbeddingScore(engine="tiny", max_tokens=4)
    found = scores(family, folder, ["proof because of it proof", "", None, "nothing", " \n"])
    assert found == [2.0, None, None, 0.0, None]
    assert scores(family, folder, []) == []


def test_an_engine_that_nobody_brings_is_one_line(folder: Path) -> None:
    with pytest.raises(ModelError, match="no plug-in runs the engine 'gone'; known: tiny, transf"):
        scores(EmbeddingScore(engine="gone"), folder, ["text"])


@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is not None, reason="transformers is installed"
)
def test_without_transformers_the_message_says_what_to_install(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"needs the library (torch|transformers), .*pip install"):
        scores(EmbeddingScore(), folder, ["text"])


class _Graph:
    """As much of a pipeline as resolving files takes."""

    def __init__(self, place: Path) -> None:
        self.locations = Locations(place, Home.resolve(str(place)))
        self.recipe: Any = type("Recipe", (), {"perplexity": None, "classifiers": {}})


def test_a_folder_is_known_by_its_digest_wherever_it_lies(folder: Path) -> None:
    pipeline: Any = _Graph(folder.parent)
    known = folder_digest(folder)
    need = EmbeddingScore(folder="model", sha256=known).needs()
    _, extra, params = signal_models(pipeline, need)
    assert extra == {need[0]: known}
    assert params["files"] == {need[0]: str(folder)}
    (folder / "words.txt").write_text("other", encoding="utf-8")
    with pytest.raises(ModelError, match=f"has the digest {folder_digest(folder)}, the recipe say"):
        signal_models(pipeline, need)
    with pytest.raises(ModelError, match="is not a model folder"):
        signal_models(pipeline, EmbeddingScore(folder="gone", sha256=known).needs())
