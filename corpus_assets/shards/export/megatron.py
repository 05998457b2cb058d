"""Megatron-LM: one `corpus.bin` with one `corpus.idx`.

Sequence i, which is document i too, is sample i without its padding: the index passes over the
padding in the `.bin`, where samples lie end to end at full length. That gives every part its place
in advance, so parts are written at once into one file.

    corpus.idx    offset 0   9 bytes   MMIDIDX and two zeros
                         9   uint64    version: 1
                        17   uint8     type of tokens: 4 (int32) or 8 (uint16)
                        18   uint64    number of sequences S
                        26   uint64    number of documents, and one: S + 1
                        34   int32[S]  tokens of each sequence
                             int64[S]  byte offset of each sequence
                             int64[S + 1]  first sequence of each document
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from corpus_assets.shards.export.files import PARTS, FileEntry, HashedFile, PartRecord, hash_file
from corpus_assets.shards.export.layout import packed_tokens
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk
from corpus_loader import index as shard_index

BIN, IDX = "corpus.bin", "corpus.idx"


class Megatron:
    takes_lineage = False

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "MegatronPart":
        return MegatronPart(folder, plan, number)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        os.truncate(folder / BIN, plan.samples * plan.row_bytes)
        with HashedFile(folder, IDX) as index:
            index.write(
                shard_index.HEAD.pack(
                    shard_index.MAGIC,
                    shard_index.VERSION,
                    shard_index.CODES[plan.dtype],
                    plan.samples,
                    plan.samples + 1,
                )
            )
            for part in parts:
                index.write((folder / PARTS / _lengths(part.number)).read_bytes())
            for rows in _stretches(plan.samples):
                index.write((rows * plan.row_bytes).astype("<i8"))
            for rows in _stretches(plan.samples + 1):
                index.write(rows.astype("<i8"))
            return [hash_file(folder, BIN), index.finish()]


class MegatronPart:
    """A stretch of the `.bin`, and the lengths of its sequences until the index is written."""

    def __init__(self, folder: Path, plan: ExportPlan, number: int) -> None:
        self._plan = plan
        self._bin: int | None = os.open(folder / BIN, os.O_WRONLY | os.O_CREAT, 0o644)
        self._lengths = HashedFile(folder / PARTS, _lengths(number))

    def add(self, chunk: Chunk) -> None:
        data = packed_tokens(chunk, self._plan).data.cast("B")
        at = chunk.first * self._plan.row_bytes
        while data and self._bin is not None:
            written = os.pwrite(self._bin, data, at)
            data, at = data[written:], at + written
        self._lengths.write(chunk.filled.astype("<i4"))

    def finish(self) -> list[FileEntry]:
        if self._bin is not None:
            os.fsync(self._bin)
        self._lengths.finish()
        self.abandon()
        return []

    def abandon(self) -> None:
        if self._bin is not None:
            os.close(self._bin)
            self._bin = None
        self._lengths.__exit__(None, None, None)


def _lengths(number: int) -> str:
    return f"{number:06d}.lengths"


def _stretches(count: int) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    for first in range(0, count, 1 << 20):
        yield np.arange(first, min(first + (1 << 20), count), dtype=np.int64)
