"""Scores by classifiers: beside fastText itself, toxicity, and grades of several labels."""

import random
import re
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.signals.classifier import Classifier, Reading
from corpus_assets.signals.stages.classifier_settings import TrainSettings
from corpus_assets.signals.stages.classifier_training import train_classifier
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
CALM = [
    "the",
    "library",
    "opens",
    "at",
    "nine",
    "and",
    "the",
    "garden",
    "path",
    "leads",
    "to",
    "a",
    "quiet",
    "lake",
]
RUDE = [
    "you",
    "stupid",
    "worthless",
    "idiots",
    "shut",
    "up",
    "and",
    "get",
    "lost",
    "you",
    "disgusting",
    "scum",
]


def texts_of(words: list[str], n: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    both = ["the", "a", "and", "you", "is", "they", "said"]
    return [" ".join(draw.choices(words + both, k=30)) for _ in range(n)]


@pytest.fixture(scope="module")
def toxicity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of rude texts (positives) against calm ones."""
    family = Classifier(name="toxicity")
    settings = TrainSettings(bucket=2_000, dim=8, epochs=20)
    made = train_classifier(texts_of(RUDE, 60, 1), texts_of(CALM, 60, 2), family, settings)
    assert made.metrics["auc"] > 0.99
    path = tmp_path_factory.mktemp("toxicity") / "toxicity.bin"
    path.write_bytes(made.model)
    return path


def scores(family: Classifier, path: Path, texts: list[Any]) -> list[float | None]:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    found: list[float | None] = (
        family.compute(batch, {f"classifier:{family.name}": path}).column(0).to_pylist()
    )
    return found


def spelled(text: str) -> str:
    cut = text[:20_000].lower().replace("\0", " ")
    return " ".join(PUNCTUATION.sub(r" \1 ", cut).split())


def test_scores_are_those_of_fasttext_s_predict(tmp_path: Path) -> None:
    lines = [
        f"__label__{side} {spelled(text)}\n"
        for side, words in (("positive", RUDE), ("negative", CALM))
        for text in texts_of(words, 60, 1)
    ]
    (tmp_path / "lines.txt").write_text("".join(lines))
    model = fasttext.train_supervised(
        str(tmp_path / "lines.txt"),
        dim=8,
        epoch=20,
        wordNgrams=2,
        bucket=2_000,
        thread=1,
        verbose=0,
    )
    toxicity = tmp_path / "toxicity.bin"
    model.save_model(str(toxicity))
    texts = [*ADVERSARIAL, *texts_of(RUDE, 50, 3), *texts_of(CALM, 50, 4), "YOU IDIOTS! " * 3_000]
    for text, score in zip(
        texts, scores(Classifier(name="toxicity"), toxicity, texts), strict=True
    ):
        line = spelled(text)
        if not line:
            assert score is None
            continue
        labels, values = model.predict(line, k=2)
        expected = dict(zip(labels, values, strict=True))["__label__positive"]
        assert score is not None
        assert abs(score - min(expected, 1.0)) <= 5e-5 + 1e-6


def test_a_rule_on_toxicity_drops_rude_texts_with_its_reason(toxicity: Path) -> None:
    texts = [*texts_of(RUDE, 30, 5), *texts_of(CALM, 30, 6)]
    found = scores(Classifier(name="toxicity"), toxicity, texts)
    ids = pa.array([bytes([i] * 16) for i in range(len(texts))], pa.binary(16))
    settings = SelectionSettings.model_validate(
        {"rules": [{"name": "toxic", "signal": "toxicity_score", "max": 0.5}]}
    )
    documents = pa.table({"doc_id": ids, "domain": ["web"] * len(texts)})
    signals = pa.table({"doc_id": ids, "toxicity_score": pa.array(found, pa.float32())})
    chosen = select(documents, signals, settings, {})
    assert chosen["reason"].to_pylist() == ["toxic"] * 30 + [None] * 30


def graded(folder: Path) -> Path:
    """A model of three grades, with labels of somebody else's choice."""
    lines = folder / "lines.txt"
    words = {"Low": "buy click cheap", "Mid": "day week news", "High": "proof theorem lemma"}
    draw = random.Random(7)
    lines.write_text(
        "".join(
            f"__label__{name} {' '.join(draw.choices(words[name].split(), k=8))}\n"
            for name in sorted(words) * 60
        )
    )
    model = fasttext.train_supervised(str(lines), dim=8, epoch=20, thread=1, verbose=0)
    model.save_model(str(folder / "grades.bin"))
    return folder / "grades.bin"


def test_labels_of_a_foreign_model_can_be_weighed(tmp_path: Path) -> None:
    path = graded(tmp_path)
    family = Classifier(name="grade", labels={"__label__High": 2, "Mid": 1})
    family = family.with_reading(Reading(text="plain"))
    found = scores(family, path, ["proof\nlemma theorem", "news day", "cheap click", "", " \n"])
    assert np.allclose([score for score in found[:3] if score is not None], [2, 1, 0], atol=0.05)
    assert found[3:] == [None, None]
    short = Classifier(name="grade", labels={"High": 1})
    short = short.with_reading(Reading(text="plain", max_chars=5))
    assert scores(short, path, ["proof buy buy buy"]) == scores(short, path, ["proof"])


def test_a_label_that_the_model_has_not_is_named(tmp_path: Path) -> None:
    family = Classifier(name="grade", labels={"hq": 1})
    with pytest.raises(
        RecipeError, match=r"classifiers\.grade: the model has no label 'hq'; it has .*Low"
    ):
        scores(family, graded(tmp_path), ["text"])
