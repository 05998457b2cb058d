"""Train a fastText classifier (Joulin et al. 2016) with the same bits on every processor.

fastText's own trainer leaves to the compiler whether a product and a sum are fused, so models
differ between kinds of processors. This one takes the same steps in a fixed order of float64
operations, and writes a file that fastText reads: softmax over labels, rows of words and of hashed
runs of words, one pass after the other with a rate that falls to 0.

Words that the dictionary does not have have no row of their own; runs of words with them have.
"""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corpus_assets.models.fasttext_features import END_HASH
from corpus_assets.models.fasttext_file import (
    LABEL,
    MAGIC,
    SOFTMAX,
    SUPERVISED,
    VERSIONS,
    Bits,
    Bytes,
    Floats,
    Ints,
    Offsets,
    fnv_step,
)
from corpus_assets.text.exact_math import exp
from textkernels.compiled import kernel
from textkernels.hashing import GOLDEN, splitmix64

LINES_AT_ONCE = 1_000  # then Python looks at signals
WORD, LABEL_ENTRY = 0, 1  # types of dictionary entries
_UNUSED = (5, 5, 100, 1e-4)  # window, negatives, rate updates, sampling: fastText's defaults


def train_rows(
    words: Ints,
    starts: Offsets,
    labels: Ints,
    spelled: Sequence[bytes],
    n_rows: int,
    *,
    n_labels: int,
    dim: int,
    word_ngrams: int,
    buckets: int,
    epochs: int,
    rate: float,
    seed: int,
) -> tuple[Floats, Floats]:
    """Return the rows (float32[1 + n_rows + buckets, dim]) and the output (float32[labels, dim]).

    Line d has the words `words[starts[d]:starts[d + 1]]`, numbers in `spelled`, and one label. The
    first `n_rows` words have rows, from 1 on; row 0 is the end of a line.
    """
    rows = _first_rows(1 + n_rows + buckets, dim, seed)
    output = np.zeros((n_labels, dim), dtype=np.float32)
    hashes = _hashes(spelled)
    longest = int(np.diff(starts).max(initial=0)) + 1
    numbers = np.empty(longest * word_ngrams, dtype=np.int64)
    n_steps = epochs * (len(starts) - 1)
    for step in range(0, n_steps, LINES_AT_ONCE):
        end = min(step + LINES_AT_ONCE, n_steps)
        _train(
            words, starts, labels, hashes, n_rows, word_ngrams, buckets, rate, step, end, n_steps,
            numbers, rows, output,
        )  # fmt: skip
    return rows, output


def dump_model(
    words: Sequence[tuple[bytes, int]],
    labels: Sequence[tuple[str, int]],
    rows: Floats,
    output: Floats,
    *,
    word_ngrams: int,
    buckets: int,
    epochs: int,
    min_count: int,
) -> bytes:
    """Write a model as fastText does; `words` and `labels` with how often each occurs."""
    window, negatives, updates, sampling = _UNUSED
    dim = rows.shape[1]
    head = struct.pack("<ii", MAGIC, VERSIONS[-1]) + struct.pack(
        "<12id", dim, window, epochs, min_count, negatives, word_ngrams, SOFTMAX, SUPERVISED,
        buckets, 0, 0, updates, sampling,
    )  # fmt: skip
    entries = [(word, n, WORD) for word, n in words]
    entries += [(f"{LABEL}{label}".encode(), n, LABEL_ENTRY) for label, n in labels]
    n_tokens = sum(n for _, n in words)
    sizes = struct.pack("<iiiqq", len(entries), len(words), len(labels), n_tokens, -1)
    listed = b"".join(word + b"\0" + struct.pack("<qb", n, kind) for word, n, kind in entries)
    return b"".join((head, sizes, listed, _matrix(rows), _matrix(output)))


def _matrix(values: Floats) -> bytes:
    return struct.pack("<?qq", False, *values.shape) + values.astype("<f4").tobytes()


def _hashes(spelled: Sequence[bytes]) -> Bits:
    """uint32[words]: FNV-1a of each word."""
    ends = np.cumsum([0, *map(len, spelled)], dtype=np.int64)
    return _hash_words(np.frombuffer(b"".join(spelled), dtype=np.uint8), ends)


@kernel
def _hash_words(data: Bytes, starts: Offsets) -> Bits:
    hashes = np.empty(len(starts) - 1, dtype=np.uint32)
    for word in range(len(hashes)):
        value = np.uint32(2166136261)
        for place in range(starts[word], starts[word + 1]):
            value = fnv_step(value, data[place])
        hashes[word] = value
    return hashes


@kernel
def _first_rows(n_rows: int, dim: int, seed: int) -> Floats:
    """Numbers between -1/dim and 1/dim, each from a hash of the seed and its place."""
    rows = np.empty((n_rows, dim), dtype=np.float32)
    key = splitmix64(np.uint64(seed) + GOLDEN)
    for row in range(n_rows):
        for place in range(dim):
            drawn = splitmix64(key ^ np.uint64(row * dim + place + 1)) >> np.uint64(11)
            rows[row, place] = (np.float64(drawn) * 2.0**-52 - 1.0) / dim
    return rows


@kernel
def _train(
    words: Ints, starts: Offsets, labels: Ints, hashes: Bits, n_rows: int, word_ngrams: int,
    buckets: int, rate: float, first: int, end: int, n_steps: int, numbers: Offsets, rows: Floats,
    output: Floats,
) -> None:  # fmt: skip
    """Take the steps from `first` to `end` of stochastic gradient descent, one line each."""
    n_labels, dim = output.shape
    hidden = np.empty(dim, dtype=np.float64)
    gradient = np.empty(dim, dtype=np.float64)
    chances = np.empty(n_labels, dtype=np.float64)
    for step in range(first, end):
        line = step % (len(starts) - 1)
        count = _rows_of_line(
            words[starts[line] : starts[line + 1]], hashes, n_rows, word_ngrams, buckets, numbers
        )
        hidden[:] = 0.0
        for k in range(count):
            for place in range(dim):
                hidden[place] += rows[numbers[k], place]
        for place in range(dim):
            hidden[place] /= count
        _softmax(hidden, output, chances)
        gradient[:] = 0.0
        speed = rate * (1.0 - step / n_steps)
        for label in range(n_labels):
            wanted = 1.0 if label == labels[line] else 0.0
            pull = speed * (wanted - chances[label])
            for place in range(dim):
                gradient[place] += pull * output[label, place]
                output[label, place] += pull * hidden[place]
        for place in range(dim):
            gradient[place] /= count
        for k in range(count):
            for place in range(dim):
                rows[numbers[k], place] += gradient[place]


@kernel
def _rows_of_line(
    line: Ints, hashes: Bits, n_rows: int, word_ngrams: int, buckets: int, numbers: Offsets
) -> int:
    """Write the rows of a line to `numbers`, its end among them; how many there are."""
    numbers[0] = 0
    count = 1
    for word in line:
        if word < n_rows:
            numbers[count] = 1 + word
            count += 1
    for i in range(len(line)):
        value = np.uint64(np.int64(np.int32(hashes[line[i]])))
        for j in range(i + 1, min(len(line) + 1, i + word_ngrams)):
            hashed = hashes[line[j]] if j < len(line) else END_HASH
            value = value * np.uint64(116049371) + np.uint64(np.int64(np.int32(hashed)))
            numbers[count] = 1 + n_rows + np.int64(value % np.uint64(buckets))
            count += 1
    return count


@kernel
def _softmax(
    hidden: npt.NDArray[np.float64], output: Floats, chances: npt.NDArray[np.float64]
) -> None:
    n_labels, dim = output.shape
    most = -np.inf
    for label in range(n_labels):
        total = 0.0
        for place in range(dim):
            total += hidden[place] * output[label, place]
        chances[label] = total
        most = max(most, total)
    whole = 0.0
    for label in range(n_labels):
        chances[label] = exp(chances[label] - most)
        whole += chances[label]
    for label in range(n_labels):
        chances[label] /= whole
