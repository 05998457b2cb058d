"""Scores by engines that are plug-ins."""

import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.signals import embedding_score
from corpus_assets.signals.embedding_score import PLUG_INS, EmbeddingScore, load_scorer
from corpus_assets.text.batch import TextBatch

TINY = EntryPoint("tiny", "corpus_assets_tests.signals.support.tiny_scorer:TinyScorer", PLUG_INS)

ANY = ModelChoice(name="any")


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
    family = EmbeddingScore(model=ANY, engine="tiny", max_tokens=4)
    found = scores(family, folder, ["proof because of it proof", "", None, "nothing", " \n"])
    assert found == [2.0, None, None, 0.0, None]
    assert scores(family, folder, []) == []


def test_an_engine_that_nobody_brings_is_one_line(folder: Path) -> None:
    with pytest.raises(ModelError, match="no plug-in runs the engine 'gone'; known: tiny, transf"):
        scores(EmbeddingScore(model=ANY, engine="gone"), folder, ["text"])


@pytest.mark.skipif(
    importlib.util.find_spec("transformers") is not None, reason="transformers is installed"
)
def test_without_transformers_the_message_says_what_to_install(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"needs the library (torch|transformers), .*pip install"):
        scores(EmbeddingScore(model=ANY), folder, ["text"])


def test_a_folder_is_known_by_its_digest_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    here, there = (
        EmbeddingScore(model=ModelChoice(path=place, sha256="00")) for place in ("here", "there")
    )
    assert here.identity() == there.identity()
    assert here.identity() != EmbeddingScore(model=ANY).identity()
