"""Write an export of a version: parts in any order and at once, the same bytes for any workers."""

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from catalog.db import Registry
from catalog.figures import counted, size
from catalog.takedown import expect_book
from corpus_assets.core.errors import ShardError, StoreError
from corpus_assets.core.home import Home
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.store import LocalStore, open_store, read_checked
from corpus_assets.shards.export.datatrove import Datatrove
from corpus_assets.shards.export.files import (
    EXPORT,
    ExportFolder,
    FileEntry,
    HashedFile,
    PartRecord,
    explained,
    write_file,
)
from corpus_assets.shards.export.hf_parquet import HfParquet
from corpus_assets.shards.export.layout import ExportLayout
from corpus_assets.shards.export.mds import Mds
from corpus_assets.shards.export.megatron import Megatron
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import LINEAGE, FlatSpans, RunStream
from corpus_loader import Manifest
from corpus_loader.mapped_shards import Opener


@dataclass(frozen=True)
class Export:
    """What `export.json` holds: the plan (`ExportPlan`), and what was written by it."""

    format: str
    tool_version: str
    layout: str
    version: str
    manifest_sha256: str
    tokenizer_sha256: str
    vocab_size: int
    eod_id: int
    pad_id: int
    seq_len: int
    dtype: str
    phase: str | None
    order: str
    passes: list[dict[str, int]]
    file_samples: int
    has_lineage: bool
    samples: int
    tokens: int
    padding: int
    groups: dict[str, int]
    files: list[dict[str, Any]]

    @property
    def bytes(self) -> int:
        return sum(file["bytes"] for file in self.files)


@dataclass(frozen=True, kw_only=True)
class WrittenExport(Export):
    """An export, and the folder that it is in."""

    out: str

    def __str__(self) -> str:
        seeds = ", ".join(str(one["seed"]) for one in self.passes)
        return (
            f"exported {self.version} to {self.out}: {self.samples:,} samples of {self.seq_len} "
            f"tokens, {self.tokens:,} without padding, {size(self.bytes)} in "
            f"{counted(len(self.files), 'file')}\n"
            f"sample i is sample {self.passes[0]['first']} + i of the run, seed {seeds}\n"
            "takedowns do not change it (`catalog copies` lists it): "
            f"run `corpus check-export {self.out}` after one"
        )


@dataclass(frozen=True)
class Source:
    manifest: Manifest
    manifest_bytes: bytes
    manifest_sha256: str
    tokenizer: bytes
    store: Path | Opener
    version: str
    is_candidate: bool  # not released: it was asked for by its name


def open_version(home: Home, name: str) -> Source:
    """Open a live version's manifest and tokenizer, both checked against their digests."""
    registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
    store = open_store(home.store_url)
    expect_book(registry, store)
    row = registry.version(name)
    if row.status != "live":
        instead = f"; export {row.superseded_by} instead" if row.superseded_by else ""
        raise ShardError(f"version {name} is {row.status}, a takedown has replaced it{instead}")
    content = read_checked(store, row.manifest_path, row.manifest_sha256)
    manifest = Manifest.parse(content, row.manifest_path)
    tokenizer = read_checked(store, manifest.tokenizer.path, manifest.tokenizer.sha256)
    place: Path | Opener = store.root if isinstance(store, LocalStore) else store.local
    is_candidate = row.state == "candidate"
    return Source(manifest, content, row.manifest_sha256, tokenizer, place, row.name, is_candidate)


Progress = Callable[[int, int], None]
"""Told (parts that are whole, parts in all)."""


class Stopped(Exception):
    """Another part failed or the person asked to stop."""


def export_version(
    manifest: Manifest,
    manifest_bytes: bytes,
    store: Path | Opener,
    plan: ExportPlan,
    out: Path,
    *,
    tokenizer: bytes | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Export:
    """Write the export to the folder `out`, which must not be there; gives its `export.json`.

    Memory follows the workers (some ten megabytes each), not the corpus. Threads are enough:
    gathering, hashing, compressing and writing all let other threads run.
    """
    stream = RunStream(manifest, store, plan)
    layout = layout_of(plan, manifest)
    with ExportFolder(out, plan).claimed() as folder:
        done = folder.finished()
        _check_room(folder, plan, len(done))
        stream.verify_source()
        spans = FlatSpans.build(stream.loader, folder.parts) if plan.has_lineage else None
        _write_parts(folder, stream, layout, spans, done, workers, progress or (lambda *_: None))
        parts = [done[number] for number in range(plan.parts)]
        files = [file for part in parts for file in part.files]
        files += layout.finish(folder.path, plan, parts)
        files.append(write_file(folder.path, "manifest.json", manifest_bytes))
        if tokenizer is not None:
            files.append(write_file(folder.path, "tokenizer.json", tokenizer))
        made = describe(plan, parts, files)
        write_file(folder.path, EXPORT, canonical_json(asdict(made)) + b"\n")
        folder.publish()
    return made


def layout_of(plan: ExportPlan, manifest: Manifest) -> ExportLayout:
    if plan.layout == "hf-parquet":
        return HfParquet(manifest)
    plain: dict[str, ExportLayout] = {
        "megatron": Megatron(),
        "datatrove": Datatrove(),
        "mds": Mds(),
    }
    return plain[plan.layout]


def describe(plan: ExportPlan, parts: list[PartRecord], files: list[FileEntry]) -> Export:
    """Make the content of `export.json`."""
    groups: dict[str, int] = {}
    for part in parts:
        for group, samples in part.groups.items():
            groups[group] = groups.get(group, 0) + samples
    tokens = sum(part.tokens for part in parts)
    return Export(
        **plan.model_dump(mode="json"),
        samples=plan.samples,
        tokens=tokens,
        padding=plan.samples * plan.seq_len - tokens,
        groups=dict(sorted(groups.items())),
        files=[file.model_dump() for file in sorted(files, key=lambda file: file.name)],
    )


def _write_parts(
    folder: ExportFolder,
    stream: RunStream,
    layout: ExportLayout,
    spans: FlatSpans | None,
    done: dict[int, PartRecord],
    workers: int,
    progress: Progress,
) -> None:
    """Fill `done` with every part that is missing."""
    stop = threading.Event()
    lock = threading.Lock()

    def one(number: int) -> None:
        record = _write_part(folder, stream, layout, spans, number, stop)
        folder.record(record)
        with lock:
            done[number] = record
            progress(len(done), stream.plan.parts)

    missing = [number for number in range(stream.plan.parts) if number not in done]
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        futures = [pool.submit(one, number) for number in missing]
        try:
            finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = [future for future in finished if future.exception() is not None]
            for future in failed:
                future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _write_part(
    folder: ExportFolder,
    stream: RunStream,
    layout: ExportLayout,
    spans: FlatSpans | None,
    number: int,
    stop: threading.Event,
) -> PartRecord:
    plan = stream.plan
    first, end = plan.part_range(number)
    beside = plan.has_lineage and not layout.takes_lineage
    counts = np.zeros(len(stream.loader.groups), dtype=np.int64)
    tokens = 0
    with explained(folder.path):
        writer = layout.open_part(folder.path, plan, number)
        lineage = HashedFile(folder.path, f"lineage/part-{number:05d}.parquet") if beside else None
        table = pq.ParquetWriter(lineage, LINEAGE, compression="zstd") if beside else None
        try:
            for chunk in stream.chunks(first, end, spans):
                if stop.is_set():
                    raise Stopped
                writer.add(chunk)
                counts += np.bincount(chunk.groups, minlength=len(counts))
                tokens += int(chunk.filled.sum())
                if table is not None and chunk.spans is not None:
                    table.write_table(chunk.spans.table(chunk.first))
            files = writer.finish()
            if table is not None and lineage is not None:
                table.close()
                files.append(lineage.finish())
        finally:
            writer.abandon()
            if lineage is not None:
                lineage.__exit__(None, None, None)
    names = (group.id for group in stream.loader.groups)
    return PartRecord(
        number=number,
        samples=end - first,
        tokens=tokens,
        groups={name: int(n) for name, n in zip(names, counts, strict=True) if n},
        files=tuple(files),
    )


def _check_room(folder: ExportFolder, plan: ExportPlan, done: int) -> None:
    """Refuse before hours of writing what the disk cannot hold; Parquet may turn out smaller."""
    needed = (plan.parts - done) * plan.file_samples * plan.row_bytes
    needed = min(needed, plan.samples * plan.row_bytes)
    share = 0.4 if plan.layout == "hf-parquet" else 1.0
    free = shutil.disk_usage(folder.path).free
    if needed * share > free:
        raise StoreError(
            f"the export needs about {needed / 2**30:.1f} GiB, {folder.path.parent} has "
            f"{free / 2**30:.1f} GiB; choose another --out or export fewer --tokens"
        )
