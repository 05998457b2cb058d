"""Read shards: memory-mapped samples, their spans, where documents begin and end."""

import hashlib
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import CorruptArtifact, ShardError
from corpus_assets.core.schemas import SPANS
from corpus_assets.shards.format import FileInfo, ShardHeader, parse_header
from corpus_assets.shards.kernels.samples import mark_segments
from corpus_loader import index as shard_index

Tokens = npt.NDArray[np.int32] | npt.NDArray[np.uint16]

PADDING = -1
"""Segment id of padding."""


class Span(NamedTuple):
    """A run of one document's tokens inside a sample."""

    sample: int
    offset: int
    length: int
    doc_id: bytes
    doc_token_offset: int


@dataclass(frozen=True, slots=True)
class Segments:
    """Document boundaries of one sample or of a batch of samples.

    `ids` has the shape of the tokens: 0, 1, 2 ... for the documents of each sample, `PADDING` for
    padding. `cu_seqlens` are the boundaries in the flattened tokens, from 0 to their number, as
    variable-length attention takes them; padding is a segment of its own there, and
    `is_padding[k]` says that segment k is one. No segment crosses from one sample to the next.
    """

    ids: npt.NDArray[np.int32]
    cu_seqlens: npt.NDArray[np.int32]
    is_padding: npt.NDArray[np.bool_]

    @property
    def max_seqlen(self) -> int:
        """Tokens of the longest segment, which variable-length attention asks for too."""
        return int(np.diff(self.cu_seqlens).max(initial=0))


@dataclass(frozen=True, slots=True)
class ShardPaths:
    """Where the files of a shard lie on this machine."""

    bin: Path
    idx: Path
    spans: Path
    header: Path


def segments_of(tokens: Tokens, eod_id: int, pad_id: int) -> Segments:
    """Document boundaries from the tokens alone: [seq_len] or [samples, seq_len].

    Sound because the end-of-document id is at the end of every document and nowhere else,
    and the padding id in no document. One pass over the tokens, no file is read.
    """
    rows = np.ascontiguousarray(np.atleast_2d(tokens), dtype=np.int32)
    ids, firsts, is_padding = mark_segments(rows, eod_id, pad_id, PADDING)
    return Segments(ids=ids.reshape(tokens.shape), cu_seqlens=firsts, is_padding=is_padding)


class Shard:
    """An open shard. Samples are views into the mapped file: nothing is copied.

    Sizes and heads of all files are checked at opening, contents by `verify`.
    """

    def __init__(self, paths: ShardPaths, header: ShardHeader) -> None:
        self.paths = paths
        self.header = header
        self._samples: Tokens | None = None
        self._file: mmap.mmap | None = None
        self._spans: pa.Table | None = None
        self._first_span: npt.NDArray[np.int64] | None = None

    @classmethod
    def open(
        cls,
        paths: ShardPaths,
        *,
        header_sha256: str | None = None,
        tokenizer_sha256: str | None = None,
        seq_len: int | None = None,
    ) -> "Shard":
        """Open after checking the files against their header and against what is expected."""
        content = _read(paths.header)
        if header_sha256 is not None and hashlib.sha256(content).hexdigest() != header_sha256:
            raise ShardError(
                f"{paths.header.name} is not the header that the manifest names; "
                "fetch the shard again or use the manifest it belongs to"
            )
        header = parse_header(content, paths.header.name)
        if tokenizer_sha256 is not None and header.tokenizer_sha256 != tokenizer_sha256:
            raise ShardError(
                f"{paths.header.name} was made with tokenizer {header.tokenizer_sha256}, "
                f"expected {tokenizer_sha256}; use the manifest the shard belongs to"
            )
        if seq_len is not None and header.seq_len != seq_len:
            raise ShardError(
                f"{paths.header.name} has samples of {header.seq_len} tokens, expected {seq_len}; "
                "use the manifest the shard belongs to"
            )
        for path, info in (
            (paths.bin, header.bin),
            (paths.idx, header.idx),
            (paths.spans, header.spans),
        ):
            _check_size(path, info.bytes)
        if header.bin.bytes != header.samples * row_bytes(header):
            raise ShardError(
                f"{paths.header.name} claims {header.samples} samples, "
                f"which {paths.bin.name} cannot hold; rebuild the shard"
            )
        _check_idx(paths.idx, header)
        _check_parquet(paths.spans)
        return cls(paths, header)

    def __len__(self) -> int:
        return self.header.samples

    @property
    def samples(self) -> Tokens:
        """All samples, [samples, seq_len] in the shard's type, mapped read-only on first use."""
        if self._samples is None:
            self._samples, self._file = _map(self.paths.bin, self.header)
        return self._samples

    def will_need(self, number: int) -> None:
        """Ask the kernel to read a sample before it is used; nothing where it is not mapped."""
        file, size = self._file, row_bytes(self.header)
        if file is None:
            return
        start = number * size // mmap.PAGESIZE * mmap.PAGESIZE
        file.madvise(mmap.MADV_WILLNEED, start, (number + 1) * size - start)

    def sample(self, number: int) -> Tokens:
        """Tokens of one sample: a read-only view."""
        view: Tokens = self.samples[self._checked(number)]
        return view

    def segments(self, number: int) -> Segments:
        """Document boundaries of one sample."""
        return segments_of(self.sample(number), self.header.eod_id, self.header.pad_id)

    def spans(self, number: int) -> list[Span]:
        """Whose tokens a sample holds, from left to right."""
        self._checked(number)
        table = self.spans_table()
        if self._first_span is None:
            column = table.column("sample").to_numpy()
            self._first_span = np.searchsorted(column, np.arange(len(self) + 1))
        start, end = self._first_span[number], self._first_span[number + 1]
        rows = table.slice(start, end - start)
        return [Span(*row) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]

    def spans_table(self) -> pa.Table:
        """Return all spans, sorted by sample and offset; read once."""
        if self._spans is None:
            try:
                self._spans = pq.read_table(self.paths.spans, schema=SPANS)
            except (OSError, pa.ArrowException) as error:
                raise ShardError(
                    f"{self.paths.spans.name} cannot be read ({error}); fetch the shard again"
                ) from error
        return self._spans

    def verify(self) -> None:
        """Hash every file again; raises CorruptArtifact that names the first that differs."""
        for path, info in (
            (self.paths.bin, self.header.bin),
            (self.paths.idx, self.header.idx),
            (self.paths.spans, self.header.spans),
        ):
            _check_hash(path, info)

    def close(self) -> None:
        """Let go of the mapping; views handed out keep it alive until they are gone."""
        self._samples = None
        self._file = None
        self._spans = None
        self._first_span = None

    def _checked(self, number: int) -> int:
        if not 0 <= number < len(self):
            raise ShardError(f"{self.paths.bin.name} has samples 0..{len(self) - 1}, not {number}")
        return number


def row_bytes(header: ShardHeader) -> int:
    """Return the bytes of a sample."""
    return header.seq_len * shard_index.numpy_type(header.dtype).itemsize


def _map(path: Path, header: ShardHeader) -> tuple[Tokens, mmap.mmap | None]:
    shape, kind = (header.samples, header.seq_len), shard_index.numpy_type(header.dtype)
    if header.samples == 0:
        return np.empty(shape, dtype=kind), None
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), header.bin.bytes, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ShardError(
            f"{path.name} cannot be mapped ({error}); fetch the shard again"
        ) from error
    return np.frombuffer(mapped, dtype=kind).reshape(shape), mapped


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ShardError(
            f"{path.name} cannot be read ({error.strerror}); fetch the shard again"
        ) from error


def _check_size(path: Path, expected: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ShardError(
            f"{path.name} is missing ({error.strerror}); fetch the shard again"
        ) from error
    if size != expected:
        fault = "truncated" if size < expected else "too long"
        raise ShardError(
            f"{path.name} is {fault}: {size} bytes, its header says {expected}; "
            "fetch the shard again"
        )


def _check_idx(path: Path, header: ShardHeader) -> None:
    with path.open("rb") as file:
        head = file.read(shard_index.HEAD.size)
    if len(head) < shard_index.HEAD.size or not head.startswith(shard_index.MAGIC):
        raise ShardError(f"{path.name} does not begin with MMIDIDX; fetch the shard again")
    _, version, code, sequences, documents = shard_index.HEAD.unpack(head)
    expected = (shard_index.VERSION, shard_index.CODES[header.dtype])
    if (version, code) != expected or documents != header.documents + 1:
        raise ShardError(
            f"{path.name} does not fit its header: version {version}, type {code}, "
            f"documents: {documents - 1}; rebuild the shard"
        )
    if header.idx.bytes != shard_index.HEAD.size + 12 * sequences + 8 * documents:
        raise ShardError(
            f"{path.name} has the wrong size for {sequences} pieces; rebuild the shard"
        )


def _check_parquet(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4))
        tail = file.read(4)
    if head != b"PAR1" or tail != b"PAR1":
        raise ShardError(f"{path.name} is not a Parquet file; fetch the shard again")


def _check_hash(path: Path, info: FileInfo) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ShardError(
            f"{path.name} cannot be read ({error.strerror}); fetch the shard again"
        ) from error
    if found != info.sha256:
        raise CorruptArtifact(
            f"{path.name} has hash {found}, its header says {info.sha256}; fetch the shard again"
        )
