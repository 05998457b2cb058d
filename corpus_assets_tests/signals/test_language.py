"""Language signals with the real lid.176 model."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models.files import model_at
from corpus_assets.signals.language import Language, rounded_scores
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.signals.support.texts import ADVERSARIAL


@pytest.fixture(scope="module")
def models() -> dict[str, Path]:
    try:
        return {"lid": model_at("lid.176").path}
    except ModelError as error:
        pytest.skip(str(error))


def languages(texts: list[str | None], models: dict[str, Path]) -> pa.RecordBatch:
    return Language().compute(TextBatch.from_arrow(pa.array(texts, pa.large_string())), models)


def test_declarations_of_human_rights_are_told_apart(models: dict[str, Path]) -> None:
    with gzip.open(shared_data("langid/sentences.jsonl.gz"), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    wanted = {"en", "de", "fr", "es", "ru", "ja", "ar"}
    rows = [row for row in rows if row["lang"] in wanted]
    assert len({row["lang"] for row in rows}) == len(wanted)
    found = languages([row["text"] for row in rows], models).column("language").to_pylist()
    right = sum(label == row["lang"] for label, row in zip(found, rows, strict=True))
    assert right / len(rows) > 0.95


def test_line_ends_do_not_change_the_language(models: dict[str, Path]) -> None:
    words = ["Dies", "ist", "ein", "ganz", "gewöhnlicher", "deutscher", "Satz"]
    one, many = languages([" ".join(words), "\n".join(words)], models).to_pylist()
    assert one == many
    assert one["language"] == "de"


def test_three_languages_come_best_first(models: dict[str, Path]) -> None:
    row = languages(["A sentence in English. Ein Satz auf Deutsch."], models).to_pylist()[0]
    scores = [row["language_score"], row["language_2_score"], row["language_3_score"]]
    assert scores == sorted(scores, reverse=True)
    assert len({row["language"], row["language_2"], row["language_3"]}) == 3


def test_a_text_without_words_has_no_language(models: dict[str, Path]) -> None:
    for row in languages(["", " \n\u3000", None], models).to_pylist():
        assert set(row.values()) == {None}


def test_scores_have_four_decimals_and_never_exceed_one(models: dict[str, Path]) -> None:
    found = languages(list(ADVERSARIAL), models)
    for name in ("language_score", "language_2_score", "language_3_score"):
        scores = found.column(name).drop_null().to_numpy()
        assert (scores == np.round(scores.astype(np.float64), 4).astype(np.float32)).all()
        assert scores.max() <= 1.0


def test_scores_are_rounded_as_python_rounds() -> None:
    scores = np.random.default_rng(1).random(20_000, np.float32)
    given = np.concatenate([scores, np.float32([0, 1, 1.00001, 0.00005, 0.99995, 0.5, 0.03125])])
    expected = [round(min(float(score), 1.0), 4) for score in given]
    assert rounded_scores(given).tolist() == expected


def test_a_batch_and_single_texts_agree(models: dict[str, Path]) -> None:
    together = languages(list(ADVERSARIAL), models).to_pylist()
    assert together == [languages([text], models).to_pylist()[0] for text in ADVERSARIAL]


def test_an_empty_batch_has_the_columns(models: dict[str, Path]) -> None:
    assert languages([], models).schema == pa.schema(list(Language().columns().items()))
