"""Language identification with a fastText model, over a whole batch in one kernel.

The model file (Joulin et al. 2016, "FastText.zip"), quantised or not, is read into plain arrays:
product quantised rows become float32, pruned n-gram buckets a table, the Huffman tree two arrays.
Then, for each text, as fastText does:

1. words between ASCII spaces, each with its n-grams of `min_n` to `max_n` characters and the
   marks `<` and `>` around it; FNV-1a of the n-gram, modulo the buckets, names its row;
2. the mean of all rows, and the end-of-line word's row with them;
3. down the tree, a logistic at each node; a leaf's probability is the product of its path.

Labels are fastText's and so are the probabilities, to 1e-5 whatever the compiler does with sums.
Cost: about 0.3 us a word, a third of fastText's own.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

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
IDS_AT_ONCE = 1 << 13
USUAL_BUCKETS, USUAL_DIM = 2_000_000, 16  # of lid.176: with constants the compiler does better
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


def identify(
    model: LidModel, data: Bytes, offsets: Offsets, k: int = 3
) -> tuple[npt.NDArray[np.int32], Floats]:
    """The `k` likeliest labels of each text and their probabilities, best first.

    Text d is `data[offsets[d]:offsets[d + 1]]`, UTF-8. int32[n, k], -1 where fastText gives
    fewer, and float32[n, k].
    """
    n_labels = len(model.labels)
    found = np.full((len(offsets) - 1, k), -1, dtype=np.int32)
    scores = np.zeros((len(offsets) - 1, k), dtype=np.float32)
    _identify(
        data, offsets, model.rows, model.output, model.left, model.right, model.kept,
        model.bucket_row, model.slots, model.word_bytes, model.word_starts, model.end_of_line, model.min_n,
        model.max_n, n_labels, found, scores,
    )  # fmt: skip
    return found, scores


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


@njit(cache=True)
def _hash(value: np.uint32, byte: np.uint8) -> np.uint32:
    """A step of FNV-1a over signed bytes, as fastText has it."""
    wide = np.uint32(byte)
    if wide > np.uint32(127):
        wide |= np.uint32(0xFFFFFF00)
    return np.uint32((value ^ wide) * np.uint32(16777619))


@njit(cache=True)
def _word_at(
    data: Bytes, start: int, end: int, slots: Ints, word_bytes: Bytes, word_starts: Offsets
) -> int:
    value = np.uint32(2166136261)
    for at in range(start, end):
        value = _hash(value, data[at])
    mask = np.uint32(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        word = slots[slot]
        first = word_starts[word]
        if word_starts[word + 1] - first == end - start:
            same = True
            for place in range(end - start):
                if word_bytes[first + place] != data[start + place]:
                    same = False
                    break
            if same:
                return int(word)
        slot = (slot + np.uint32(1)) & mask
    return -1


@njit(cache=True)
def _find_ngrams(
    data: Bytes, start: int, end: int, min_n: int, max_n: int, kept: Bits, buckets: int,
    ids: Ints, count: int,
) -> int:  # fmt: skip
    """Write the kept buckets of a word's n-grams to `ids` from `count` on; the new count."""
    size = end - start + 2
    n_buckets, usual = np.uint32(buckets), np.uint32(USUAL_BUCKETS)
    for i in range(size):
        if 0 < i < size - 1 and data[start + i - 1] & 0xC0 == 0x80:
            continue
        value = np.uint32(2166136261)
        j = i
        n = 1
        while j < size and n <= max_n:
            mark = np.uint8(60) if j == 0 else np.uint8(62)
            value = _hash(value, mark if j == 0 or j == size - 1 else data[start + j - 1])
            j += 1
            while j < size - 1 and data[start + j - 1] & 0xC0 == 0x80:
                value = _hash(value, data[start + j - 1])
                j += 1
            if n >= min_n and not (n == 1 and (i == 0 or j == size)):
                bucket = value % usual if n_buckets == usual else value % n_buckets
                ids[count] = bucket  # without a branch that nothing could predict
                count += (kept[bucket >> np.uint32(5)] >> (bucket & np.uint32(31))) & np.uint32(1)
            n += 1
    return count


@njit(cache=True)
def _add_rows(rows: Floats, bucket_row: Ints, ids: Ints, count: int, total: Floats) -> None:
    """Add the rows of `count` buckets (or words, as -1 - word) in order, as fastText adds them."""
    for place in range(count):
        row = bucket_row[ids[place]] if ids[place] >= 0 else -1 - ids[place]
        if rows.shape[1] == USUAL_DIM:
            for d in range(USUAL_DIM):
                total[d] += rows[row, d]
        else:
            for d in range(rows.shape[1]):
                total[d] += rows[row, d]


@njit(cache=True)
def _is_label(data: Bytes, start: int, end: int) -> bool:
    mark = (95, 95, 108, 97, 98, 101, 108, 95, 95)  # __label__
    if end - start < 9:
        return False
    for place in range(9):  # noqa: SIM110  numba
        if data[start + place] != mark[place]:
            return False
    return True


@njit(cache=True)
def _identify(
    data: Bytes, offsets: Offsets, rows: Floats, output: Floats, left: Ints, right: Ints,
    kept: Bits, bucket_row: Ints, slots: Ints, word_bytes: Bytes, word_starts: Offsets,
    end_of_line: int, min_n: int, max_n: int, n_labels: int, found: Ints, scores: Floats,
) -> None:  # fmt: skip
    dim = rows.shape[1]
    total = np.empty(dim, dtype=np.float32)
    score = np.empty(2 * n_labels - 1, dtype=np.float32)
    ids = np.empty(IDS_AT_ONCE, dtype=np.int32)
    k = found.shape[1]
    for d in range(len(offsets) - 1):
        at, end = offsets[d], offsets[d + 1]
        total[:] = 0
        count = n_rows = 0
        while at < end:
            byte = data[at]
            if byte == 32 or 9 <= byte <= 13 or byte == 0:
                at += 1
                continue
            start = at
            while at < end:
                byte = data[at]
                if byte == 32 or 9 <= byte <= 13 or byte == 0:
                    break
                at += 1
            needed = max_n * (at - start + 2) + 2  # a word and its n-grams, and the end of line
            if count + needed > len(ids):
                _add_rows(rows, bucket_row, ids, count, total)
                n_rows += count
                count = 0
                if needed > len(ids):
                    ids = np.empty(needed, dtype=np.int32)
            word = _word_at(data, start, at, slots, word_bytes, word_starts)
            if word >= 0:
                if word == end_of_line:
                    break
                ids[count] = -1 - word
                count += 1
            elif _is_label(data, start, at):
                continue
            count = _find_ngrams(data, start, at, min_n, max_n, kept, len(bucket_row), ids, count)
        if end_of_line >= 0:
            ids[count] = -1 - end_of_line
            count += 1
        _add_rows(rows, bucket_row, ids, count, total)
        n_rows += count
        if n_rows == 0:
            continue
        share = np.float32(1.0 / n_rows)
        for place in range(dim):
            total[place] *= share
        least = np.float32(np.log(1e-5))
        score[2 * n_labels - 2] = 0
        for node in range(2 * n_labels - 2, n_labels - 1, -1):
            if score[node] < least:
                score[left[node]] = score[right[node]] = -np.inf
                continue
            dot = np.float32(0)
            for place in range(dim):
                dot += output[node - n_labels, place] * total[place]
            chance = np.float32(1.0 / np.float64(np.float32(1) + np.exp(-dot)))
            no = np.float32(np.log(np.float64(np.float32(1.0 - np.float64(chance))) + 1e-5))
            yes = np.float32(np.log(np.float64(chance) + 1e-5))
            score[left[node]] = score[node] + no
            score[right[node]] = score[node] + yes
        for rank in range(k):
            best = -1
            for label in range(n_labels):
                if score[label] >= least and (best < 0 or score[label] > score[best]):
                    best = label
            if best < 0:
                break
            found[d, rank] = best
            scores[d, rank] = np.exp(score[best])
            score[best] = -np.inf
