"""Read shards: memory-mapped samples, their spans, where documents begin and end."""

import hashlib
import mmap
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.formats import shards as shard_index
from catalog.formats.manifest import Manifest, ShardRef
from corpus_assets.core.errors import CorruptArtifact, ShardError
from corpus_assets.core.schemas import SPANS
from corpus_assets.shards.format import (
    FileInfo,
    ShardHeader,
    parse_header,
)
from corpus_assets.shards.kernels.samples import gather_rows, mark_segments

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


# The shards of a run as mapped files: opened when needed, few at a time, safe from any thread.
#
# A mapping holds a file open, so only `most` are kept. What is mapped is one table that is never
# changed, only replaced: a reader holds its table, whose mappings stay until the last
# reader is done, even when another thread has pushed a shard out meanwhile.

Ints = npt.NDArray[np.int64]
Opener = Callable[[str], Path]
"""Gives the local file for a path of the store, fetching it if need be."""


@dataclass(frozen=True, slots=True)
class _Table:
    addresses: npt.NDArray[np.uint64]  # first token of each shard; 0 where it is not mapped
    mapped: dict[int, Tokens]


class MappedShards:
    """All shards of a manifest in the order of its groups; number n is `refs[n]`."""

    def __init__(self, manifest: Manifest, store: Path | Opener, most: int) -> None:
        self.refs: tuple[ShardRef, ...] = tuple(s for g in manifest.groups for s in g.shards)
        self.most = max(1, most)
        self._groups = tuple(group.id for group in manifest.groups for _ in group.shards)
        self._tokenizer_sha256 = manifest.tokenizer.sha256
        self._seq_len = manifest.seq_len
        self._dtype = manifest.dtype
        self._store = store
        self._start()

    def _start(self) -> None:
        self._known: dict[int, Shard] = {}
        self._table = _Table(np.zeros(len(self.refs), np.uint64), {})
        self._last_used = np.zeros(len(self.refs), np.int64)
        self._uses = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave open files out of the copy for a worker process."""
        own = ("_known", "_table", "_last_used", "_uses", "_lock")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    @property
    def mapped(self) -> tuple[int, ...]:
        """Shards that are mapped now."""
        return tuple(self._table.mapped)

    def gather(self, shards: Ints, samples: Ints, out: npt.NDArray[np.int32]) -> None:
        """Copy sample `samples[k]` of shard `shards[k]` to `out[k]`; the rest of the cost is a
        few microseconds, more where a shard is reached for the first time."""
        if self._dtype == "int32":
            self._gather(shards, samples, out)
            return
        narrow = np.empty(out.shape, shard_index.numpy_type(self._dtype))
        self._gather(shards, samples, narrow)
        out[...] = narrow

    def _gather(self, shards: Ints, samples: Ints, out: Tokens) -> None:
        table = self._table
        self._uses += 1
        self._last_used[shards] = self._uses
        if table.addresses[shards].all():
            gather_rows(table.addresses, shards, samples, np.arange(len(shards)), out)
            return
        wanted = np.unique(shards)
        for first in range(0, len(wanted), self.most):
            some = wanted[first : first + self.most]
            table = self._map(some.tolist())
            rows = np.flatnonzero(np.isin(shards, some))
            gather_rows(table.addresses, shards[rows], samples[rows], rows, out)

    def view(self, number: int) -> Tokens:
        """Return a shard's samples, [samples, seq_len]: a read-only view of the mapped file, in the
        type of its tokens."""
        self._uses += 1
        self._last_used[number] = self._uses
        found = self._table.mapped.get(number)
        return self._map([number]).mapped[number] if found is None else found

    def advise(self, shards: Ints, samples: Ints) -> None:
        """Ask the kernel to read these samples before they are needed; mapped shards only."""
        mapped = self._table.mapped
        for number, sample in zip(shards.tolist(), samples.tolist(), strict=True):
            shard = self._known.get(number) if number in mapped else None
            if shard is not None:
                shard.will_need(sample)

    def shard(self, number: int) -> Shard:
        """Shard `refs[number]`, opened and checked against the manifest on first use."""
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._open(number)
        return found

    def check(
        self, numbers: Iterable[int] | None = None, hashes: bool = False, jobs: int = 8
    ) -> None:
        """Open some shards, or all, and with `hashes` read them whole; the first fault is raised.

        Opening reads a header and looks at sizes and heads of four files: some 100 microseconds a
        shard on a local disk. Hashing reads every byte.
        """

        def one(number: int) -> None:
            shard = self._known.get(number) or self._open(number)  # headers add up: none is kept
            if hashes:
                shard.verify()

        with ThreadPoolExecutor(max_workers=jobs) as pool:
            for _ in pool.map(one, range(len(self.refs)) if numbers is None else numbers):
                pass

    def close(self) -> None:
        """Let go of all files; views handed out stay valid."""
        with self._lock:
            for shard in self._known.values():
                shard.close()
            self._table = _Table(np.zeros(len(self.refs), np.uint64), {})

    def _open(self, number: int) -> Shard:
        ref = self.refs[number]
        paths = ShardPaths(
            *(self._local(file.path) for file in (ref.bin, ref.idx, ref.spans, ref.header))
        )
        shard = Shard.open(
            paths,
            header_sha256=ref.header.sha256,
            tokenizer_sha256=self._tokenizer_sha256,
            seq_len=self._seq_len,
        )
        if shard.header.dtype != self._dtype:
            raise ShardError(
                f"{paths.header.name} has {shard.header.dtype} tokens, the manifest says "
                f"{self._dtype}; use the manifest the shard belongs to"
            )
        if (len(shard), shard.header.group) != (ref.samples, self._groups[number]):
            raise ShardError(
                f"{paths.header.name} has {len(shard)} samples of group {shard.header.group}, the "
                f"manifest says {ref.samples} of {self._groups[number]}; use the manifest the "
                "shard belongs to"
            )
        return shard

    def _local(self, path: str) -> Path:
        return self._store / path if isinstance(self._store, Path) else self._store(path)

    def _map(self, wanted: Sequence[int]) -> _Table:
        """Map all of `wanted`, at most `most` shards in all; others go, the unused first."""
        with self._lock:
            mapped = dict(self._table.mapped)
            addresses = self._table.addresses.copy()
            missing = [number for number in wanted if number not in mapped]
            spare = [number for number in mapped if number not in set(wanted)]
            spare.sort(key=lambda number: (self._last_used[number], number))
            for number in spare[: max(0, len(mapped) + len(missing) - self.most)]:
                del mapped[number]
                addresses[number] = 0
                self._known.pop(number).close()
            for number in missing:
                mapped[number] = self.shard(number).samples
                addresses[number] = mapped[number].ctypes.data
            self._table = _Table(addresses, mapped)
            return self._table
