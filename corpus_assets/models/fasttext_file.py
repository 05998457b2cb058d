"""A fastText classifier's file as plain arrays, for `fasttext_features` and `fasttext_labels`.

Reads supervised models as fastText saves them, of any loss, quantised (`.ftz`) or not (`.bin`):
product quantised rows become float32 (Joulin et al. 2016, "FastText.zip"), pruned n-gram buckets
a table, the tree of a hierarchical softmax two arrays. The rows of a large file stay in the file,
mapped into memory: processes of one machine share them.

A model that was trained here has the same form with one difference (`without_spelling`): in the
place of words stand their hashes. Scoring hashes the words of a text and asks for nothing more.
fastText refuses such a file; it reads one that spells the words of the texts at hand
(`with_spelling`).
"""

import mmap
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import ModelError
from textkernels.byte_search import byte_kernel
from textkernels.compiled import kernel
from textkernels.hashing import fnv1a, mix_all

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.uint64]

MAGIC = 793712314
VERSIONS = (11, 12)
HASHED = 13  # a version of ours, that fastText refuses: hashes for words
HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4  # losses
SUPERVISED = 3
CODES = 256
END_OF_LINE = b"</s>"
LABEL = "__label__"
ENTRY_TAIL = 9  # of a dictionary entry: a count in 8 bytes and a type in one
COPIED_BYTES = 1 << 28  # larger matrices stay in the file
KNOWN_WORDS = 1 << 17
KNOWN_PARTS = 5  # eight bytes each: longer words hardly come again

KNOWN_HEAD = 8  # numbers before the sum: with rows of 16 floats two lines of cache in all
KNOWN_NUMBERS = 1 << 21


class KnownWords:
    """Sums of the rows of words that were seen, at most 16 MB: scratch memory of one process,
    never part of a result.

    A word has a place by a hash of its bytes and takes it from the one before. `known[place]`:
    the size of the word, its FNV-1a, how many rows it has (or what it means to fastText), its
    bytes in `KNOWN_PARTS` numbers, and the sum of its rows, which `sums` shows as floats.
    """

    def __init__(self, dim: int) -> None:
        width = KNOWN_HEAD + (dim + 1) // 2
        places = 1 << (max(KNOWN_NUMBERS // width, 1).bit_length() - 1)
        self.known = np.zeros((min(places, KNOWN_WORDS), width), dtype=np.uint64)
        self.sums = self.known.view(np.float32)[:, 2 * KNOWN_HEAD : 2 * KNOWN_HEAD + dim]


@dataclass(frozen=True)
class FastTextModel:
    """A model as arrays. Rows are the words' first, then those of the buckets kept, in order."""

    labels: tuple[str, ...]  # without the prefix
    loss: int
    rows: Floats  # [words + buckets kept, dim]
    output: Floats  # [dim, labels], or [labels - 1, dim]: an inner node of the tree each
    left: Ints  # [2 * labels - 1], child of an inner node; empty without a tree
    right: Ints
    buckets: int
    kept: Numbers  # see `kept_buckets`
    slots: Ints  # open addressing by FNV-1a, word or -1; a power of two of them
    word_bytes: Bytes
    word_starts: Offsets  # [words + 1]
    word_hashes: Numbers  # [words], see `hash_word`; empty where words are spelled
    end_of_line: int  # word, or -1
    min_n: int  # of character n-grams
    max_n: int
    word_ngrams: int  # longest run of words that has a bucket
    words: KnownWords = field(compare=False, repr=False)


def load_model(path: Path) -> FastTextModel:
    """Return the model of a file, once a process for each state of it."""
    try:
        stat = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return _load(str(path), stat.st_mtime_ns, stat.st_size)


def unreadable(path: Path, error: OSError) -> ModelError:
    return ModelError(f"model file {path.name} cannot be read ({error.strerror})")


@lru_cache(maxsize=8)
def _load(path: str, mtime_ns: int, n_bytes: int) -> FastTextModel:
    return read_model(Path(path))


def read_model(path: Path) -> FastTextModel:
    """Read the model of a file, without keeping it for the next caller."""
    try:
        with open(path, "rb") as file:
            raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _parse(_Reader(raw))
    except (struct.error, ValueError, IndexError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{path.name} is not a fastText model of classes ({error}): fetch it again with "
            "`corpus models fetch`, or name another"
        ) from error


def parse_model(content: bytes) -> FastTextModel:
    """Return the model of a file's content."""
    return _parse(_Reader(content))


class _Reader:
    def __init__(self, raw: mmap.mmap | bytes) -> None:
        self._raw = raw
        self.at = 0

    def take(self, form: str) -> Any:
        """One value, or a tuple of several."""
        values = struct.unpack_from(f"<{form}", self._raw, self.at)
        self.at += struct.calcsize(f"<{form}")
        return values if len(values) > 1 else values[0]

    def array(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self._raw, dtype, count, self.at)
        self.at += found.nbytes
        return found

    def matrix(self) -> Floats:
        n_rows, width = self.take("qq")
        found = self.array("<f4", n_rows * width).reshape(n_rows, width)
        return found.astype(np.float32) if found.nbytes <= COPIED_BYTES else found

    def dictionary(self, n_words: int, n_labels: int) -> "_Dictionary":
        """Entries: bytes of a word and a zero, its count, its type."""
        raw = np.frombuffer(self._raw, np.uint8)
        n = n_words + n_labels
        if n < 0 or n > len(raw):
            raise ValueError("a dictionary longer than the file")
        starts, counts = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        end = _find_entries(raw, self.at, starts, counts)
        if end < 0:
            raise ValueError("its dictionary ends too early")
        word_bytes = _joined_words(raw, self.at, starts)
        self.at = end
        return _Dictionary(word_bytes, starts, counts)


@dataclass(frozen=True)
class _Dictionary:
    """Words, then labels; entry i is `joined[starts[i]:starts[i + 1]]`."""

    joined: Bytes
    starts: Offsets
    counts: Offsets

    def entry(self, number: int) -> bytes:
        return self.joined[self.starts[number] : self.starts[number + 1]].tobytes()


def _parse(reader: _Reader) -> FastTextModel:
    magic, version = reader.take("ii")
    args: tuple[int, ...] = reader.take("12i")
    reader.take("d")
    dim, word_ngrams, loss, kind, buckets, min_n, max_n = (args[0], *args[5:11])
    if magic != MAGIC or version not in (*VERSIONS, HASHED) or kind != SUPERVISED:
        raise ValueError("unknown kind of model")
    if loss not in (HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL) or dim <= 0 or buckets < 0:
        raise ValueError("unknown loss")
    if version == 11:  # as fastText does: such classifiers have no character n-grams
        max_n = 0
    _, n_words, n_labels = reader.take("iii")
    _, n_kept = reader.take("qq")
    words = reader.dictionary(n_words, n_labels)
    bucket_row = _bucket_rows(reader, n_kept, buckets, n_words)
    is_quantised = reader.take("?")
    rows = _quantised(reader, dim) if is_quantised else reader.matrix()
    has_quantised_output = reader.take("?")
    output = _quantised(reader, dim) if is_quantised and has_quantised_output else reader.matrix()
    if rows.shape[1] != dim or output.shape[1] != dim or len(output) < n_labels - 1:
        raise ValueError("its matrices do not fit together")
    if len(rows) <= bucket_row.max(initial=n_words - 1):
        raise ValueError("fewer rows than words and buckets")
    if n_kept >= 0:
        rows = np.concatenate([rows[:n_words], rows[bucket_row[bucket_row >= 0]]])
    left, right = _tree(words.counts[n_words:]) if loss == HIERARCHICAL else (_none(), _none())
    flat = output[: n_labels - 1] if loss == HIERARCHICAL else output[:n_labels].T
    starts = words.starts[: n_words + 1]
    hashes = _word_hashes(words, n_words) if version == HASHED else np.zeros(0, dtype=np.uint64)
    n_slots = 1 << (2 * n_words).bit_length()
    ends = [i for i in range(n_words) if starts[i + 1] - starts[i] == len(END_OF_LINE)]
    return FastTextModel(
        labels=tuple(
            words.entry(n_words + i).decode().removeprefix(LABEL) for i in range(n_labels)
        ),
        loss=loss,
        rows=rows,
        output=np.ascontiguousarray(flat, dtype=np.float32),
        left=left,
        right=right,
        buckets=buckets,
        kept=kept_buckets(bucket_row >= 0, n_words),
        slots=(
            _fill_hash_slots(hashes, n_slots)
            if version == HASHED
            else _fill_slots(words.joined, starts, n_slots)
        ),
        word_bytes=words.joined[: starts[n_words]].copy(),
        word_starts=starts.copy(),
        word_hashes=hashes,
        end_of_line=next((i for i in ends if words.entry(i) == END_OF_LINE), -1),
        min_n=min_n,
        max_n=max_n,
        word_ngrams=word_ngrams,
        words=KnownWords(dim),
    )


def _word_hashes(words: _Dictionary, n_words: int) -> Numbers:
    entries = [words.entry(i) for i in range(n_words)]
    known = [hash_word(e) if e == END_OF_LINE else int(e, 16) for e in entries]
    return np.array(known, dtype=np.uint64)


def without_spelling(content: bytes) -> bytes:
    """Replace each word of a model's file by its hash; scores stay the same.

    A model outlives the documents that it learned from. Whoever has a word can still ask whether
    the model knows it; nobody can read the words of a site that is gone.
    """
    return _respelled(content, HASHED, lambda word: b"%016x" % hash_word(word))


def with_spelling(content: bytes, words: Iterable[bytes]) -> bytes:
    """Make a file that fastText reads of a model with hashes for words, by spelling those of `words`
    that the model knows. Texts of these words score the same by both."""
    known = list(words)
    hashes = mix_all(np.array([fnv1a(word) for word in known], dtype=np.uint64)).tolist()
    spelled = {b"%016x" % value: word for value, word in zip(hashes, known, strict=True)}
    return _respelled(content, VERSIONS[-1], lambda word: spelled.get(word, word))


def is_hashed(path: Path) -> bool:
    """Whether the model of a file has hashes for words."""
    with open(path, "rb") as file:
        return file.read(8) == struct.pack("<ii", MAGIC, HASHED)


def _respelled(content: bytes, version: int, spell: Callable[[bytes], bytes]) -> bytes:
    """Copy a model's file under another version number, each word replaced by what `spell` gives."""
    reader = _Reader(content)
    magic, _ = reader.take("ii")
    reader.take("12id")
    _, n_words, n_labels = reader.take("iii")
    reader.take("qq")
    begin = reader.at
    words = reader.dictionary(n_words, n_labels)
    listed = []
    for i, count in enumerate(words.counts.tolist()):
        entry = words.entry(i)
        if i < n_words and entry != END_OF_LINE:
            entry = spell(entry)
        listed.append(entry + struct.pack("<xqb", count, i >= n_words))
    head = struct.pack("<ii", magic, version)
    return b"".join((head, content[len(head) : begin], *listed, content[reader.at :]))


def _none() -> Ints:
    return np.zeros(0, dtype=np.int32)


def _bucket_rows(reader: _Reader, n_kept: int, buckets: int, n_words: int) -> Ints:
    """Return the row of each bucket: that of the file, or where it was pruned, what is left."""
    if n_kept < 0:
        return np.arange(n_words, n_words + buckets, dtype=np.int32)
    kept = reader.array("<i4", 2 * n_kept).reshape(n_kept, 2)
    rows = np.full(buckets, -1, dtype=np.int32)
    rows[kept[:, 0]] = kept[:, 1] + n_words
    return rows


def kept_buckets(is_kept: npt.NDArray[np.bool_], first: int) -> Numbers:
    """For each 32 buckets their bits, and above these the row of the first one that is kept.

    Most n-grams have no row. This tells which have and where, and fits a cache.
    """
    bits = np.zeros((len(is_kept) + 31) // 32 * 32, dtype=np.bool_)
    bits[: len(is_kept)] = is_kept
    counts = bits.reshape(-1, 32).sum(axis=1)
    begins = (first + np.cumsum(counts) - counts).astype(np.uint64)
    packed = np.packbits(bits, bitorder="little").view("<u4").astype(np.uint64)
    kept: Numbers = packed | (begins << np.uint64(32))
    return kept


def _quantised(reader: _Reader, dim: int) -> Floats:
    """Return a product quantised matrix as float32: each code stands for a piece of a row."""
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


def _tree(counts: Offsets) -> tuple[Ints, Ints]:
    """Huffman's tree over labels that stand in order of falling count; the last node is its root."""
    n = len(counts)
    weight = [*counts.tolist(), *([10**15] * (n - 1))]
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


@byte_kernel
def fnv_step(value: np.uint32, byte: np.uint8) -> np.uint32:
    """Hash one more byte by FNV-1a over signed bytes, as fastText does."""
    wide = np.uint32(byte)
    if wide > np.uint32(127):
        wide |= np.uint32(0xFFFFFF00)
    return np.uint32((value ^ wide) * np.uint32(16777619))


def hash_word(word: bytes) -> int:
    """Hash a word as a model without spelling does: FNV-1a of 64 bits, mixed."""
    return int(mix_all(np.array([fnv1a(word)], dtype=np.uint64))[0])


@kernel
def _find_entries(raw: Bytes, at: int, starts: Offsets, counts: Offsets) -> int:
    """Lengths of all entries, summed up in `starts`; where the dictionary ends, or -1."""
    for entry in range(len(counts)):
        begin = at
        while at < len(raw) and raw[at] != 0:
            at += 1
        starts[entry + 1] = starts[entry] + at - begin
        if at + 1 + ENTRY_TAIL > len(raw):
            return -1
        value = np.int64(0)
        for place in range(8):
            value |= np.int64(raw[at + 1 + place]) << np.int64(8 * place)
        counts[entry] = value
        at += 1 + ENTRY_TAIL
    return at


@kernel
def _joined_words(raw: Bytes, at: int, starts: Offsets) -> Bytes:
    joined = np.empty(starts[-1], dtype=np.uint8)
    for entry in range(len(starts) - 1):
        for place in range(starts[entry], starts[entry + 1]):
            joined[place] = raw[at]
            at += 1
        at += 1 + ENTRY_TAIL
    return joined


@kernel
def _fill_hash_slots(hashes: Numbers, size: int) -> Ints:
    slots = np.full(size, -1, dtype=np.int32)
    mask = np.uint64(size - 1)
    for word in range(len(hashes)):
        slot = hashes[word] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = word
    return slots


@kernel
def _fill_slots(joined: Bytes, starts: Offsets, size: int) -> Ints:
    slots = np.full(size, -1, dtype=np.int32)
    mask = np.uint32(size - 1)
    for word in range(len(starts) - 1):
        value = np.uint32(2166136261)
        for place in range(starts[word], starts[word + 1]):
            value = fnv_step(value, joined[place])
        slot = value & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint32(1)) & mask
        slots[slot] = word
    return slots
