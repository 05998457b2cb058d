"""The batch of texts: Arrow layouts in, words, lines and paragraphs out."""

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.signals.base import model_path
from corpus_assets.signals.families import FAMILIES
from corpus_assets.signals.published.gopher import GopherQuality
from corpus_assets.text.batch import Spans, TextBatch
from corpus_assets_tests.signals.support import reference
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_texts, real_texts


def spelled_out(batch: TextBatch, spans: Spans) -> list[list[str]]:
    """The spans as Python strings, a list a document, their lengths checked on the way."""
    out = []
    for d in range(len(batch)):
        items = []
        for start, end, chars in spans.spans[spans.rows[d] : spans.rows[d + 1]]:
            item = batch.data[start:end].tobytes().decode("utf-8")
            assert len(item) == chars
            items.append(item)
        out.append(items)
    return out


def check_split(texts: list[str]) -> None:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    assert spelled_out(batch, batch.words) == [reference.words_of(t) for t in texts]
    assert spelled_out(batch, batch.lines) == [reference.lines_of(t) for t in texts]
    assert spelled_out(batch, batch.paragraphs) == [reference.paragraphs_of(t) for t in texts]
    assert batch.n_chars.tolist() == [len(t) for t in texts]
    assert batch.n_newlines.tolist() == [t.count("\n") for t in texts]
    assert batch.words.chars.tolist() == [sum(map(len, t.split())) for t in texts]


def test_real_texts_split_as_python_splits_them() -> None:
    check_split(real_texts()[::5])


def test_adversarial_texts_split_as_python_splits_them() -> None:
    check_split(ADVERSARIAL)


def test_random_texts_split_as_python_splits_them() -> None:
    check_split(random_texts(seed=3, n=2_000))


def test_every_code_point_is_a_word_or_a_space_as_python_says() -> None:
    points = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    batch = TextBatch.from_arrow(pa.array([f"x{chr(c)}y" for c in points], pa.large_string()))
    spaces = [c for c, n in zip(points, batch.words.counts, strict=True) if n == 2]
    assert spaces == [c for c in points if chr(c).isspace()]


def test_slices_chunks_and_nulls_are_read_right() -> None:
    whole = pa.array(["skip", "one two", None, "drei\nvier", "skip"], pa.large_string())
    for texts in (
        whole.slice(1, 3),
        pa.chunked_array([whole.slice(1, 1), whole.slice(2, 2)]),
        whole.cast(pa.string()).slice(1, 3),
    ):
        batch = TextBatch.from_arrow(texts)
        assert spelled_out(batch, batch.words) == [["one", "two"], [], ["drei", "vier"]]


def test_a_batch_of_nothing_has_nothing() -> None:
    for texts in (pa.array([], pa.large_string()), pa.chunked_array([], pa.large_string())):
        batch = TextBatch.from_arrow(texts)
        assert len(batch) == 0
        assert batch.words.counts.tolist() == []


def test_a_missing_model_names_the_family_that_wants_it() -> None:
    with pytest.raises(ModelError, match=r"'language' needs the model 'lid'"):
        model_path({}, "lid", "language")


def test_families_are_registered_under_their_own_name() -> None:
    for name, family in FAMILIES.items():
        assert family.model_fields["family"].default == name


def test_columns_of_all_families_are_distinct() -> None:
    names = [
        column
        for name, family in FAMILIES.items()
        for column in family.model_construct(family=name).columns()
    ]
    assert len(names) == len(set(names))


def test_the_version_of_a_family_is_part_of_its_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = GopherQuality().identity()
    monkeypatch.setattr(GopherQuality, "version", GopherQuality.version + 1)
    assert GopherQuality().identity() != before


def test_sums_by_document_count_documents_without_spans_as_zero() -> None:
    spans = Spans(np.zeros(0, np.uint8), np.zeros((3, 3), np.int64), np.array([0, 0, 2, 3, 3]))
    assert spans.sum_by_document(np.array([1, 2, 4])).tolist() == [0, 3, 4, 0]
