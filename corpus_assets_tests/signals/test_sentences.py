"""Sentences of texts: where each begins and ends, and what a classifier says of it alone."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.signals.classifier import Classifier, Reading
from corpus_assets.signals.kernels.sentences import CLOSING_MARKS, count_sentences, sentence_marks
from corpus_assets.signals.sentences import LEAST_SCORE, SentenceCut, score_sentences, sentences_of
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.fasttext_files import fasttext_file
from corpus_assets_tests.signals.support.reference_content import TERMINALS, WIDE
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages

RUDE = [f"You are a wretched fool number {i} and everybody hates you." for i in range(40)]
KIND = [f"The ferry number {i} left the quiet harbour before noon." for i in range(40)]


def reference(text: str) -> list[str]:
    """The plain way: line by line, up to each end mark that white space or the line's end follows."""
    ends = re.compile(f"[{re.escape(TERMINALS)}][{re.escape(TERMINALS + CLOSING_MARKS)}]*")
    found = []
    for line in text.split("\n"):
        place = 0
        for match in ends.finditer(line):
            follows = line[match.end() : match.end() + 1]
            if not follows or follows.isspace() or any(c in WIDE for c in match.group()):
                found.append(line[place : match.end()].strip())
                place = match.end()
        found.append(line[place:].strip())
    return [one for one in found if one]


def batch_of(texts: list[str]) -> TextBatch:
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))


def found_in(texts: list[str]) -> list[list[str]]:
    batch = batch_of(texts)
    pieces, rows = sentences_of(batch)
    counts = count_sentences(batch.data, batch.lines.spans, sentence_marks())
    assert counts.sum() == len(pieces)
    every = [batch.data[start:end].tobytes().decode() for start, end in pieces.tolist()]
    return [every[rows[d] : rows[d + 1]] for d in range(len(texts))]


def test_sentences_end_at_marks_with_white_space_behind_and_at_lines() -> None:
    text = 'He said "No way!" (twice.) Then 3.5 days\n\n  passed... Was it he?  它来了。好。'
    assert found_in([text]) == [
        ['He said "No way!"', "(twice.)", "Then 3.5 days", "passed...", "Was it he?", "它来了。", "好。"]
    ]  # fmt: skip


def test_sentences_are_those_of_a_plain_reading() -> None:
    texts = [text for text in ADVERSARIAL if len(text) < 20_000] + random_pages(seed=5, n=300)
    for text, found in zip(texts, found_in(texts), strict=True):
        assert found == reference(text)


@given(st.lists(st.text(alphabet='ab .!?"”)。\n', max_size=30), max_size=4))
def test_marks_in_any_order_are_read_the_same_way(texts: list[str]) -> None:
    assert found_in(texts) == [reference(text) for text in texts]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("models") / "rude.bin"
    fasttext_file(path, {"toxic": RUDE, "other": KIND})
    return {"classifier:rude": path}


def test_a_sentence_is_scored_alone_whatever_stands_beside_it(models: dict[str, Path]) -> None:
    plain = Reading(text="plain")
    cut = SentenceCut(name="rude", labels={"toxic": 1}, min_score=0.4)
    text = f"  {KIND[3]} Ünrast!  {RUDE[5]}\n{KIND[7]}"
    (of_texts,) = score_sentences(
        batch_of([KIND[1], text, ""]), [cut.family({"rude": plain})], models
    )
    assert of_texts[2] == []
    said = {text[start:end]: score for start, end, score in of_texts[1]}
    assert set(said) <= {KIND[3], "Ünrast!", RUDE[5], KIND[7]}
    assert min(said.values()) >= LEAST_SCORE
    (alone,) = (
        Classifier(name="rude", labels={"toxic": 1})
        .with_reading(plain)
        .compute(batch_of([RUDE[5]]), models)
    )
    assert said[RUDE[5]] == alone[0].as_py() > 0.5 > said.get(KIND[3], 0)
