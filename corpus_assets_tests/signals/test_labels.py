"""Labels as signals: the best of a classifier's, and those that sources give their documents."""

import random
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa
import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.signals.classifier import Label, Reading
from corpus_assets.signals.page_notes import PageNotes
from corpus_assets.signals.source_labels import SourceLabels
from corpus_assets.signals.stages.classifier_settings import TrainSettings
from corpus_assets.signals.stages.classifier_training import train_labels
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

TOPICS = {
    "health": "doctor nurse fever clinic medicine patient",
    "law": "court judge statute appeal counsel verdict",
    "food_and_drink": "bread butter oven flour sugar recipe",
}


def text_of(topic: str, draw: random.Random) -> str:
    return " ".join(draw.choices([*TOPICS[topic].split(), "the", "and", "of"], k=20))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic classifier as people publish them: by fastText itself, labels with its prefix."""
    folder = tmp_path_factory.mktemp("topics")
    draw = random.Random(3)
    lines = [f"__label__{t} {text_of(t, draw)}\n" for _ in range(60) for t in TOPICS]
    (folder / "train.txt").write_text("".join(lines))
    trained = fasttext.train_supervised(
        str(folder / "train.txt"), dim=8, epoch=20, bucket=100, minCount=1, thread=1, verbose=0
    )
    trained.save_model(str(folder / "topics.bin"))
    return folder / "topics.bin"


def computed(family: Label, model: Path, texts: list[Any]) -> pa.RecordBatch:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    return family.compute(batch, {"classifier:topic": model})


def test_the_likeliest_label_and_its_probability_are_fasttexts_own(model: Path) -> None:
    draw = random.Random(4)
    family = Label(name="topic").with_reading(Reading(text="plain", max_chars=None))
    texts = [text_of(topic, draw) for topic in TOPICS for _ in range(20)]
    found = computed(family, model, texts)
    assert found.schema.types == [pa.string(), pa.float32()]
    reference = fasttext.load_model(str(model))
    for text, label, score in zip(texts, *found.to_pydict().values(), strict=True):
        (expected,), (chance,) = reference.predict(text)
        assert label == expected.removeprefix("__label__")
        assert score == pytest.approx(min(chance, 1), abs=1e-4)


def test_a_text_without_words_has_no_label_and_every_other_one_has(model: Path) -> None:
    found = computed(Label(name="topic"), model, ["", " \n\t", "the judge", *ADVERSARIAL])
    labels = found["topic"].to_pylist()
    assert labels[:3] == [None, None, "law"]
    assert set(labels) <= {None, *TOPICS}
    assert [label is None for label in labels] == [
        s is None for s in found["topic_score"].to_pylist()
    ]


def test_labels_of_sources_come_through_typed_and_null_where_there_are_none() -> None:
    family = SourceLabels(labels=("topic", "format"), scores=("edu",))
    settings = SignalSettings(families=(family,))
    given = pa.struct([("edu", pa.float64()), ("topic", pa.string())])
    documents = pa.table(
        {
            "doc_id": pa.array([bytes([k] * 16) for k in range(3)], pa.binary(16)),
            "labels": pa.array(
                [{"edu": 2.5, "topic": "law"}, {"edu": None, "topic": None}, None], given
            ),
            "text": pa.array(["a", "b", "c"], pa.large_string()),
        }
    )
    found = compute_signals(documents, settings, {})
    assert found.select(["topic", "format", "edu"]).to_pydict() == {
        "topic": ["law", None, None],
        "format": [None, None, None],
        "edu": [2.5, None, None],
    }
    bare = compute_signals(documents.drop_columns("labels"), settings, {})
    assert bare.schema == found.schema
    assert bare["topic"].null_count == 3


READING = Label(name="topic")
SMALL = TrainSettings(bucket=500, dim=8, epochs=20, min_examples=5)


def labelled(n: int, seed: int) -> tuple[list[str], list[str]]:
    draw = random.Random(seed)
    pairs = [(text_of(topic, draw), topic) for _ in range(n) for topic in TOPICS]
    return [text for text, _ in pairs], [topic for _, topic in pairs]


def test_labels_are_learned_and_given_to_texts_that_have_none(tmp_path: Path) -> None:
    made = train_labels(*labelled(40, 6), READING, SMALL)
    assert made.metrics["accuracy"] > 0.9
    assert set(made.metrics["recall"]) == set(TOPICS)
    (tmp_path / "topic.bin").write_bytes(made.model)
    texts, topics = labelled(30, 7)
    found = computed(READING, tmp_path / "topic.bin", texts)["topic"].to_pylist()
    assert sum(a == b for a, b in zip(found, topics, strict=True)) > 0.9 * len(texts)
    assert set(found) == set(TOPICS)


def test_ambiguous_texts_and_rare_labels_are_left_out_and_told() -> None:
    texts, topics = labelled(20, 8)
    more = [*texts, texts[0], "a single text"], [*topics, "law", "rare"]
    made = train_labels(*more, READING, SMALL)
    assert made.metrics["n_ambiguous"] == 1
    assert made.metrics["rare_labels"] == ["rare"]
    backwards = train_labels(more[0][::-1], more[1][::-1], READING, SMALL)
    assert backwards.model == made.model, "whatever the order of documents"
    with pytest.raises(RecipeError, match="1 labels have 5 texts or more .*, needed: 2"):
        train_labels(texts, ["law"] * len(texts), READING, SMALL)


def test_the_type_of_a_page_is_a_signal_and_null_where_there_is_none() -> None:
    documents = pa.table(
        {
            "doc_id": pa.array([b"a" * 16, b"b" * 16], pa.binary(16)),
            "domain": ["web", "web"],
            "text": pa.array(["one", "two"], pa.large_string()),
            "page_type": ["forum", None],
        }
    )
    settings = SignalSettings(families=(PageNotes(),))
    found = compute_signals(documents, settings, {})
    assert found["page_type"].to_pylist() == ["forum", None]
    plain = compute_signals(documents.drop_columns(["page_type"]), settings, {})
    assert plain["page_type"].to_pylist() == [None, None]
