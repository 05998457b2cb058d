"""A fastText model file with a Huffman tree, as plain arrays for `fasttext_lid`.

Product quantised rows become float32 (Joulin et al. 2016, "FastText.zip"), pruned n-gram buckets
a table, the tree two arrays.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.errors import ModelError

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint32]

MAGIC = 793712314
VERSION = 12
HIERARCHICAL, SUPERVISED = 1, 3
CODES = 256
END_OF_LINE = b"</s>"
LABEL = "__label__"


@dataclass(frozen=True)
class LidModel:
    """A model as arrays. Rows are the words' first, then those of the buckets kept."""

    labels: tuple[str, ...]
    rows: Floats  # [words + buckets kept, dim]
    output: Floats  # [labels - 1, dim], one inner node of the tree each
    left: Ints  # [2 * labels - 1], child of an inner node
    right: Ints
    kept: Bits  # one bit a bucket: most n-grams have no row, and this much fits a cache
    bucket_row: Ints  # [buckets], row or -1
    slots: Ints  # open addressing by FNV-1a, word or -1; a power of two of them
    word_bytes: Bytes
    word_starts: Offsets  # [words + 1]
    end_of_line: int  # word, or -1
    min_n: int
    max_n: int


def load_lid(path: Path) -> LidModel:
    """The model of a file, once a process for each state of it."""
    try:
        stat = path.stat()
    except OSError as error:
        raise ModelError(f"model file {path.name} cannot be read ({error.strerror})") from error
    return _load(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _load(path: str, mtime_ns: int, n_bytes: int) -> LidModel:
    raw = Path(path).read_bytes()
    try:
        return _parse(_Reader(raw))
    except (struct.error, ValueError, IndexError) as error:
        raise ModelError(
            f"{Path(path).name} is not a fastText model with a tree ({error}): "
            "run `corpus models fetch`"
        ) from error


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, form: str) -> Any:
        """One value, or a tuple of several."""
        values = struct.unpack_from(f"<{form}", self._raw, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values if len(values) > 1 else values[0]

    def word(self) -> bytes:
        end = self._raw.index(b"\0", self._at)
        word = self._raw[self._at : end]
        self._at = end + 1
        return word

    def array(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self._raw, dtype, count, self._at)
        self._at += found.nbytes
        return found


def _parse(reader: _Reader) -> LidModel:
    magic, version = reader.take("ii")
    args = reader.take("12i")
    reader.take("d")
    dim, loss, kind, buckets, min_n, max_n = args[0], args[6], args[7], args[8], args[9], args[10]
    if (magic, version, loss, kind) != (MAGIC, VERSION, HIERARCHICAL, SUPERVISED) or args[5] != 1:
        raise ValueError("unknown kind of model")
    _, n_words, n_labels = reader.take("iii")
    _, n_kept = reader.take("qq")
    words: list[bytes] = []
    counts: list[int] = []
    for _ in range(n_words + n_labels):
        words.append(reader.word())
        counts.append(reader.take("qb")[0])
    if n_kept >= 0:
        kept = reader.array("<i4", 2 * n_kept).reshape(n_kept, 2)
        bucket_row = np.full(buckets, -1, dtype=np.int32)
        bucket_row[kept[:, 0]] = kept[:, 1] + n_words
    else:  # a model that was never pruned
        bucket_row = np.arange(n_words, n_words + buckets, dtype=np.int32)
    if reader.take("?"):
        rows = _quantised(reader, dim)
    else:
        n_rows, width = reader.take("qq")
        rows = reader.array("<f4", n_rows * width).reshape(n_rows, width).astype(np.float32)
    if reader.take("?"):
        raise ValueError("quantised output")
    n_nodes, width = reader.take("qq")
    output = reader.array("<f4", n_nodes * width).reshape(n_nodes, width)[: n_labels - 1]
    left, right = _tree(counts[n_words:])
    starts = np.zeros(n_words + 1, dtype=np.int64)
    np.cumsum([len(word) for word in words[:n_words]], out=starts[1:])
    return LidModel(
        labels=tuple(word.decode().removeprefix(LABEL) for word in words[n_words:]),
        rows=rows,
        output=np.ascontiguousarray(output, dtype=np.float32),
        left=left,
        right=right,
        kept=np.packbits(np.resize(bucket_row >= 0, (buckets + 31) // 32 * 32), bitorder="little")
        .view("<u4")
        .astype(np.uint32),
        bucket_row=bucket_row,
        slots=_slots(words[:n_words]),
        word_bytes=np.frombuffer(b"".join(words[:n_words]), dtype=np.uint8).copy(),
        word_starts=starts,
        end_of_line=words[:n_words].index(END_OF_LINE) if END_OF_LINE in words[:n_words] else -1,
        min_n=min_n,
        max_n=max_n,
    )


def _quantised(reader: _Reader, dim: int) -> Floats:
    """A product quantised matrix as float32: each code stands for a piece of a row."""
    has_norms = reader.take("?")
    n_rows, _ = reader.take("qq")
    codes = reader.array("u1", reader.take("i"))
    _, n_pieces, piece, last = reader.take("4i")
    centroids = reader.array("<f4", dim * CODES)
    rows = np.empty((n_rows, dim), dtype=np.float32)
    codes = codes.reshape(n_rows, n_pieces)
    for place in range(n_pieces):
        size = last if place == n_pieces - 1 else piece
        start = place * CODES * piece
        table = centroids[start : start + CODES * size].reshape(CODES, size)
        rows[:, place * piece : place * piece + size] = table[codes[:, place]]
    if has_norms:
        norm_codes = reader.array("u1", n_rows)
        reader.take("4i")
        rows *= reader.array("<f4", CODES)[norm_codes][:, None]
    return rows


def _tree(counts: list[int]) -> tuple[Ints, Ints]:
    """Huffman's tree over labels that stand in order of falling count; the last node is its root."""
    n = len(counts)
    weight = [*counts, *([10**15] * (n - 1))]
    left, right = np.zeros(2 * n - 1, np.int32), np.zeros(2 * n - 1, np.int32)
    leaf, node = n - 1, n
    for parent in range(n, 2 * n - 1):
        children = []
        for _ in range(2):
            if leaf >= 0 and weight[leaf] < weight[node]:
                children.append(leaf)
                leaf -= 1
            else:
                children.append(node)
                node += 1
        left[parent], right[parent] = children
        weight[parent] = weight[children[0]] + weight[children[1]]
    return left, right


def _slots(words: list[bytes]) -> Ints:
    size = 1 << (2 * len(words)).bit_length()
    slots = np.full(size, -1, dtype=np.int32)
    for place, word in enumerate(words):
        value = 2166136261
        for byte in word:
            value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
        slot = value & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = place
    return slots
