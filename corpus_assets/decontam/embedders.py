"""Vectors of short texts, by a model that is pinned by digest.

Engines that run models are plug-ins: entry points of the group `corpus_assets.text_embedders`,
each a function of the model's folder that gives a `TextEmbedder`. `static` is built in and needs
no library beyond the project's: a row of numbers for each token, and their mean for a text.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from catalog.figures import counted
from corpus_assets.core.errors import ModelError
from corpus_assets.decontam.settings import STATIC

PLUG_INS = "corpus_assets.text_embedders"
MATRICES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
FINE, LENGTH = 1 << 20, 1 << 14  # steps of a row's largest number; of a vector as integers
DECIMALS = 4

Vectors = npt.NDArray[np.int16]


class TextEmbedder(Protocol):
    """What an engine gives: a row for each text, which must not depend on the texts beside it."""

    def embed(self, texts: Sequence[str]) -> npt.ArrayLike: ...


@lru_cache(maxsize=2)
def load_embedder(engine: str, folder: Path) -> TextEmbedder:
    """Return the engine's embedder for a folder, once a process."""
    found = {point.name: point for point in entry_points(group=PLUG_INS)}
    if engine in found:
        make: Callable[[Path], TextEmbedder] = found[engine].load()
        return make(folder)
    if engine == STATIC:
        return StaticVectors(folder)
    raise ModelError(
        f"no plug-in runs the engine {engine!r}; known: {', '.join(sorted({*found, STATIC}))}"
    )


class StaticVectors:
    """`tokenizer.json` with one matrix in `model.safetensors`, as Model2Vec and others write it.

    Numbers are taken as integers before they are added, so a sum is the same in any order.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._rows = _read_matrix(folder / "model.safetensors")
            if self._tokens.get_vocab_size() > len(self._rows):
                raise ValueError(f"it has {counted(len(self._rows), 'row')}, fewer than tokens")
            most = float(np.abs(self._rows).max(initial=0))
            if not math.isfinite(most):
                raise ValueError("it contains numbers that are not finite")
        except Exception as error:  # the tokenizers library raises nothing narrower
            raise ModelError(
                f"{folder} is not a static embedding model ({error}): it must hold "
                "`tokenizer.json` and `model.safetensors` with one matrix, a row for each token"
            ) from error
        self._tokens.no_truncation()
        self._tokens.no_padding()
        unknown = getattr(self._tokens.model, "unk_token", None)
        self._unknown = self._tokens.token_to_id(unknown) if unknown else None
        self._scale = FINE / max(most, 1e-9)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        sums = np.zeros((len(texts), self._rows.shape[1]), np.int64)
        for vector, text in zip(sums, texts, strict=True):  # a batch would start threads
            tokens = self._tokens.encode(text, add_special_tokens=False).ids
            rows = self._rows[[i for i in tokens if i != self._unknown]].astype(np.float64)
            vector[:] = np.rint(rows * self._scale).astype(np.int64).sum(axis=0)
        return sums.astype(np.float64)


def _read_matrix(path: Path) -> npt.NDArray[np.floating]:
    """Return the one matrix of a safetensors file, mapped into memory."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 0 < size < path.stat().st_size:
            raise ValueError("its header is damaged")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    matrices = list(header.values())
    if len(matrices) != 1 or len(matrices[0]["shape"]) != 2 or matrices[0]["dtype"] not in MATRICES:
        raise ValueError(f"it holds {', '.join(header)}, not one matrix of floating point numbers")
    (one,) = matrices
    at = 8 + size + one["data_offsets"][0]
    return np.memmap(path, MATRICES[one["dtype"]], "r", at, tuple(one["shape"]))


def unit_vectors(embedder: TextEmbedder, texts: Sequence[str]) -> Vectors:
    """Return vectors of one length as integers, int16[n, dim]; all zero where a text has none.

    Products of integers are exact in any order of adding: what a library for matrices, its
    threads or its blocks do cannot change a similarity.
    """
    given = np.asarray(embedder.embed(texts), np.float64)
    if given.ndim != 2 or len(given) != len(texts) or not np.isfinite(given).all():
        raise ModelError(
            f"the engine gave an array of shape {given.shape} for {len(texts)} texts: it must give "
            "a row of finite numbers for each"
        )
    most = np.abs(given).max(axis=1, initial=0)[:, None]
    coarse = np.rint(given * (LENGTH / np.where(most > 0, most, 1)))
    norms = np.sqrt((coarse.astype(np.int64) ** 2).sum(axis=1)).astype(np.float64)[:, None]
    return np.rint(coarse * (LENGTH / np.where(norms > 0, norms, 1))).astype(np.int16)


def similarity(left: Vectors, right: Vectors) -> float:
    """Return the cosine of two vectors of `unit_vectors`, rounded to four decimals."""
    left, right = left.astype(np.int64), right.astype(np.int64)
    product = int((left * right).sum())
    size = math.isqrt(int((left * left).sum()) * int((right * right).sum()))
    return round(product / size, DECIMALS) if size else 0.0
