"""The shards of a run as mapped files: opened when needed, few at a time, safe from any thread.

A mapping holds a file open, so only `most` are kept. What is mapped is one table that is never
changed, only replaced: a reader holds its table, whose mappings stay until the last
reader is done, even when another thread has pushed a shard out meanwhile.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from catalog.formats.manifest import Manifest, ShardRef
from corpus_assets.core.errors import ShardError
from corpus_assets.shards.kernels.samples import gather_rows
from corpus_assets.shards.reader import Shard, ShardPaths, Tokens
from corpus_loader import index as shard_index

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
