"""fastText itself, for what it says of texts: the one module that imports the library.

Its labels and probabilities are those that our kernels are held against, and what a signal family
has where a recipe asks for `signals.engine: fasttext`. It adds float32 numbers in an order that its compiler
chose, so the last bits of a probability differ between kinds of processors.

A model that has hashes for words is given to it with the words of the texts at hand spelled, in a
file without a name: nothing of it is left when the process is killed.
"""

import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from corpus_assets.core.errors import ModelError
from corpus_assets.models.fasttext_file import (
    LABEL,
    Bytes,
    Floats,
    Ints,
    Offsets,
    is_hashed,
    unreadable,
    with_spelling,
)

LIBRARY = "fasttext-community 0.11.9"
"""Whose results these are: part of the identity of what it computes."""

_SPACES = bytes.maketrans(b"\0\n", b"  ")  # the library takes no line ends in a text


class LibraryModel:
    """A model of classes, loaded by fastText."""

    def __init__(self, path: Path) -> None:
        self._hashed = path.read_bytes() if is_hashed(path) else None
        self._model = _load(str(path)) if self._hashed is None else _spelled(self._hashed, ())
        self.labels = tuple(label.removeprefix(LABEL) for label in self._model.get_labels())

    def identify(self, data: Bytes, offsets: Offsets, k: int) -> tuple[Ints, Floats]:
        """The likeliest labels of texts, in the form of `fasttext_labels.identify`."""
        names, chances = self._predict(data, offsets, k)
        found = np.full((len(names), k), -1, dtype=np.int32)
        scores = np.zeros((len(names), k), dtype=np.float32)
        number = {label: place for place, label in enumerate(self.labels)}
        for row, (some, values) in enumerate(zip(names, chances, strict=True)):
            found[row, : len(some)] = [number[name.removeprefix(LABEL)] for name in some]
            scores[row, : len(some)] = values
        return found, scores

    def label_scores(self, data: Bytes, offsets: Offsets) -> Floats:
        """Scores of labels, in the form of `fasttext_labels.label_scores`."""
        found, scores = self.identify(data, offsets, len(self.labels))
        values = np.full(found.shape, np.nan, dtype=np.float32)
        values[(found >= 0).any(axis=1)] = 0
        rows, places = np.nonzero(found >= 0)
        values[rows, found[rows, places]] = scores[rows, places]
        return values

    def _predict(
        self, data: Bytes, offsets: Offsets, k: int
    ) -> tuple[list[list[str]], list[Floats]]:
        raw = [
            data[start:end].tobytes().translate(_SPACES)
            for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]
        model = self._model
        if self._hashed is not None:
            words = {word for line in raw for word in line.split()}
            model = _spelled(self._hashed, words)
        names, chances = model.predict([line.decode() for line in raw], k=k)
        return names, chances


def load_library_model(path: Path) -> LibraryModel:
    """Return fastText's model of a file, once a process for each state of it."""
    try:
        stat = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return _load_once(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _load_once(path: str, mtime_ns: int, n_bytes: int) -> LibraryModel:
    return LibraryModel(Path(path))


def _load(path: str) -> Any:
    import fasttext

    try:
        return fasttext.load_model(path)
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"fastText cannot read {Path(path).name}: {error}") from error


def _spelled(content: bytes, words: Iterable[bytes]) -> Any:
    with tempfile.TemporaryFile() as file:
        file.write(with_spelling(content, words))
        file.seek(0)
        return _load(f"/dev/fd/{file.fileno()}")
