"""Importance weights beside a plain reference, one word at a time."""

import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError, SourceError
from corpus_assets.signals.importance import Importance
from corpus_assets.signals.importance_training import train_importance
from corpus_assets.signals.importance_weights import BUCKETS
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.texts import ADVERSARIAL
from textkernels.hashing import mix_all

DRAW = random.Random(11)
TARGET = [
    " ".join(DRAW.choices(["court", "judge", "law", "statute", "appeal", "the", "of"], k=30))
    for _ in range(40)
]
RAW = [
    " ".join(DRAW.choices(["buy", "now", "cheap", "shoes", "the", "of", "click", "law"], k=30))
    for _ in range(60)
]
FAMILY = Importance(name="law")


def batch_of(texts: list[str]) -> TextBatch:
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))


def features(text: str) -> list[int]:
    """Buckets of words and pairs, with the same hash."""
    words = FAMILY.reading.read(batch_of([text])).texts[0].as_py().split()
    hashes = [batch_of([word]).whole.hashes[0] for word in words]
    with np.errstate(over="ignore"):
        pairs = [mix_all(mix_all(a) + b) for a, b in pairwise(hashes)]
    return [int(h) % BUCKETS for h in [*hashes, *pairs]]


def expected(text: str) -> float | None:
    sides = [Counter(f for one in texts for f in features(one)) for texts in (TARGET, RAW)]
    own = features(text)
    if not own:
        return None
    return sum(
        math.log(sides[0][f] / sides[0].total() + 1e-8)
        - math.log(sides[1][f] / sides[1].total() + 1e-8)
        for f in own
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("law") / "law.npy"
    path.write_bytes(train_importance(TARGET, RAW, FAMILY))
    return path


def scores(model: Path, texts: list[str], column: str = "law_importance") -> list[float | None]:
    found = FAMILY.compute(batch_of(texts), {"classifier:law": model})
    values: list[float | None] = found[column].to_pylist()
    return values


def test_the_weight_is_the_sum_of_log_ratios_of_words_and_pairs(model: Path) -> None:
    texts = [*TARGET[:6], *RAW[:6], "law", "The Court, of law!", "", " \n"]
    for text, found in zip(texts, scores(model, texts), strict=True):
        wanted = expected(text)
        if wanted is None:
            assert found is None
        else:
            assert found == pytest.approx(wanted, abs=1e-3)


def test_target_texts_weigh_more_than_raw_ones_and_the_mean_does_not_grow(model: Path) -> None:
    held_out = [" ".join(DRAW.choices(["judge", "law", "statute", "the"], k=25)),
                " ".join(DRAW.choices(["cheap", "shoes", "click", "the"], k=25))]  # fmt: skip
    good, poor = scores(model, held_out)
    assert good is not None
    assert poor is not None
    assert good > 0 > poor
    once, often = (scores(model, [TARGET[0] * n])[0] for n in (1, 20))
    assert once is not None
    assert often is not None
    assert often > 10 * once
    means = [
        scores(model, [TARGET[0] + (" " + TARGET[0]) * n], "law_importance_mean")[0]
        for n in (0, 20)
    ]
    assert means[0] == pytest.approx(means[1], rel=0.2)


def test_a_texts_weight_does_not_depend_on_the_texts_beside_it(model: Path) -> None:
    texts = [*ADVERSARIAL, *TARGET, *RAW]
    together = scores(model, texts)
    assert together == [scores(model, [text])[0] for text in texts]
    assert scores(model, texts[::-1]) == together[::-1]


def test_the_same_texts_give_the_same_bytes_in_any_order() -> None:
    assert train_importance(TARGET[::-1], RAW[::-1], FAMILY) == train_importance(
        TARGET, RAW, FAMILY
    )


def test_what_cannot_be_weighed_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="classifiers.law.negatives: there is no word"):
        train_importance(TARGET, [" "], FAMILY)
    np.save(tmp_path / "small.npy", np.zeros(500, "<i8"))
    with pytest.raises(ModelError, match="500 buckets, the signal has 10000"):
        FAMILY.compute(batch_of(["x"]), {"classifier:law": tmp_path / "small.npy"})
    (tmp_path / "other.bin").write_bytes(b"a fastText model")
    with pytest.raises(ModelError, match="holds no importance weights"):
        FAMILY.compute(batch_of(["x"]), {"classifier:law": tmp_path / "other.bin"})
