"""fastText behind the functions of our kernels, for its own models and for those without spelling."""

from importlib.metadata import version
from pathlib import Path

import fasttext
import numpy as np
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models.fasttext_file import load_model, with_spelling, without_spelling
from corpus_assets.models.fasttext_labels import identify, label_scores, open_model
from corpus_assets.models.fasttext_library import LIBRARY, LibraryModel
from corpus_assets_tests.models.test_fasttext_labels import MODELS, TRICKY, WORDS, batch, trained
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

TEXTS = [*WORDS.values(), "haus </s> the", "the\nhouse\0of\tder", *TRICKY[:-2], *ADVERSARIAL]
KINDS = {
    name: MODELS[name]
    for name in ("hierarchical softmax", "softmax", "word triples and characters")
}


def hashed(path: Path) -> Path:
    """The model of a file with hashes for words."""
    other = path.with_name("hashed.bin")
    other.write_bytes(without_spelling(path.read_bytes()))
    return other


@pytest.mark.parametrize("has_words", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_library_says_what_the_kernels_say(tmp_path: Path, kind: str, has_words: bool) -> None:
    path = trained(tmp_path, **KINDS[kind])
    path = path if has_words else hashed(path)
    ours, theirs = open_model(path, "kernels"), open_model(path, "fasttext")
    assert isinstance(theirs, LibraryModel)
    assert ours.labels == theirs.labels
    whole = [label_scores(model, *batch(TEXTS)) for model in (ours, theirs)]
    assert whole[0].shape == whole[1].shape
    assert whole[0].dtype == whole[1].dtype
    np.testing.assert_allclose(*whole, atol=1e-4)
    (labels, scores), (named, chances) = (identify(m, *batch(TEXTS), k=2) for m in (ours, theirs))
    assert np.array_equal(labels, named)
    np.testing.assert_allclose(scores, chances, atol=1e-4)


def test_a_model_without_spelling_is_spelled_for_the_texts_at_hand_alone(tmp_path: Path) -> None:
    content = hashed(trained(tmp_path, loss="softmax")).read_bytes()
    spelled = with_spelling(content, [b"haus", b"unknown"])
    assert b"haus\0" in spelled
    assert b"maison" not in spelled
    assert b"unknown" not in spelled
    every = [word.encode() for words in WORDS.values() for word in words.split()]
    assert without_spelling(with_spelling(content, every)) == content


def test_no_file_has_the_words_of_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hashed(trained(tmp_path, loss="softmax"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    seen: list[list[Path]] = []
    load = fasttext.load_model

    def look(name: str) -> object:
        seen.append([*(tmp_path / "temporary").iterdir()])
        return load(name)

    monkeypatch.setattr(fasttext, "load_model", look)
    assert not np.isnan(LibraryModel(path).label_scores(*batch(["das haus"]))).any()
    assert seen == [[], []]


def test_its_version_is_the_one_that_fingerprints_name() -> None:
    name, _, number = LIBRARY.partition(" ")
    assert version(name) == number


def test_what_fasttext_cannot_read_is_a_model_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.bin"
    path.write_bytes(b"no model at all")
    with pytest.raises(ModelError, match=r"fastText cannot read bad\.bin"):
        open_model(path, "fasttext")
    with pytest.raises(ModelError, match="cannot be read"):
        open_model(tmp_path / "missing.bin", "fasttext")


def test_the_kernels_are_what_a_model_is_opened_for_unless_asked(tmp_path: Path) -> None:
    path = trained(tmp_path, loss="softmax")
    assert open_model(path, "kernels") is load_model(path)
    assert open_model(path, "fasttext") is open_model(path, "fasttext")
