"""Check whether an export is whole, and what of it was taken down since.

Exports are copies: a takedown does not reach them. What an export records about itself is
enough to tell what to do about it. Its version was revoked if a takedown changed it; the version
in its place has other shards for those that held a removed document, and no other; and the order leads from a
shard's samples to their places in the export. Which documents are gone is known from the export's own
lineage, or from the old shard's spans while they are kept; without either, all samples of a changed
shard are named, which is as exact as possible.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from catalog.db import Registry, VersionRow
from catalog.figures import counted
from catalog.takedown import expect_book
from corpus_assets.core.errors import ShardError, StoreError
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store, open_store
from corpus_assets.shards.export.files import EXPORT, PARTS, FileEntry, hash_file
from corpus_assets.shards.export.plan import FORMAT, ExportPlan
from corpus_loader import Order
from corpus_loader.manifest import Manifest, ShardRef

Ints = npt.NDArray[np.int64]
SHOWN = 10


@dataclass(frozen=True)
class _Export:
    folder: Path
    plan: ExportPlan
    files: tuple[FileEntry, ...]
    manifest: Manifest


@dataclass(frozen=True)
class _Changed:
    """A shard of the export's version that the version in its place has otherwise, or not."""

    group: str
    first: int  # number in the group of its first sample
    old: ShardRef
    new: ShardRef | None


@dataclass(frozen=True)
class CheckedExport:
    """Whether an export is whole and free of removed documents; `lines` say it to people."""

    ok: bool
    version: str
    status: str
    replaced_by: str | None
    damaged: list[str]
    changed_shards: list[str]
    samples: list[int]
    samples_are_exact: bool
    documents: list[str]
    lines: list[str]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def check_export(home: Home, folder: Path, hashes: bool = False) -> CheckedExport:
    """Report damage of an export, the state of its version, and samples to remove.

    Reads `export.json`, two manifests, and spans of changed shards; every file with `hashes`.
    """
    export = _read(folder)
    damaged = list(_damage(export, hashes))
    registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
    store = open_store(home.store_url)
    expect_book(registry, store)
    row = registry.version(export.plan.version)
    successor = _successor(registry, row)
    changed = _changed_shards(export.manifest, store, row, successor)
    samples, documents, exact = _affected(export, store, changed)
    return CheckedExport(
        ok=not damaged and not len(samples),
        version=row.name,
        status=row.status,
        replaced_by=successor.name if successor is not None and successor != row else None,
        damaged=damaged,
        changed_shards=[f"{each.group}/{each.old.name}" for each in changed],
        samples=samples.tolist(),
        samples_are_exact=exact,
        documents=documents,
        lines=_lines(export, row, successor, damaged, samples, documents, exact),
    )


def exported_version(folder: Path) -> str | None:
    """Return the version that a folder is an export of, finished or not; None where it is none."""
    for name in (EXPORT, f"{PARTS}/plan.json"):
        try:
            body = json.loads((folder / name).read_bytes())
            if body["format"] == FORMAT:
                return str(body["version"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def removed_documents(registry: Registry, store: Store, folder: Path) -> set[str] | None:
    """Documents of an export that takedowns removed since; None where they are not known, and
    samples of the export may hold some."""
    export = _read(folder)
    row = registry.version(export.plan.version)
    changed = _changed_shards(export.manifest, store, row, _successor(registry, row))
    samples, documents, exact = _affected(export, store, changed)
    return set(documents) if exact or not len(samples) else None


def _read(folder: Path) -> _Export:
    manifest = Manifest.load(folder / "manifest.json") if folder.is_dir() else None
    try:
        content = (folder / EXPORT).read_bytes()
        body: dict[str, Any] = dict(json.loads(content))
        names = set(ExportPlan.model_fields)
        plan = ExportPlan.model_validate({k: v for k, v in body.items() if k in names})
        files = tuple(FileEntry.model_validate(file) for file in body["files"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise ShardError(
            f"{folder} has no readable {EXPORT}; give the folder that `corpus export` wrote"
        ) from error
    if manifest is None or hashlib.sha256(manifest.dump()).hexdigest() != plan.manifest_sha256:
        raise ShardError(
            f"{folder / 'manifest.json'} is not the manifest of the export; export again"
        )
    return _Export(folder, plan, files, manifest)


def _damage(export: _Export, hashes: bool) -> Iterator[str]:
    for file in export.files:
        path = export.folder / file.name
        if not path.is_file():
            yield f"{file.name} is missing"
        elif path.stat().st_size != file.bytes:
            yield f"{file.name} has {path.stat().st_size} bytes, {file.bytes} were written"
        elif hashes and hash_file(export.folder, file.name).sha256 != file.sha256:
            yield f"the bytes of {file.name} changed"


def _successor(registry: Registry, row: VersionRow) -> VersionRow | None:
    """Follow replacements to the live version; None where there is none."""
    seen = {row.name}
    while row.status != "live":
        if row.superseded_by is None or row.superseded_by in seen:
            return None
        seen.add(row.superseded_by)
        row = registry.version(row.superseded_by)
    return row


def _changed_shards(
    manifest: Manifest, store: Store, row: VersionRow, successor: VersionRow | None
) -> list[_Changed]:
    if successor is not None and successor.name == row.name:
        return []
    there: dict[tuple[str, str], ShardRef] = {}
    if successor is not None:
        live = Manifest.parse(store.read(successor.manifest_path), successor.manifest_path)
        there = {(group.id, shard.name): shard for group in live.groups for shard in group.shards}
    changed = []
    for group in manifest.groups:
        for shard in group.shards:
            new = there.get((group.id, shard.name))
            if shard.samples and (new is None or new.bin.sha256 != shard.bin.sha256):
                first = group.first_samples[shard.name]
                changed.append(_Changed(group.id, first, shard, new))
    return changed


def _affected(
    export: _Export, store: Store, changed: list[_Changed]
) -> tuple[Ints, list[str], bool]:
    """Return (samples of the export, removed documents where known, whether that is exact)."""
    living: dict[str, pa.Array] = {}
    rows: list[Ints] = []
    documents: set[str] = set()
    exact = True
    for each in changed:
        living[each.group + "/" + each.old.name] = _documents(store, each.new)
    if export.plan.has_lineage and changed:
        return _by_lineage(export, changed, living)
    for each in changed:
        held = _removed_samples(store, each, living[each.group + "/" + each.old.name])
        if held is None:
            exact = False
            held = np.arange(each.old.samples, dtype=np.int64), []
        rows.append(_rows_of(export, each, held[0]))
        documents.update(held[1])
    found = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
    return found, sorted(documents), exact


def _documents(store: Store, shard: ShardRef | None) -> pa.Array:
    if shard is None:
        return pa.array([], pa.binary(16))
    table = pq.read_table(pa.BufferReader(store.read(shard.spans.path)), columns=["doc_id"])
    return table["doc_id"].combine_chunks().unique()


def _removed_samples(
    store: Store, changed: _Changed, living: pa.Array
) -> tuple[Ints, list[str]] | None:
    """Find samples of the old shard with a removed document, while its spans are kept."""
    try:
        content = store.read(changed.old.spans.path)
    except StoreError:
        return None
    if hashlib.sha256(content).hexdigest() != changed.old.spans.sha256:
        return None
    table = pq.read_table(pa.BufferReader(content), columns=["sample", "doc_id"])
    gone = table.filter(pc.invert(pc.is_in(table["doc_id"], living)))
    names = [doc_id.hex() for doc_id in gone["doc_id"].unique().to_pylist()]
    return np.unique(gone["sample"].to_numpy()).astype(np.int64), names


def _rows_of(export: _Export, changed: _Changed, samples: Ints) -> Ints:
    """Return where samples of a shard lie in the export, over all its passes."""
    found, before = [], 0
    for one in export.plan.passes:
        order = Order.of(export.manifest, one.seed)
        positions = order.sightings(changed.group, changed.first + samples).position
        inside = positions[(positions >= one.first) & (positions < one.first + one.samples)]
        found.append(before + inside - one.first)
        before += one.samples
    return np.concatenate(found)


def _by_lineage(
    export: _Export, changed: list[_Changed], living: Mapping[str, pa.Array]
) -> tuple[Ints, list[str], bool]:
    """Find samples that hold a removed document, by the export's own lineage."""
    suspects = np.unique(
        np.concatenate([_rows_of(export, each, np.arange(each.old.samples)) for each in changed])
    )
    alive = pa.concat_arrays([each.cast(pa.binary()) for each in living.values()]).unique()
    found: list[Ints] = []
    documents: set[str] = set()
    for table in _lineage_tables(export):
        mine = table.filter(pc.is_in(table["row"], pa.array(suspects, pa.int64())))
        gone = mine.filter(pc.invert(pc.is_in(mine["doc_id"].cast(pa.binary()), alive)))
        found.append(gone["row"].to_numpy().astype(np.int64))
        documents.update(doc_id.hex() for doc_id in gone["doc_id"].unique().to_pylist())
    rows = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    return rows, sorted(documents), True


def _lineage_tables(export: _Export) -> Iterator[pa.Table]:
    """(row, doc_id) of every piece, a part at a time."""
    names = sorted(file.name for file in export.files)
    if export.plan.layout != "hf-parquet":
        for name in names:
            if name.startswith("lineage/"):
                yield pq.read_table(export.folder / name, columns=["row", "doc_id"])
        return
    first = 0
    for name in names:
        if name.startswith("data/"):
            column = pq.read_table(export.folder / name, columns=["doc_ids"])["doc_ids"]
            lists = column.combine_chunks()
            ids = [bytes.fromhex(text) for text in lists.flatten().to_pylist()]
            rows = first + np.repeat(np.arange(len(lists)), pc.list_value_length(lists).to_numpy())
            yield pa.table(
                {"row": pa.array(rows, pa.int64()), "doc_id": pa.array(ids, pa.binary())}
            )
            first += len(lists)


def _lines(
    export: _Export,
    row: VersionRow,
    successor: VersionRow | None,
    damaged: list[str],
    samples: Ints,
    documents: list[str],
    exact: bool,
) -> list[str]:
    lines = [f"damaged: {problem}" for problem in damaged]
    if row.status == "live":
        lines.append(f"version {row.name} is live: no takedown has changed it")
    else:
        instead = f", replaced by {successor.name}" if successor is not None else ""
        lines.append(f"version {row.name} is {row.status}{instead}")
    if len(samples):
        what = "contain removed documents" if exact else "may contain removed documents"
        some = ", ".join(str(number) for number in samples[:SHOWN].tolist())
        more = " ..." if len(samples) > SHOWN else ""
        lines.append(f"{len(samples):,} of {export.plan.samples:,} samples {what}: {some}{more}")
        if documents:
            lines.append(f"{counted(len(documents), 'document')}: {', '.join(documents[:SHOWN])}")
        lines.append(f"export {successor.name if successor else 'another version'} again")
    elif row.status != "live":
        lines.append("no sample of the export contains a removed document")
    if not damaged and not len(samples):
        lines.append("the export is intact")
    return lines
