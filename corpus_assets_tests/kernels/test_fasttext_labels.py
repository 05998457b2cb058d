"""fastText itself is the reference."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus_assets.errors import ModelError
from corpus_assets.kernels.fasttext_features import ROWS_AT_ONCE
from corpus_assets.kernels.fasttext_labels import identify
from corpus_assets.kernels.fasttext_model import FastTextModel, load_model
from corpus_assets.models import find_model, load_fasttext
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.signals.texts import ADVERSARIAL

TRICKY = [
    "", " ", "x", "</s>", "hello </s> bonjour tout le monde", "__label__en wie geht es dir",
    "__label__ guten Tag", "a\vb\fc\rd\te", "日本語の文章です", "é" * 50, "\U0001f600 \U0001f600",
    "<> < >", "ein\u00a0festes\u3000Leerzeichen", "z" * (3 * ROWS_AT_ONCE), "the " * 20_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        return find_model("lid.176")
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
        assert found == [name.removeprefix("__label__") for name in names], lines[row][:80]
        assert np.abs(scores[row, : len(found)] - probabilities).max(initial=0) <= 1e-5


def test_labels_and_probabilities_are_fasttext_s_on_real_sentences(path: Path) -> None:
    with gzip.open(shared_data("langid/sentences.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    with gzip.open(shared_data("text/multilingual.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts += [json.loads(line)["text"] for line in lines]
    check(load_model(path), load_fasttext(path), texts)


def test_labels_and_probabilities_are_fasttext_s_on_hostile_text(path: Path) -> None:
    check(load_model(path), load_fasttext(path), [*TRICKY, *ADVERSARIAL])


def test_random_text_in_any_script_is_read_as_fasttext_reads_it(path: Path) -> None:
    draw = random.Random(3)
    alphabets = ["abc  ", "аяёж \t", "日本語中文 ", "é<>&/_ \r", "\U0001f600\u200d\u0301 a"]
    texts = [
        "".join(draw.choices(draw.choice(alphabets), k=draw.randrange(1, 300))) for _ in range(400)
    ]
    check(load_model(path), load_fasttext(path), texts)


def test_a_model_that_is_not_quantised_is_read_too(tmp_path: Path) -> None:
    import fasttext

    lines = tmp_path / "lines.txt"
    words = {"de": "der die das und ist nicht ein haus", "en": "the and is not a house of",
             "fr": "le la les et est pas une maison", "it": "il la e non una casa di"}  # fmt: skip
    draw = random.Random(5)
    lines.write_text(
        "".join(
            f"__label__{name} {' '.join(draw.choices(words[name].split(), k=6))}\n"
            for name in draw.choices(sorted(words), k=400)
        )
    )
    trained = fasttext.train_supervised(
        str(lines), dim=8, minn=2, maxn=3, bucket=5000, loss="hs", thread=1, epoch=5, verbose=0
    )
    trained.save_model(str(tmp_path / "small.bin"))
    texts = [" ".join(its.split()[:4]) for its in words.values()] + ["xyz unknown words", ""]
    check(load_model(tmp_path / "small.bin"), load_fasttext(tmp_path / "small.bin"), texts)


def test_a_file_that_is_no_such_model_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"not a model", b"\x3a\x4f\x2f\x2f" + b"\0" * 200):
        path = tmp_path / "bad.ftz"
        path.write_bytes(content)
        with pytest.raises(ModelError, match="not a fastText model"):
            load_model(path)
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(tmp_path / "missing.ftz")
