"""Are a version's shards what they claim? Tokens, index and spans, compared by numbers.

Memory follows a shard's spans and a block of its tokens, not the whole `.bin`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from catalog.db import ShardRow
from catalog.errors import StoreFileError
from catalog.figures import counted
from catalog.formats.store import FileStore
from catalog.formats.token_text import TokenBytes
from corpus_loader import LoaderError, Manifest
from corpus_loader.index import Index, numpy_type, parse_index

BLOCK_TOKENS = 1 << 22

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spans:
    """A shard's spans as arrays, ordered by place; `document` numbers the distinct ids."""

    start: Ints  # first token, counted from the beginning of the shard
    length: Ints
    document: Ints
    doc_offset: Ints
    documents: int


def check_shard(store: FileStore, shard: ShardRow, manifest: Manifest) -> Iterator[str]:
    """Yield everything wrong with one shard, a sentence each."""
    try:
        table = read_parquet(store, shard.spans_path)
        index = parse_index(store.read(shard.idx_path), shard.idx_path)
        size = store.size(shard.bin_path)
    except (StoreFileError, LoaderError) as error:
        yield str(error)
        return
    kind = numpy_type(manifest.dtype)
    if index.dtype != manifest.dtype:
        yield f"{shard.idx_path} says that tokens are {index.dtype}, the manifest {manifest.dtype}"
        return
    expected = shard.samples * manifest.seq_len * kind.itemsize
    if size != expected:
        yield f"{shard.bin_path} has {size} bytes, {shard.samples} samples need {expected}"
        return
    misplaced = _outside(table, shard.samples, manifest.seq_len)
    if misplaced:
        yield f"{misplaced} spans reach outside their sample or the shard"
        return
    spans = _ordered(table, manifest.seq_len)
    overlaps = int(np.sum(spans.start[1:] < spans.start[:-1] + spans.length[:-1]))
    if overlaps:
        yield f"{overlaps} spans overlap the one before them"
        return
    yield from _check_counts(shard, spans)
    yield from _check_pieces(spans)
    yield from _check_index(spans, index)
    yield from _check_tokens(store, shard, spans, manifest)


def read_parquet(store: FileStore, path: str) -> pa.Table:
    """Return a Parquet file of the store; damage becomes `StoreFileError`."""
    try:
        with store.open(path) as handle:
            return pq.read_table(handle)
    except pa.ArrowException as error:
        raise StoreFileError(f"{path} is not a readable Parquet file: {error}") from error


def _outside(table: pa.Table, samples: int, seq_len: int) -> int:
    sample, offset, length = (_numbers(table, name) for name in ("sample", "offset", "length"))
    wrong = (sample < 0) | (sample >= samples) | (offset < 0) | (length <= 0)
    return int(np.sum(wrong | (offset + length > seq_len)))


def _ordered(table: pa.Table, seq_len: int) -> Spans:
    start = _numbers(table, "sample") * seq_len + _numbers(table, "offset")
    order = np.argsort(start, kind="stable")
    encoded = table.column("doc_id").combine_chunks().dictionary_encode()
    number = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Spans(
        start[order],
        _numbers(table, "length")[order],
        number[order],
        _numbers(table, "doc_token_offset")[order],
        len(encoded.dictionary),
    )


def _check_counts(shard: ShardRow, spans: Spans) -> Iterator[str]:
    tokens = int(spans.length.sum())
    if tokens != shard.tokens:
        yield f"spans cover {tokens} tokens, {shard.tokens} are recorded"
    if spans.documents != shard.documents:
        yield f"spans name {counted(spans.documents, 'document')}, {shard.documents} are recorded"


def _check_pieces(spans: Spans) -> Iterator[str]:
    """Check that the pieces of a document, put together, are its tokens from the first on."""
    order = np.lexsort((spans.doc_offset, spans.document))
    document, offset = spans.document[order], spans.doc_offset[order]
    expected = np.zeros_like(offset)
    same = document[1:] == document[:-1]
    expected[1:][same] = (offset + spans.length[order])[:-1][same]
    broken = len(np.unique(document[offset != expected]))
    if broken:
        yield f"the pieces of {broken} documents leave a gap or repeat tokens"


def _check_index(spans: Spans, index: Index) -> Iterator[str]:
    if len(index.lengths) != len(spans.start):
        yield f"the index has {len(index.lengths)} sequences, the spans have {len(spans.start)}"
        return
    pointers = index.pointers.astype(np.int64)
    place = np.argsort(pointers, kind="stable")
    if not (
        np.array_equal(pointers[place], spans.start * numpy_type(index.dtype).itemsize)
        and np.array_equal(index.lengths[place], spans.length)
    ):
        yield "the index and the spans disagree"
        return
    bounds = index.documents.astype(np.int64)
    regular = len(bounds) > 0 and bounds[0] == 0 and bounds[-1] == len(pointers)
    if len(bounds) != spans.documents + 1 or not regular or bool(np.any(np.diff(bounds) < 1)):
        yield "the index's document bounds do not divide its sequences into the documents"
        return
    back = np.empty_like(place)
    back[place] = np.arange(len(place))
    document, offset = spans.document[back], spans.doc_offset[back]
    first = np.zeros(len(document), bool)
    first[bounds[:-1]] = True
    mixed = np.sum(document[1:][~first[1:]] != document[:-1][~first[1:]])
    if mixed or bool(np.any(offset[first] != 0)):
        yield "the index's document bounds do not fall where documents begin"


def _check_tokens(
    store: FileStore, shard: ShardRow, spans: Spans, manifest: Manifest
) -> Iterator[str]:
    ends = spans.start + spans.length
    last = np.full(spans.documents, -1, np.int64)
    furthest = np.lexsort((spans.doc_offset, spans.document))
    last[spans.document[furthest]] = ends[furthest] - 1  # later pieces overwrite earlier ones
    last.sort()
    unknown = unpadded = 0
    unclosed: list[Ints] = []
    with store.open(shard.bin_path) as handle:
        at = 0
        kind = numpy_type(manifest.dtype)
        while data := handle.read(BLOCK_TOKENS * kind.itemsize):
            tokens = np.frombuffer(data, kind)
            until = at + len(tokens)
            unknown += int(np.sum((tokens < 0) | (tokens >= manifest.tokenizer.vocab_size)))
            steps = np.zeros(len(tokens) + 1, np.int8)
            touched = slice(*np.searchsorted(spans.start, (at, until)))
            np.add.at(steps, spans.start[touched] - at, 1)
            closed = ends[(ends > at) & (ends <= until)]
            np.add.at(steps, closed - at, -1)
            before = int(np.searchsorted(spans.start, at) - np.sum(ends <= at))
            covered = np.cumsum(steps[:-1], dtype=np.int64) + before
            unpadded += int(np.sum(tokens[covered == 0] != manifest.tokenizer.pad_id))
            marks = last[slice(*np.searchsorted(last, (at, until)))]
            closing = tokens[marks - at].astype(np.int64)
            unclosed.append(closing[closing != manifest.tokenizer.eod_id])
            at = until
    if unknown:
        yield f"{unknown} tokens are outside the vocabulary of {manifest.tokenizer.vocab_size}"
    if unpadded:
        yield f"{unpadded} tokens belong to no document and are not padding"
    closing = np.concatenate(unclosed) if unclosed else np.empty(0, np.int64)
    if len(closing):  # files of a repository, all but the last, end with its separator
        names = TokenBytes(store.read(manifest.tokenizer.path).decode("utf-8"))
        closing = closing[closing != (-1 if names.file_separator is None else names.file_separator)]
    if endless := len(closing):
        yield f"{counted(endless, 'document')} do not end with the end-of-document token"


def _numbers(table: pa.Table, name: str) -> Ints:
    column: Any = table.column(name).to_numpy()
    return np.asarray(column, np.int64)
