"""Training, measuring and using classifiers."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.models.fasttext_file import hash_word, load_model, parse_model
from corpus_assets.models.fasttext_labels import label_scores
from corpus_assets.signals.classifier import Classifier, Reading
from corpus_assets.signals.stages import classifier_training
from corpus_assets.signals.stages.classifier_settings import TrainSettings
from corpus_assets.signals.stages.classifier_training import (
    LIMITS,
    TrainedClassifier,
    TrainLimits,
    auc,
    train_classifier,
)
from corpus_assets.text.batch import TextBatch

SMALL = TrainSettings(bucket=1_000, dim=4, epochs=10)


def examples(n: int = 60) -> tuple[list[str], list[str]]:
    draw = random.Random(9)
    good = ["theorem", "proof", "history", "because", "river", "therefore"]
    poor = ["buy", "click", "cheap", "viagra", "subscribe", "offer"]
    both = ["the", "a", "of", "and", "is"]

    def texts(words: list[str]) -> list[str]:
        return [" ".join(draw.choices(words + both, k=40)) for _ in range(n)]

    return texts(good), texts(poor)


TRAIN = """
import hashlib, sys
from corpus_assets.signals.classifier import Classifier
from corpus_assets.signals.stages.classifiers import train_classifier
from corpus_assets_tests.signals.test_classifiers import SMALL, examples
good, poor = examples()
if sys.argv[1] == "reversed":
    good, poor = good[::-1], poor[::-1]
print(hashlib.sha256(train_classifier(good, poor, Classifier(), SMALL).model).hexdigest())
"""


def train(
    good: list[str], poor: list[str], settings: TrainSettings, limits: TrainLimits = LIMITS
) -> TrainedClassifier:
    return train_classifier(good, poor, Classifier(), settings, limits)


def normalise_text(text: str, max_chars: int = 20_000) -> str:
    batch = TextBatch.from_arrow(pa.array([text], pa.large_string()))
    return str(Reading(max_chars=max_chars).read(batch).texts[0])


def test_two_processes_train_the_same_bytes_whatever_the_order_and_hash_seed() -> None:
    root = Path(__file__).resolve().parents[2]
    digests = [
        subprocess.run(
            [sys.executable, "-c", TRAIN, order],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for order, seed in (("given", "1"), ("reversed", "2"))
    ]
    here = hashlib.sha256(train(*examples(), SMALL).model).hexdigest()
    assert digests == [here, here]


def test_the_model_tells_good_from_poor() -> None:
    metrics = train(*examples(), SMALL).metrics
    assert metrics["auc"] > 0.95
    assert metrics["precision"] > 0.9
    assert metrics["recall"] > 0.9
    assert metrics["n_holdout_positives"] == metrics["n_holdout_negatives"] == 12
    assert metrics["n_train_positives"] == 48


def test_the_signal_scores_with_the_trained_file(tmp_path: Path) -> None:
    path = tmp_path / "quality.bin"
    path.write_bytes(train(*examples(), SMALL).model)
    texts = ["Proof of the THEOREM:\nbecause history is", "click and buy the cheap offer", "", None]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    scores = Classifier().compute(batch, {"classifier:quality": path}).column("quality_score")
    assert scores.type == pa.float32()
    good, poor, empty, null = scores.to_pylist()
    assert good > 0.5 > poor
    assert empty is None
    assert null is None
    assert np.float32(round(good, 4)) != np.float32(good), "scores are ranked, so not rounded"
    nothing = Classifier().compute(
        TextBatch.from_arrow(pa.array([], pa.string())), {"classifier:quality": path}
    )
    assert nothing.num_rows == 0


def test_too_few_examples_say_how_many_are_needed() -> None:
    good, poor = examples()
    with pytest.raises(RecipeError, match=r"1 distinct negative texts, needed: 10"):
        train(good, poor[:1] * 50, SMALL)
    with pytest.raises(RecipeError, match=r"0 distinct positive texts"):
        train(["", " \n"], poor, SMALL)


def test_a_text_on_both_sides_trains_neither() -> None:
    good, poor = examples()
    metrics = train([*good, poor[0]], poor, SMALL).metrics
    assert metrics["n_ambiguous"] == 1
    assert metrics["n_train_negatives"] + metrics["n_holdout_negatives"] == len(poor) - 1


def test_labels_and_sentence_ends_inside_texts_have_no_power() -> None:
    good, poor = examples()
    hostile = [f"</s> __label__positive __label__new {text} \0 \n </s>" for text in poor]
    metrics = train(good, hostile, SMALL).metrics
    assert metrics["n_train_negatives"] == 48
    assert metrics["auc"] > 0.95
    assert "__label__" not in normalise_text("x__label__positive")
    assert normalise_text("A\0b</s>\u3000C.D") == "a b < / s > c . d"


def test_the_vocabulary_and_the_file_stay_bounded() -> None:
    draw = random.Random(10)
    good, poor = (
        [" ".join(f"{side}{draw.randrange(5_000)}" for _ in range(2_000)) for _ in range(40)]
        for side in "gp"
    )
    trained = train(good, poor, TrainSettings(epochs=1), TrainLimits(max_vocabulary=3_000))
    assert trained.metrics["min_documents"] > 5
    assert len(trained.model) < 5_000_000
    assert trained.metrics["model_bytes"] == len(trained.model)


def test_long_texts_are_cut_alike_in_training_and_scoring() -> None:
    good, poor = examples()
    said = [f"{text} {'tail ' * 9}" for text in good]
    cut = train_classifier(said, poor, Classifier().with_reading(Reading(max_chars=60)), SMALL)
    short = train_classifier([t[:60] for t in good], [t[:60] for t in poor], Classifier(), SMALL)
    assert cut.model == short.model
    assert normalise_text("abc def", max_chars=5) == "abc d"


def test_training_that_blows_up_is_a_model_error() -> None:
    good, poor = examples()
    wild = TrainSettings(bucket=1_000, dim=256, epochs=1_000, lr=10, word_ngrams=1)
    with pytest.raises(ModelError, match=r"did not converge.*lower classifiers.quality.train.lr"):
        train(good[:12], poor[:12], wild)


def test_no_word_is_spelled_and_scores_are_those_of_the_spelled_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = train(*examples(), SMALL)
    monkeypatch.setattr(classifier_training, "without_spelling", lambda content: content)
    spelled = train(*examples(), SMALL)
    for word in (b"theorem", b"history", b"cheap", b"offer"):
        assert word in spelled.model
        assert word not in trained.model
        assert word.decode() not in json.dumps(trained.metrics)
    assert b"__label__positive" in trained.model
    texts = [*examples()[0], *examples()[1], "theorem", "unknown", "", "</s> theorem", "thé " * 99]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    ours, theirs = (
        label_scores(parse_model(model), batch.data, batch.offsets)
        for model in (trained.model, spelled.model)
    )
    assert ours.tobytes() == theirs.tobytes()
    assert trained.metrics == spelled.metrics | {"model_bytes": len(trained.model)}


def test_fasttext_reads_the_spelled_file_and_scores_as_we_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fasttext

    monkeypatch.setattr(classifier_training, "without_spelling", lambda content: content)
    path = tmp_path / "quality.bin"
    path.write_bytes(train(*examples(), SMALL.model_copy(update={"word_ngrams": 3})).model)
    theirs = fasttext.load_model(str(path))
    texts = ["proof of the theorem", "buy cheap unknownword offer", "river", "", "unknownword"]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    ours = label_scores(load_model(path), batch.data, batch.offsets)
    for text, scores in zip(texts, ours, strict=True):
        labels, chances = theirs.predict(text, k=2)
        said = dict(zip(labels, chances, strict=True))
        assert scores[0] == pytest.approx(said["__label__positive"], abs=2e-5)


def test_as_good_as_fasttext_itself(tmp_path: Path) -> None:
    import fasttext

    good, poor = examples(200)
    lines = [f"__label__positive {text}" for text in good[:150]]
    lines += [f"__label__negative {text}" for text in poor[:150]]
    random.Random(3).shuffle(lines)
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    theirs = fasttext.train_supervised(
        str(tmp_path / "lines.txt"), lr=0.5, dim=4, epoch=5, bucket=1_000, wordNgrams=2, verbose=0
    )
    right = sum(theirs.predict(text)[0][0] == "__label__positive" for text in good[150:])
    settings = TrainSettings(bucket=1_000, dim=4, epochs=5)
    trained = train(good, poor, settings, TrainLimits(holdout_share=0.25))
    assert trained.metrics["recall"] >= right / 50 - 0.04


def test_a_word_of_few_texts_is_not_known_by_its_hash_either() -> None:
    good, poor = examples()
    good = [f"{text} Quillorix Vantzelgolm" if n < 4 else text for n, text in enumerate(good)]
    poor = [f"{text} oftenword" for text in poor]
    trained = train(good, poor, SMALL)
    assert trained.metrics["min_documents"] == 5
    often, few = (b"%016x" % hash_word(word) for word in (b"oftenword", b"quillorix"))
    assert often in trained.model
    for part in (few, b"quillorix", b"vantzelgolm", b"Quillorix", b"llor", b"oftenword"):
        assert part not in trained.model
    of_four = train(good, poor, SMALL.model_copy(update={"min_documents": 1}))
    assert few in of_four.model


KNOWN_MODEL = "3f75bd0f3d2d27db8d9b4c7651025d1285459c0e227b7785807fddbe50ab76a4"


def test_the_bytes_are_those_of_every_other_processor() -> None:
    assert hashlib.sha256(train(*examples(), SMALL).model).hexdigest() == KNOWN_MODEL


def test_auc_equals_counting_all_pairs() -> None:
    draw = random.Random(11)
    good = [draw.randrange(6) / 5 for _ in range(40)]
    poor = [draw.randrange(4) / 5 for _ in range(30)]
    pairs = [(g > p) + 0.5 * (g == p) for g in good for p in poor]
    assert auc(good, poor) == pytest.approx(sum(pairs) / len(pairs))


def test_words_without_spaces_are_told_apart_where_asked_for() -> None:
    """The same words in other sentences: at white space a sentence is one word that no other text
    has; taken apart, its words are known."""
    fruit, tools = ("苹果", "香蕉", "葡萄", "西瓜"), ("锤子", "螺丝", "扳手", "钳子")

    def sentences(words: tuple[str, ...], count: int, begin: int) -> list[str]:
        draw = random.Random(begin)
        return [
            f"我们喜欢{'和'.join(draw.sample(words, 3))}。第{begin + i}天" for i in range(count)
        ]

    settings = TrainSettings(min_examples=5, epochs=10, dim=8, bucket=1_000, word_ngrams=1)
    found = {}
    for breaks in ("white_space", "segmented"):
        family = Classifier().with_reading(Reading(word_breaks=breaks))
        made = train_classifier(
            sentences(fruit, 60, 0), sentences(tools, 60, 500), family, settings
        )
        found[breaks] = made.metrics["auc"]
    assert found["segmented"] == 1.0
    assert found["white_space"] < 0.9
    assert "segmenter" not in Reading().identity()
    assert Reading(word_breaks="segmented").identity()["segmenter"].startswith("ICU")


def test_texts_with_spaces_are_read_alike_whatever_breaks_words() -> None:
    texts = ["Plain words, here.", "", "Zwei  Sätze.\nUnd mehr!", "mixed 中文 text"]
    batch = TextBatch.from_arrow(pa.array(["left out", *texts], pa.large_string()).slice(1))
    usual, apart = (
        Reading(word_breaks=breaks, text="plain").read(batch).texts.to_pylist()
        for breaks in ("white_space", "segmented")
    )
    assert usual == apart == texts
    joined = TextBatch.from_arrow(
        pa.array(["skip", "我们喜欢苹果 ok", "葡萄很甜"], pa.large_string()).slice(1)
    )
    assert joined.spaced().texts.to_pylist() == ["我们 喜欢 苹果 ok", "葡萄 很甜"]
