"""fastText itself is the reference."""

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models import fasttext_file as fasttext_model
from corpus_assets.models.fasttext_features import (
    LONG_TEXT,
    ROWS_AT_ONCE,
    _longest_word,
    mean_rows,
)
from corpus_assets.models.fasttext_file import FastTextModel, load_model, read_model
from corpus_assets.models.fasttext_labels import identify, label_scores
from corpus_assets.models.files import model_at
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

TRICKY = [
    "", " ", "x", "</s>", "hello </s> bonjour tout le monde", "__label__en wie geht es dir",
    "__label__ guten Tag", "a\vb\fc\rd\te", "日本語の文章です", "é" * 50, "\U0001f600 \U0001f600",
    "<> < >", "ein\u00a0festes\u3000Leerzeichen", "z" * (3 * ROWS_AT_ONCE), "the " * 20_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        return model_at("lid.176").path
    except ModelError as error:
        pytest.skip(str(error))


def batch(texts: list[str]) -> tuple[Any, Any]:
    raw = [text.encode("utf-8", "replace") for text in texts]
    offsets = np.zeros(len(raw) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in raw], out=offsets[1:])
    return np.frombuffer(b"".join(raw), dtype=np.uint8), offsets


def check(model: FastTextModel, reference: Any, texts: list[str]) -> None:
    lines = [text.replace("\n", " ") for text in texts]
    labels, scores = identify(model, *batch(lines))
    expected_labels, expected_scores = reference.predict(
        [line.encode("utf-8", "replace").decode() for line in lines], k=3
    )
    for row, (names, probabilities) in enumerate(
        zip(expected_labels, expected_scores, strict=True)
    ):
        found = [model.labels[label] for label in labels[row] if label >= 0]
        expected = [name.removeprefix("__label__") for name in names]
        assert found == expected, lines[row][:80]
        if np.abs(scores[row, : len(found)] - probabilities).max(initial=0) > 1e-5:
            check_is_nearer(model, reference, lines[row])


def check_is_nearer(model: FastTextModel, reference: Any, line: str) -> None:
    """fastText adds thousands of float32 one by one; where that shows, ours must be nearer."""
    (ours,), _ = mean_rows(model, *batch([line]))
    exact, _ = exact_mean(reference, line)
    theirs = reference.get_sentence_vector(line.encode("utf-8", "replace").decode())
    assert np.abs(ours - exact).max() < np.abs(theirs - exact).max(), line[:80]


def exact_mean(reference: Any, line: str) -> tuple[Any, int]:
    """The mean of the rows of a line and how many they are, in double precision."""
    words, times = np.unique(line.encode("utf-8", "replace").decode().split(), return_counts=True)
    total = reference.get_input_vector(reference.get_word_id("</s>")).astype(np.float64)
    n_rows = 1
    for word, count in zip(words.tolist(), times.tolist(), strict=True):
        own = reference.get_subwords(word)[1].tolist()
        n_rows += count * len(own)
        for number in own:
            total += count * reference.get_input_vector(number).astype(np.float64)
    return total / n_rows, n_rows


def test_labels_and_probabilities_are_fasttext_s_on_real_sentences(path: Path) -> None:
    with gzip.open(shared_data("langid/sentences.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    with gzip.open(shared_data("text/multilingual.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts += [json.loads(line)["text"] for line in lines]
    check(load_model(path), fasttext.load_model(str(path)), texts)


def test_means_are_exact_but_for_the_last_bits(path: Path) -> None:
    reference = fasttext.load_model(str(path))
    texts = ["the quick brown fox", "日本語の文章です x", "é" * 50, "the " * 1_000, "z" * 2_000,
             " ".join(f"word{i} größe" for i in range(500))]  # fmt: skip
    found, counts = mean_rows(load_model(path), *batch(texts))
    for row, text in enumerate(texts):
        exact, n_rows = exact_mean(reference, text)
        assert counts[row] == n_rows
        assert np.abs(found[row] - exact).max() <= 1e-5


def test_labels_and_probabilities_are_fasttext_s_on_hostile_text(path: Path) -> None:
    check(load_model(path), fasttext.load_model(str(path)), [*TRICKY, *ADVERSARIAL])


def test_a_word_with_control_characters_has_room_in_a_long_text(path: Path) -> None:
    marks = "".join(map(chr, range(1, 33)))
    word = "\x01\x1b[0m\x1fcolour" * LONG_TEXT
    texts = [f"{'plain words ' * 9} {word}\x0bend", f"{marks}{marks}"]
    data, offsets = batch(texts)
    longest = max(len(one) for text in texts for one in re.split("[\0\t-\r ]", text))
    assert _longest_word(data, offsets) == longest == len(word)
    alone = [identify(load_model(path), *batch([text])) for text in texts]
    labels, scores = identify(load_model(path), data, offsets)
    assert labels.tolist() == [one.tolist()[0] for one, _ in alone]
    assert scores.tolist() == [one.tolist()[0] for _, one in alone]


def test_random_text_in_any_script_is_read_as_fasttext_reads_it(path: Path) -> None:
    draw = random.Random(3)
    alphabets = ["abc  ", "аяёж \t", "日本語中文 ", "é<>&/_ \r", "\U0001f600\u200d\u0301 a"]
    texts = [
        "".join(draw.choices(draw.choice(alphabets), k=draw.randrange(1, 300))) for _ in range(400)
    ]
    check(load_model(path), fasttext.load_model(str(path)), texts)


WORDS = {"deu_Latn": "der die das und ist nicht ein haus größe", "eng_Latn": "the and is not a house of",
         "fra_Latn": "le la les et est pas une maison été", "jpn_Jpan": "これ は 家 です 日本語"}  # fmt: skip


def trained(folder: Path, **options: Any) -> Path:
    """A small model of four languages, as fastText saves it."""
    lines = folder / "lines.txt"
    draw = random.Random(5)
    more = range(options.pop("more_labels", 0))
    lines.write_text(
        "".join(f"__label__more{i} word{i} the der\n" for i in more)
        + "".join(
            f"__label__{name} {' '.join(draw.choices(WORDS[name].split(), k=6))}\n"
            for name in draw.choices(sorted(WORDS), k=400)
        ),
        encoding="utf-8",
    )
    quantize = options.pop("quantize", None)
    settings = {"dim": 8, "bucket": 5000, "thread": 1, "epoch": 5, "verbose": 0, **options}
    model = fasttext.train_supervised(str(lines), **settings)
    path = folder / "small.bin"
    if quantize is not None:
        path = folder / "small.ftz"
        model.quantize(str(lines), retrain=False, verbose=0, **quantize)
    model.save_model(str(path))
    return path


MODELS: dict[str, dict[str, Any]] = {
    "hierarchical softmax": {"loss": "hs", "minn": 2, "maxn": 3},
    "softmax": {"loss": "softmax", "minn": 2, "maxn": 5},
    "one versus all": {"loss": "ova", "minn": 1, "maxn": 3},
    "negative sampling": {"loss": "ns", "minn": 2, "maxn": 4},
    "word pairs": {"loss": "softmax", "wordNgrams": 2},
    "word triples and characters": {"loss": "softmax", "wordNgrams": 3, "minn": 2, "maxn": 3},
    "words alone": {"loss": "softmax"},
    "rows of sixteen": {"loss": "softmax", "dim": 16, "wordNgrams": 2},
    "quantised and pruned": {
        "loss": "softmax", "wordNgrams": 2, "dim": 16, "quantize": {"cutoff": 400, "qnorm": True},
    },
    "quantised output": {
        "loss": "softmax", "minn": 2, "maxn": 3, "dim": 16,
        "more_labels": 300, "quantize": {"qout": True, "cutoff": 400},
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_models_of_every_kind_are_read_as_fasttext_reads_them(tmp_path: Path, kind: str) -> None:
    path = trained(tmp_path, **MODELS[kind])
    texts = [" ".join(its.split()[:4]) for its in WORDS.values()] + [
        "xyz unknown words", "", "the the the der", "__label__x the", "le </s> the", "</s>",
        "été haus の", "a" * 300, " ".join(["haus", "the", "x"] * 700),
    ]  # fmt: skip
    model, reference = load_model(path), fasttext.load_model(str(path))
    check(model, reference, [*texts, *TRICKY])
    whole = label_scores(model, *batch(texts))
    for row, (names, values) in enumerate(zip(*reference.predict(texts, k=999), strict=True)):
        found = {
            name.removeprefix("__label__"): value for name, value in zip(names, values, strict=True)
        }
        for label, score in zip(model.labels, whole[row], strict=True):
            assert abs(score - found.get(label, 0.0)) <= 1e-5 or (np.isnan(score) and not found)


@pytest.mark.parametrize("loss", ["hs", "softmax", "ova", "ns"])
@pytest.mark.parametrize("more_labels", [0, 1, 9, 60])
def test_labels_of_one_score_come_in_fasttext_s_order(
    tmp_path: Path, loss: str, more_labels: int
) -> None:
    """A model that learned nothing gives all labels (of one depth in a tree) the same score."""
    path = trained(tmp_path, loss=loss, lr=0.0, epoch=1, more_labels=more_labels)
    model, reference = load_model(path), fasttext.load_model(str(path))
    for k in (1, 2, 3, 4, 5, 7, 8, 12):
        labels, _ = identify(model, *batch(["the house"]), k=k)
        names, _ = reference.predict("the house", k=k)
        expected = [name.removeprefix("__label__") for name in names]
        assert [model.labels[label] for label in labels[0] if label >= 0] == expected


def test_rows_that_stay_in_the_file_give_the_same_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trained(tmp_path, loss="softmax", wordNgrams=2, minn=2, maxn=3)
    texts = [*WORDS.values(), *TRICKY]
    copied = label_scores(read_model(path), *batch(texts))
    monkeypatch.setattr(fasttext_model, "COPIED_BYTES", 0)
    mapped = label_scores(read_model(path), *batch(texts))
    assert np.array_equal(copied, mapped, equal_nan=True)


def test_what_is_kept_of_words_changes_no_score(tmp_path: Path) -> None:
    path = trained(tmp_path, loss="softmax", minn=2, maxn=4)
    draw = random.Random(8)
    letters = "abcdefgäßの"
    texts = [
        " ".join("".join(draw.choices(letters, k=draw.randrange(1, 50))) for _ in range(2_000))
        for _ in range(60)
    ]
    warm = read_model(path)
    for _ in range(2):  # far more words than are kept
        together = label_scores(warm, *batch(texts))
    alone = [label_scores(read_model(path), *batch([text]))[0] for text in texts[::7]]
    assert np.array_equal(together[::7], np.stack(alone))


def test_a_file_that_is_no_such_model_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"not a model", b"\x3a\x4f\x2f\x2f" + b"\0" * 200):
        path = tmp_path / "bad.ftz"
        path.write_bytes(content)
        with pytest.raises(ModelError, match="not a fastText model"):
            load_model(path)
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(tmp_path / "missing.ftz")
