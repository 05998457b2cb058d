"""Delete what no live version uses: artifacts, and the folders of revoked versions.

1. Artifacts that live versions name (documents, signals, clusters, final text, shards) stay.
2. So do those that no version ever named, for some days: a build that was stopped goes on from
   them. Text that a takedown's order names is not spared: a part that holds any goes.
3. Other artifacts stay when every stored file they were made from is still there, or is a
   calibration that a live version pins; fewer where retention says so (`versions.retention`).
4. The rest is deleted, its entries in indexes of results and its result first, so that a killed collection
   leaves nothing to trust; with it the copies of files that
   recipes name (`sources/files/`) where no version is left that needs them, and the weights of small
   models that were trained on a version that is not live.
5. So is what a killed run left before the registry heard of it: folders of artifacts, named by
   stage and fingerprint, and of versions, that are not recorded; and every file in store and
   home under the name that files have while they are written, and folders for work of processes
   that are gone (`core.scratch`). No build may run meanwhile (`graph.leases.collecting`).

Other files of the store are never touched. Before a file is deleted the registry is asked
whether the collection's lease still runs. One that cannot be deleted is named, and keeps nothing
else from going.
"""

import contextlib
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path

from catalog.copies import path_of
from catalog.db import ArtifactRow, CopyRow, Registry, VersionRow, is_gone
from catalog.figures import counted
from catalog.formats.temporary_files import leftovers
from catalog.lineage import SPILL
from corpus_assets.core import files
from corpus_assets.core.errors import CorruptArtifact, StoreError
from corpus_assets.core.exchange import ranges_of
from corpus_assets.core.file_copies import kept_path
from corpus_assets.core.finished_stages import forget_finished
from corpus_assets.core.home import Home
from corpus_assets.core.result_index import StageResults, forget_results
from corpus_assets.core.scratch import abandoned
from corpus_assets.core.store import (
    RESULT,
    Output,
    Store,
    artifact_folder,
    load_result,
)
from corpus_assets.core.task import read_table
from corpus_assets.ingest import (
    DOCUMENT_KEYS,
    DOCUMENTS,
    RECORD_KEYS,
    Suppressions,
    covered_records,
)
from corpus_assets.recipe import Retention
from corpus_assets.stages import STAGES
from corpus_assets.versions.published import published_files, published_pins
from corpus_assets.versions.retention import Freeable, expendable, freeable, kept_level

ARTIFACT_FILE = re.compile(r"artifacts/(?P<stage>[a-z_]+)/(?P<fingerprint>[0-9a-f]{64})/[^/]+")
WEIGHTS_FOLDER = "evidence/weights"
"""Weights of small models, by the version they were trained on: they can hold its text."""
NAMED_STAGES = frozenset(stage.name for stage, _ in STAGES.lineage())
"""Stages whose every artifact of a version is in its lineage."""


@dataclass(frozen=True)
class Collected:
    """What was deleted, or would be."""

    artifacts: int
    versions: int
    files: int
    bytes: int
    left: tuple[str, ...] = ()  # files that could not be deleted
    why: str = ""  # the first of them was not
    is_dry_run: bool = False
    freeable: tuple[Freeable, ...] = ()  # what other values of `keep` would free

    def __str__(self) -> str:
        verb = "would delete" if self.is_dry_run else "deleted"
        said = (
            f"{verb} {counted(self.artifacts, 'artifact')} and "
            f"{counted(self.versions, 'revoked version')}: {counted(self.files, 'file')}, "
            f"{self.bytes / 2**20:.1f} MiB"
        )
        return "\n".join([said, *map(str, self.freeable)])

    @property
    def ok(self) -> bool:
        return not self.left

    @property
    def notes(self) -> list[str]:
        if self.ok:
            return []
        return [f"{counted(len(self.left), 'file')} could not be deleted; the first: {self.why}"]


def collect_garbage(
    store: Store,
    registry: Registry,
    home: Home | None = None,
    dry_run: bool = False,
    keep_revoked: bool = False,
    keep: Retention | None = None,
) -> Collected:
    """Delete what no live version uses, and what killed runs left in the store and in `home`.

    `keep_revoked` leaves what is recorded: only the leftovers of killed runs go. `keep` says how
    much of live versions' results stays; by default that is what their recipes say.
    """
    versions = registry.versions()
    live = [version for version in versions if version.status == "live"]
    artifacts = registry.artifacts()
    dead: list[ArtifactRow] = []
    ranges: dict[str, frozenset[str]] = {}
    if not keep_revoked:
        named = _named(registry, live)
        spared = _unpublished(store, registry, artifacts, home or Home)
        ranges = _ranges(store, artifacts)
        dead = dead_artifacts(artifacts, named, _pinned(store, live), spared, ranges)
        keep = keep or kept_level(store, live)
        alive = _without(artifacts, dead)
        dead += expendable(alive, keep)
    stray = _unrecorded(store, artifacts)
    kept = {version.name for version in (versions if keep_revoked else live)}
    unused: list[str] = []
    freed = 0
    for artifact in dead:
        folder = artifact_folder(artifact.stage, artifact.fingerprint)
        unused += [f"{folder}/{RESULT}", *(output.path for output in artifact.outputs)]
        freed += artifact.bytes
    for (stage, fingerprint), paths in stray.items():
        result = load_result(store, stage, fingerprint)
        unused += sorted(paths, key=lambda path: not path.endswith(RESULT))
        freed += result.bytes if result is not None else 0
    held = [path for path in store.list("versions") if path.split("/")[1] not in kept]
    unused += sorted(held, key=lambda path: "manifest" not in path)
    wanted = _kept_copies(store, (version for version in versions if version.name in kept))
    unused += [path for path in store.list("sources/files") if path not in wanted]
    unused += [path for path in store.list(WEIGHTS_FOLDER) if path.split("/")[2] not in kept]
    present = [path for path in unused if store.exists(path)]
    temporary = {*store.leftovers(), *_spilled()}
    scratches = list(abandoned(home)) if home is not None else []
    for place in scratches:
        temporary.update(path for path in place.rglob("*") if not path.is_dir())
    if home is not None:
        temporary.update(leftovers(home.root))
    freed += sum(_size(path) for path in temporary)
    left: dict[str, str] = {}
    if not dry_run:
        registry.expect_leases()
        forget_finished(store, {stage for stage, _ in stray} | {row.stage for row in dead})
        forget_results(store, {*stray, *((row.stage, row.fingerprint) for row in dead)})
        steps = [(path, partial(store.delete, path)) for path in present]
        steps += [(str(path), partial(_remove, path)) for path in temporary]
        for path, delete in steps:
            registry.expect_leases()
            try:
                delete()
            except StoreError as error:  # the others go all the same
                left[path] = str(error)
        gone = forgettable(dead, left, ranges)
        registry.forget_artifacts([(row.stage, row.fingerprint) for row in gone])
        for place in scratches:
            shutil.rmtree(place, ignore_errors=True)  # empty, or its files are named
        if home is not None:
            registry.forget_copies(_gone_copies(registry, home.root))
    return Collected(
        len(dead) + len(stray),
        len({path.split("/")[1] for path in held}),
        len(present) + len(temporary) - len(left),
        freed,
        tuple(sorted(left)),
        next(iter(left.values()), ""),
        dry_run,
        freeable(_without(artifacts, dead), keep) if keep is not None else (),
    )


def _without(rows: Iterable[ArtifactRow], gone: Iterable[ArtifactRow]) -> list[ArtifactRow]:
    named = {(row.stage, row.fingerprint) for row in gone}
    return [row for row in rows if (row.stage, row.fingerprint) not in named]


def _gone_copies(registry: Registry, home: Path) -> Iterator[CopyRow]:
    """List copies in the home that were deleted; one registered lately may be about to be written."""
    since = datetime.now(UTC) - timedelta(days=1)
    for row in registry.copies():
        path = None if row.machine else path_of(row, home)
        is_old = datetime.fromisoformat(row.created_at) < since
        if is_old and path is not None and not path.exists():
            yield row


def _spilled() -> Iterator[Path]:
    """List temporary files that killed processes of this machine left of large queries."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SPILL}*"):
        if is_gone(folder.name.removeprefix(SPILL)):
            yield from (path for path in folder.rglob("*") if not path.is_dir())


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.lstat().st_size
    return 0


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # where it is not the last file of its folder
            path.parent.rmdir()
    except OSError as error:
        raise StoreError(
            f"cannot delete {path}, which a killed run left: {error.strerror}; delete it by hand"
        ) from error


def _unrecorded(store: Store, artifacts: Iterable[ArtifactRow]) -> dict[tuple[str, str], list[str]]:
    """Files in folders of artifacts that the registry does not know."""
    known = {(row.stage, row.fingerprint) for row in artifacts}
    found: dict[tuple[str, str], list[str]] = {}
    for path in store.list("artifacts"):
        match = ARTIFACT_FILE.fullmatch(path)
        if match is not None and (match["stage"], match["fingerprint"]) not in known:
            found.setdefault((match["stage"], match["fingerprint"]), []).append(path)
    return found


def _unpublished(
    store: Store, registry: Registry, artifacts: Iterable[ArtifactRow], home: Home | type[Home]
) -> set[tuple[str, str]]:
    """Recent artifacts that no version, live or revoked, ever named; without the parts that hold
    a document which an order covers, and so without what was made from those."""
    since = datetime.now(UTC) - timedelta(days=home.keep_unpublished_days)
    published = _named(registry, registry.versions())
    orders = Suppressions.from_rows((row.kind, row.value) for row in registry.suppressions())
    return {
        (row.stage, row.fingerprint)
        for row in artifacts
        if row.stage in NAMED_STAGES
        and datetime.fromisoformat(row.created_at) >= since
        and not any(output.path in published for output in row.outputs)
        and not (row.stage == DOCUMENTS.name and _is_covered(store, row, orders))
    }


def _is_covered(store: Store, row: ArtifactRow, orders: Suppressions) -> bool:
    """Say whether an order covers a document of a part; an unreadable part counts as covered."""
    if not orders.rows:
        return False
    outputs = {o.name: Output(o.path, o.sha256, o.bytes, o.rows or 0) for o in row.outputs}
    try:
        records = read_table(store, outputs[files.RECORDS], RECORD_KEYS)
        documents = read_table(store, outputs[files.DOCUMENTS], DOCUMENT_KEYS)
    except StoreError:
        return True
    return bool(covered_records(records, documents, orders).any())


def dead_artifacts(
    artifacts: Iterable[ArtifactRow],
    named: set[str],
    pinned: Iterable[str] = (),
    spared: Collection[tuple[str, str]] = (),
    ranges: Mapping[str, Collection[str]] | None = None,
) -> list[ArtifactRow]:
    """Artifacts that are neither named by a live version nor made only from living files.

    `pinned` are contents that live on in the folders of versions; `spared` are artifacts that
    need no version to name them, if what they were made from lives; `ranges` are digests of ranges
    that artifacts hold, by fingerprint.
    """
    rows = list(artifacts)
    contents = partial(_contents, ranges=ranges or {})
    made = {content for row in rows for content in contents(row)}
    living = set(pinned)
    alive: set[tuple[str, str]] = set()
    for row in rows:
        if any(output.path in named for output in row.outputs):
            alive.add((row.stage, row.fingerprint))
            living.update(contents(row))
    waiting = [
        row
        for row in rows
        if row.stage not in NAMED_STAGES or (row.stage, row.fingerprint) in spared
    ]
    while True:
        reached = [
            row
            for row in waiting
            if all(i.content_hash in living for i in row.inputs if i.content_hash in made)
        ]
        if not reached:
            break
        for row in reached:
            alive.add((row.stage, row.fingerprint))
            living.update(contents(row))
        waiting = [row for row in waiting if (row.stage, row.fingerprint) not in alive]
    return [row for row in rows if (row.stage, row.fingerprint) not in alive]


def forgettable(
    dead: Iterable[ArtifactRow],
    left: Collection[str],
    ranges: Mapping[str, Collection[str]] | None = None,
) -> list[ArtifactRow]:
    """Those of the dead artifacts that the registry may forget when the files `left` could not be
    deleted: neither their own artifacts nor what those were made from, however far back. An input
    that nothing is known of passes for a source's, and what was made from it for living."""
    waiting = list(dead)
    reached = [row for row in waiting if any(output.path in left for output in row.outputs)]
    while reached:
        held = {(row.stage, row.fingerprint) for row in reached}
        waiting = [row for row in waiting if (row.stage, row.fingerprint) not in held]
        needed = {given.content_hash for row in reached for given in row.inputs}
        reached = [row for row in waiting if needed & _contents(row, ranges or {})]
    return waiting


def _contents(row: ArtifactRow, ranges: Mapping[str, Collection[str]]) -> set[str]:
    return {output.sha256 for output in row.outputs} | {*ranges.get(row.fingerprint, ())}


def _ranges(store: Store, artifacts: Iterable[ArtifactRow]) -> dict[str, frozenset[str]]:
    """Return the digests of the ranges in the ranged files of artifacts that are in the store, by
    fingerprint. Where an index lies is known from the stage's index of results: one request for each file."""

    @cache
    def finished(stage: str, snapshot: str | None) -> StageResults:
        return StageResults(store, stage, snapshot)

    found: dict[str, frozenset[str]] = {}
    for row in artifacts:
        names = [output.name for output in row.outputs if output.name.endswith(".zip")]
        with contextlib.suppress(CorruptArtifact, StoreError):  # reported when it is read
            result = finished(row.stage, row.snapshot).find(row.fingerprint) if names else None
            if result is not None:
                places = (p for name in names for p in ranges_of(store, result, name).values())
                found[row.fingerprint] = frozenset(place.digest for place in places)
    return found


def _named(registry: Registry, versions: Iterable[VersionRow]) -> set[str]:
    """Return every file of the store that a live version's lineage names."""
    return {row.path for version in versions for row in registry.lineage_files(version.name)}


def _kept_copies(store: Store, versions: Iterable[VersionRow]) -> set[str]:
    """List copies of recipe files that no live version needs."""
    return {
        kept_path(pin.sha256)
        for version in versions
        if store.exists(version.manifest_path)
        for pins in published_files(store, version).files.values()
        for pin in pins
    }


def _pinned(store: Store, versions: Iterable[VersionRow]) -> set[str]:
    """Contents of the calibrations that live versions pin."""
    return {pin.sha256 for version in versions for pin in published_pins(store, version).values()}
