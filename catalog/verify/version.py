"""Proof that a version is whole: every file re-hashed, every count re-counted.

That is all which a reader, a later build or a takedown would trust: shards, lineage and keys,
what `trusted.py` adds, and the order book. Cost: one read of every file of the version and of the artifacts it
was made from, plus the joins of `check_conservation`.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.answers import Shown
from catalog.db import KeyRow, LineageRow, Registry, ShardRow, VersionRow, load_manifest
from catalog.errors import CatalogError, StoreFileError
from catalog.figures import counted
from catalog.formats.order_book import FOLDER
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, require_present
from catalog.takedown import Trust, book_problems
from catalog.verify.conservation import SnapshotCounts, check_conservation, snapshot_counts
from catalog.verify.key_files import check_keys
from catalog.verify.shard_files import check_shard
from catalog.verify.trusted import Trusted
from corpus_loader.manifest import Manifest, ShardRef

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Problem:
    """Something that differs from what was recorded."""

    check: str
    subject: str
    problem: str


@dataclass(frozen=True)
class Verified:
    """What a check of a version found; it is whole where there is no problem."""

    version: str
    state: str
    ok: bool
    files: Annotated[int, Shown("files hashed")]
    shards: Annotated[int, Shown("shards checked")]
    snapshots: Annotated[Mapping[str, SnapshotCounts], Shown("snapshot")]
    problems: list[Problem]

    shows: ClassVar = ("version", "files", "shards", "snapshots", "problems")

    @property
    def conclusion(self) -> str:
        if self.ok:
            return "OK: all files and counts match what was recorded."
        return f"FAILED: {counted(len(self.problems), 'problem')}."


def verify(
    registry: Registry,
    store: FileStore,
    name: str,
    jobs: int = 4,
    progress: Progress | None = None,
) -> Verified:
    """Check a version."""
    tell = progress or (lambda *_: None)
    version = registry.version(name)
    require_present(registry, store, version)
    shards = registry.version_shards(name)
    lineage_files = registry.lineage_files(name)
    key_files = registry.key_files(name)
    problems: list[Problem] = []

    def found(check: str, subject: str, sentences: Iterator[str]) -> None:
        problems.extend(Problem(check, subject, sentence) for sentence in sentences)

    manifest: Manifest | None = None
    try:
        manifest = load_manifest(store, version)
        found("manifest", version.manifest_path, _check_manifest(manifest, version, shards))
    except CatalogError as error:
        found("manifest", version.manifest_path, iter([str(error)]))
    expected = _recorded_files(version, shards, lineage_files, key_files, manifest)
    trusted = Trusted(registry, store, version, lineage_files, key_files)
    for check, subject, problem in trusted.problems():
        found(check, subject, iter([problem]))
    found("order book", FOLDER, iter(book_problems(registry, store, Trust.given())))
    expected = list(dict.fromkeys([*expected, *trusted.files]))
    damaged = _check_hashes(store, expected, jobs, tell, found)
    damaged |= _check_rows(store, lineage_files, damaged, found)
    for path, problem in check_keys(store, key_files, lineage_files, damaged):
        found("keys", path, iter([problem]))
    found("shards", name, _check_registered(version, shards, lineage_files))
    for number, shard in enumerate(shards):
        tell("shards", number, len(shards))
        whole = not damaged & {shard.bin_path, shard.idx_path, shard.spans_path}
        if whole and manifest is not None:
            found("shards", shard.full_name, check_shard(store, shard, manifest))
    snapshots = sorted({row.snapshot for row in lineage_files} | {s.snapshot for s in shards})
    counts: dict[str, SnapshotCounts] = {}
    with Lineage(registry, store, name) as lineage:
        for number, snapshot in enumerate(snapshots):
            tell("conservation", number, len(snapshots))
            if damaged & {row.path for row in lineage_files if row.snapshot == snapshot}:
                unread = iter(["not counted, because files of its lineage are damaged"])
                found("conservation", snapshot, unread)
                continue
            try:
                counts[snapshot] = snapshot_counts(lineage, snapshot)
                found("conservation", snapshot, check_conservation(lineage, snapshot))
            except CatalogError as error:
                found("conservation", snapshot, iter([str(error)]))
    return Verified(
        version=name,
        state=version.state,
        ok=not problems,
        files=len(expected),
        shards=len(shards),
        snapshots=counts,
        problems=problems,
    )


def _recorded_files(
    version: VersionRow,
    shards: list[ShardRow],
    lineage: list[LineageRow],
    keys: list[KeyRow],
    manifest: Manifest | None,
) -> list[tuple[str, str]]:
    """Return every (path, SHA-256) that the version stands on, each once."""
    files = {(version.manifest_path, version.manifest_sha256): None}
    if manifest is not None:
        files[(manifest.tokenizer.path, manifest.tokenizer.sha256)] = None
    for shard in shards:
        files |= dict.fromkeys(shard.files)
    files |= dict.fromkeys((row.path, row.sha256) for row in lineage)
    files |= dict.fromkeys((row.path, row.sha256) for row in keys)
    return list(files)


def _check_hashes(
    store: FileStore,
    expected: list[tuple[str, str]],
    jobs: int,
    tell: Progress,
    found: Callable[[str, str, Iterator[str]], None],
) -> set[str]:
    def one(file: tuple[str, str]) -> str | None:
        path, sha256 = file
        try:
            present = store.sha256(path)
        except StoreFileError as error:
            return str(error)
        if present == sha256:
            return None
        return f"its bytes changed: SHA-256 is {present}, recorded was {sha256}"

    damaged = set()
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        for number, (file, problem) in enumerate(
            zip(expected, pool.map(one, expected), strict=True)
        ):
            tell("files", number, len(expected))
            if problem is not None:
                damaged.add(file[0])
                found("files", file[0], iter([problem]))
    return damaged


def _check_rows(
    store: FileStore,
    lineage: list[LineageRow],
    damaged: set[str],
    found: Callable[[str, str, Iterator[str]], None],
) -> set[str]:
    """Check row counts by the Parquet footers; return the files that are not Parquet at all."""
    unreadable = set()
    for row in lineage:
        if row.path in damaged:
            continue
        try:
            with store.open(row.path) as handle:
                rows = pq.read_metadata(handle).num_rows
        except pa.ArrowException as error:
            unreadable.add(row.path)
            found("files", row.path, iter([f"is not a Parquet file: {error}"]))
            continue
        if rows != row.rows:
            found("files", row.path, iter([f"has {counted(rows, 'row')}, {row.rows} are recorded"]))
    return unreadable


def _check_manifest(
    manifest: Manifest, version: VersionRow, shards: list[ShardRow]
) -> Iterator[str]:
    for what, written, recorded in (
        ("version", manifest.version, version.name),
        ("lock", manifest.lock_digest, version.lock_digest),
        ("recipe", manifest.recipe.digest, version.recipe_digest),
    ):
        if written != recorded:
            yield f"names {what} {written}, the registry {recorded}"
    listed = {
        f"{group.id}/{shard.name}": _identity(shard)
        for group in manifest.groups
        for shard in group.shards
    }
    recorded_shards = {
        row.full_name: (*row.files, row.samples, row.tokens, row.documents) for row in shards
    }
    for name in sorted(listed.keys() ^ recorded_shards.keys()):
        where = "only in the manifest" if name in listed else "only in the registry"
        yield f"shard {name} is {where}"
    for name in sorted(listed.keys() & recorded_shards.keys()):
        if listed[name] != recorded_shards[name]:
            yield f"describes shard {name} differently from the registry"


def _check_registered(
    version: VersionRow, shards: list[ShardRow], lineage: list[LineageRow]
) -> Iterator[str]:
    for what in ("documents", "tokens", "samples"):
        total = sum(getattr(shard, what) for shard in shards)
        if total != getattr(version, what):
            yield f"its shards hold {total} {what}, the version records {getattr(version, what)}"
    spans = {(row.shard, row.path, row.sha256) for row in lineage if row.table_name == "spans"}
    held = {(shard.full_name, shard.spans_path, shard.spans_sha256) for shard in shards}
    for name in sorted({str(item[0]) for item in spans ^ held}):
        yield f"the spans of {name} are registered differently as shard file and as lineage"


def _identity(shard: ShardRef) -> tuple[Any, ...]:
    files = [(file.path, file.sha256) for file in (shard.bin, shard.idx, shard.spans, shard.header)]
    return (*files, shard.samples, shard.tokens, shard.documents)
