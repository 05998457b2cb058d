"""Open shards: memory-mapped samples, and whose tokens they are."""

import hashlib
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_loader import index
from corpus_loader.errors import LoaderError
from corpus_loader.header import FileInfo, ShardHeader
from corpus_loader.segments import Segments, segments_of

Tokens = npt.NDArray[np.int32] | npt.NDArray[np.uint16]


class Span(NamedTuple):
    """A run of one document's tokens inside a sample."""

    sample: int
    offset: int
    length: int
    doc_id: bytes
    doc_token_offset: int


@dataclass(frozen=True, slots=True)
class ShardPaths:
    """Where the files of a shard lie on this machine."""

    bin: Path
    idx: Path
    spans: Path
    header: Path


class Shard:
    """An open shard. Samples are views into the mapped file: nothing is copied.

    Sizes and heads of all files are checked at opening, contents by `verify`.
    """

    def __init__(self, paths: ShardPaths, header: ShardHeader) -> None:
        self.paths = paths
        self.header = header
        self._samples: Tokens | None = None
        self._file: mmap.mmap | None = None
        self._spans: Any | None = None
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
            raise LoaderError(
                f"{paths.header.name} is not the header that the manifest names; "
                "fetch the shard again or use the manifest it belongs to"
            )
        header = ShardHeader.parse(content, paths.header.name)
        if tokenizer_sha256 is not None and header.tokenizer_sha256 != tokenizer_sha256:
            raise LoaderError(
                f"{paths.header.name} was made with tokenizer {header.tokenizer_sha256}, "
                f"expected {tokenizer_sha256}; use the manifest the shard belongs to"
            )
        if seq_len is not None and header.seq_len != seq_len:
            raise LoaderError(
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
            raise LoaderError(
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

    def spans_table(self) -> Any:
        """Return all spans as an Arrow table, sorted by sample and offset; read once."""
        if self._spans is None:
            self._spans = _read_spans(self.paths.spans)
        return self._spans

    def verify(self) -> None:
        """Hash every file again; the first that differs is raised."""
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
            raise LoaderError(f"{self.paths.bin.name} has samples 0..{len(self) - 1}, not {number}")
        return number


def row_bytes(header: ShardHeader) -> int:
    """Return the bytes of a sample."""
    return header.seq_len * index.numpy_type(header.dtype).itemsize


def _read_spans(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise LoaderError(
            "spans are Parquet files, and pyarrow is not installed: pip install "
            "'corpus-loader[spans]'"
        ) from error
    try:
        # Not `read_table`, which takes LABEL=VALUE in a path for columns.
        with pq.ParquetFile(path) as file:
            return file.read(columns=list(Span._fields))
    except (OSError, pa.ArrowException) as error:
        raise LoaderError(f"{path.name} cannot be read ({error}); fetch the shard again") from error


def _map(path: Path, header: ShardHeader) -> tuple[Tokens, mmap.mmap | None]:
    shape, kind = (header.samples, header.seq_len), index.numpy_type(header.dtype)
    if header.samples == 0:
        return np.empty(shape, dtype=kind), None
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), header.bin.bytes, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise LoaderError(
            f"{path.name} cannot be mapped ({error}); fetch the shard again"
        ) from error
    return np.frombuffer(mapped, dtype=kind).reshape(shape), mapped


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LoaderError(
            f"{path.name} cannot be read ({error.strerror}); fetch the shard again"
        ) from error


def _check_size(path: Path, expected: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise LoaderError(
            f"{path.name} is missing ({error.strerror}); fetch the shard again"
        ) from error
    if size != expected:
        fault = "truncated" if size < expected else "too long"
        raise LoaderError(
            f"{path.name} is {fault}: {size} bytes, its header says {expected}; "
            "fetch the shard again"
        )


def _check_idx(path: Path, header: ShardHeader) -> None:
    with path.open("rb") as file:
        head = file.read(index.HEAD.size)
    if len(head) < index.HEAD.size or not head.startswith(index.MAGIC):
        raise LoaderError(f"{path.name} does not begin with MMIDIDX; fetch the shard again")
    _, version, code, sequences, documents = index.HEAD.unpack(head)
    expected = (index.VERSION, index.CODES[header.dtype])
    if (version, code) != expected or documents != header.documents + 1:
        raise LoaderError(
            f"{path.name} does not fit its header: version {version}, type {code}, "
            f"documents: {documents - 1}; rebuild the shard"
        )
    if header.idx.bytes != index.HEAD.size + 12 * sequences + 8 * documents:
        raise LoaderError(
            f"{path.name} has the wrong size for {sequences} pieces; rebuild the shard"
        )


def _check_parquet(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4))
        tail = file.read(4)
    if head != b"PAR1" or tail != b"PAR1":
        raise LoaderError(f"{path.name} is not a Parquet file; fetch the shard again")


def _check_hash(path: Path, info: FileInfo) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LoaderError(
            f"{path.name} cannot be read ({error.strerror}); fetch the shard again"
        ) from error
    if found != info.sha256:
        raise LoaderError(
            f"{path.name} has hash {found}, its header says {info.sha256}; fetch the shard again"
        )
