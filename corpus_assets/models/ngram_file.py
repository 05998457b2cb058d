"""The file of n-gram models: plain arrays behind a header, read in place.

    8 bytes   CORPNGM1
    8 bytes   length of the header, little-endian
    header    JSON: {model: {order, sizes, arrays: {name: [dtype, shape, place]}}}
    arrays    little-endian, each at a multiple of 64 bytes; `place` counts from the header's end

Words are there as 64-bit hashes: the file holds no text. What the arrays mean is told in
`models.ngram_score`. A file that is damaged or not ours is refused before a kernel sees it.
"""

import json
import mmap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.core.bounds import MAX_ORDER
from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import canonical_json
from corpus_assets.models.ngram_score import EDGE, FIRST_WORD, Doubles, Floats, Ids
from corpus_assets.text.exact_math import logs
from corpus_assets.text.split import Hashes, Ints

MAGIC = b"CORPNGM1"
ALIGNED = 64
AGAIN = "delete it and build again to retrain it"


@dataclass(frozen=True, eq=False)
class NgramModel:
    """V words (with unknown and boundary), T nodes, C of them of orders below the highest."""

    order: int
    sizes: tuple[int, ...]  # nodes of each order
    vocabulary: Hashes  # uint64[V - 2], ascending
    word: Ids  # int32[T], the last word of a node
    prob: Floats  # float32[T]
    gamma: Floats  # float32[C]
    first: Ints  # int64[C + 1]
    counts: Ints  # int64[V], occurrences in the training texts
    spelling: Floats  # float32[257, 257], log10

    @property
    def places(self) -> Ints:
        """int64[65537]: where words with each leading 16 bits begin in the vocabulary."""
        leads = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        begins = np.searchsorted(self.vocabulary, leads).astype(np.int64)
        return np.append(begins, self.vocabulary.size)

    @property
    def log_shares(self) -> Doubles:
        """float64[V]: ln of each word's share of the training texts, half a word added to each."""
        smoothed = self.counts.astype(np.float64) + 0.5
        return logs(smoothed / smoothed.sum())


ARRAYS = tuple(field.name for field in fields(NgramModel) if field.name not in ("order", "sizes"))
DTYPES = {
    "vocabulary": "<u8",
    "word": "<i4",
    "prob": "<f4",
    "gamma": "<f4",
    "first": "<i8",
    "counts": "<i8",
    "spelling": "<f4",
}


def dump_models(models: Mapping[str, NgramModel]) -> bytes:
    """The bytes of a file with these models, in the order of their names."""
    header: dict[str, Any] = {}
    pieces: list[bytes] = []
    place = 0
    for name, model in sorted(models.items()):
        arrays = {}
        for array in ARRAYS:
            values = np.ascontiguousarray(getattr(model, array), dtype=DTYPES[array])
            arrays[array] = [DTYPES[array], list(values.shape), place]
            content = values.tobytes()
            content += bytes(-len(content) % ALIGNED)
            pieces.append(content)
            place += len(content)
        header[name] = {"order": model.order, "sizes": list(model.sizes), "arrays": arrays}
    written = canonical_json(header)
    written += b" " * (-(len(MAGIC) + 8 + len(written)) % ALIGNED)
    return b"".join([MAGIC, len(written).to_bytes(8, "little"), written, *pieces])


def is_ngram_file(path: Path) -> bool:
    """Whether a file begins like one of ours."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read ({error.strerror})") from error


def load_models(path: Path) -> dict[str, NgramModel]:
    """Return the models of a file, read in place; once a process for each state of the file."""
    try:
        stat = path.stat()
        return _load(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read ({error.strerror})") from error


@lru_cache(maxsize=4)
def _load(path: str, mtime_ns: int, n_bytes: int) -> dict[str, NgramModel]:
    with open(path, "rb") as stream:
        if n_bytes < len(MAGIC) + 8:
            raise ModelError(f"{Path(path).name} is not a file of n-gram models: {AGAIN}")
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return parse_models(content, Path(path).name)


def parse_models(content: bytes | mmap.mmap, name: str) -> dict[str, NgramModel]:
    """Return the models that the bytes of a file hold."""
    if content[: len(MAGIC)] != MAGIC:
        raise ModelError(f"{name} is not a file of n-gram models: {AGAIN}")
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    try:
        header = json.loads(content[start : start + length])
        view = memoryview(content)[start + length :]
        models = {name: _model(entry, view) for name, entry in header.items()}
        if len(view) != sum(-(-a.nbytes // ALIGNED) * ALIGNED for a in _all_arrays(models)):
            raise ValueError("it has another length than its header says")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelError(f"{name} is damaged ({error}): {AGAIN}") from error
    for model in models.values():
        _check(model, name)
    return models


def _all_arrays(models: Mapping[str, NgramModel]) -> list[npt.NDArray[Any]]:
    return [getattr(model, array) for model in models.values() for array in ARRAYS]


def _model(entry: dict[str, Any], view: memoryview) -> NgramModel:
    arrays: dict[str, Any] = {}
    for array in ARRAYS:
        dtype, shape, place = entry["arrays"][array]
        if dtype != DTYPES[array]:
            raise ValueError(f"{array} is {dtype}")
        count = int(np.prod(shape, dtype=np.int64))
        values: npt.NDArray[Any] = np.frombuffer(view, dtype=dtype, count=count, offset=place)
        arrays[array] = values.reshape(shape)
    return NgramModel(int(entry["order"]), tuple(map(int, entry["sizes"])), **arrays)


def _check(model: NgramModel, name: str) -> None:
    """Every index that a kernel follows stays inside; O(size)."""
    sizes, total = model.sizes, sum(model.sizes)
    inner = sum(sizes[:-1])
    first = model.first
    sound = (
        2 <= model.order <= MAX_ORDER
        and len(sizes) == model.order
        and model.vocabulary.shape == (sizes[0] - FIRST_WORD,)
        and model.counts.shape == (sizes[0],)
        and model.word.shape == model.prob.shape == (total,)
        and model.gamma.shape == (inner,)
        and first.shape == (inner + 1,)
        and model.spelling.shape == (EDGE + 1, EDGE + 1)
        and first[0] == sizes[0]
        and first[-1] == total
        and bool((np.diff(first) >= 0).all())
        and bool((model.vocabulary[1:] > model.vocabulary[:-1]).all())
        and bool((model.prob[: sizes[0]] > 0).all())
    )
    if not sound:
        raise ModelError(f"{name} is damaged (its arrays do not fit each other): {AGAIN}")
