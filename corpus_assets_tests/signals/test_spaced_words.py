"""Plain Python is the reference."""

import random
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa

from corpus_assets.signals.kernels.spaced_words import spaced_words
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.blank_texts import blank_texts
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def reference(text: str) -> str:
    return " ".join(PUNCTUATION.sub(r" \1 ", text.replace("\0", " ")).split())


def spaced(texts: list[str]) -> list[str]:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    data, offsets = spaced_words(batch.data, batch.offsets)
    return [bytes(data[a:b]).decode() for a, b in pairwise(offsets)]


def test_hostile_and_random_texts_equal_the_reference() -> None:
    draw = random.Random(1)
    alphabet = "ab .,!</_[]~\0\x1c\x85\xa0\u2028\u3000é日\U0001f600\n\t#@"
    texts = ["".join(draw.choices(alphabet, k=draw.randrange(60))) for _ in range(2_000)]
    texts += [*ADVERSARIAL, "", " ", "...", "a", ".a", "a.", "</s> __label__x"]
    assert spaced(texts) == [reference(text) for text in texts]


def test_texts_without_a_word_are_known_by_their_spaces() -> None:
    texts = [*ADVERSARIAL, "", " ", "\u3000\x85\x1c\n", "\u2028x", "\u200b", "\0"]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    assert blank_texts(batch.data, batch.offsets).tolist() == [not text.split() for text in texts]


def test_a_slice_of_a_batch_is_read_where_it_begins() -> None:
    whole = TextBatch.from_arrow(pa.array(["left.out", "x.y", "z"], pa.large_string()).slice(1))
    data, offsets = spaced_words(whole.data, whole.offsets)
    assert bytes(data) == b"x . yz"
    assert offsets.tolist() == [0, 5, 6]
    assert offsets.dtype == np.int64
