"""Builds for the property test of erasure: the real pipeline, store and catalog, without Dagster.

Dagster costs about 100 ms a step, which is more than most steps of a corpus this small. All
else is what `corpus build` and a takedown run go through, in the same order.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db.registry import Registry
from catalog.db.rows import ArtifactRow
from corpus_assets.build import run_assets
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.core.lock import check_inputs, check_recipe, import_calibrations, load_lock
from corpus_assets.core.progress import Silent
from corpus_assets.core.store import Store, open_store, sha256_hex
from corpus_assets.core.task import Finished, Task
from corpus_assets.graph.engine.base import Engine, OnDone
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.ingest.locations import Locations
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.session import Session
from corpus_assets.stages import STAGES, function_of
from corpus_assets.versions.funnel import funnel_bytes
from corpus_assets.versions.publish import lineage_rows
from corpus_assets.versions.report import render_report
from corpus_assets.versions.thresholds import count_thresholds
from corpus_assets.versions.version import Version, make_version

NODES = tuple(stage.name for stage in STAGES if stage.is_by_snapshot)


class Abandoned(Exception):
    """A run that was to die here."""


@dataclass
class SeenEngine:
    """The engine of a session; counts how tasks came by their rows, and may die on the way."""

    engine: Engine
    tasks_left: int | None = None  # that it runs before it dies
    ran: int = 0
    purged: int = 0
    reused: int = 0

    def run(self, tasks: Sequence[Task], on_done: OnDone) -> None:
        def seen(number: int, finished: Finished) -> None:
            on_done(number, finished)
            if finished.cached:
                return
            task = tasks[number]
            self.ran += 1
            self.purged += task.origin is not None and task.origin.purged is not None
            self.reused += task.earlier is not None
            if self.tasks_left is not None and self.ran >= self.tasks_left:
                raise Abandoned

        self.engine.run(tasks, seen)

    def allow_until(self, moment: float) -> None:
        self.engine.allow_until(moment)

    def close(self) -> None:
        self.engine.close()


@dataclass(frozen=True)
class Built:
    """A finished build: what it is made of, by hash."""

    pipeline: Pipeline
    version: Version
    engine: SeenEngine
    files: dict[str, str]  # every artifact and every file of the version -> SHA-256

    @property
    def lineage(self) -> set[tuple[str, str]]:
        rows = lineage_rows(self.pipeline, self.version.manifest)
        return {(row.table_name, row.sha256) for row in rows}

    @property
    def shards(self) -> dict[str, tuple[str, str]]:
        """Each shard's object and content."""
        return {
            f"{group.id}/{shard.name}": (shard.bin.path, shard.bin.sha256 + shard.spans.sha256)
            for group in self.version.manifest.groups
            for shard in group.shards
        }


def new_home(folder: Path, catalog: Path, store: Path | None = None) -> Home:
    """A home with a copy of an empty catalog; migrating one takes longer than a build."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(catalog, folder / "catalog.db")
    return Home(folder, str(store or folder / "store"), f"sqlite:///{folder}/catalog.db")


class NoNotes(Registry):
    """A catalog that keeps no account of artifacts: for builds that are only looked at."""

    def record_artifacts(self, rows: Sequence[ArtifactRow]) -> int:
        return 0


def first_session(
    recipe: Recipe,
    sources: Path,
    home: Home,
    registry: Registry,
    lock: Path | None = None,
    same_inputs: bool = True,
) -> Session:
    """What `open_session` opens, from a recipe that is read already.

    Under `lock` it must be of this recipe, and of these sources unless they are to differ.
    """
    store = open_store(home.store_url)
    orders = Suppressions.from_rows((row.kind, row.value) for row in registry.suppressions())
    pins = {}
    if lock is not None:
        pins = import_calibrations(load_lock(lock), lock.parent, store)
    pipeline = Pipeline(recipe, Locations(sources, home), store, orders, pins)
    for snapshot in recipe.snapshots:
        pin_snapshot(pipeline, registry, snapshot)
    if lock is not None:
        check_recipe(load_lock(lock), recipe.digest)
        if same_inputs:
            check_inputs(load_lock(lock), pipeline.inputs())
    engine = LocalEngine(home.store_url, function_of)
    return Session(home, pipeline, registry, engine, Silent())


def run_all(session: Session, tasks_left: int | None = None) -> SeenEngine:
    """Every asset in the order of a build; `Abandoned` after that many tasks."""
    engine = SeenEngine(session.engine, tasks_left)
    run_assets(replace(session, engine=engine))
    return engine


def build(session: Session, name: str, with_report: bool = False) -> Built:
    """Everything a version needs, and the version; publishes nothing.

    The report is drawn from what is compared anyway, and takes as long as a stage.
    """
    engine = run_all(session)
    pipeline, version = session.pipeline, make_version(session.pipeline, name)
    files = _files(pipeline, version)
    if with_report:
        files["report.html"] = sha256_hex(
            render_report(
                pipeline, version.manifest, lineage_rows(pipeline, version.manifest)
            ).encode()
        )
        files["funnel.json"] = sha256_hex(funnel_bytes(pipeline))
        files["thresholds.json"] = sha256_hex(count_thresholds(pipeline) or b"")
    return Built(pipeline, version, engine, files)


def _files(pipeline: Pipeline, version: Version) -> dict[str, str]:
    found = {
        "manifest.json": sha256_hex(version.manifest_bytes),
        "lock.json": sha256_hex(version.lock.to_bytes()),
    }
    for snapshot in pipeline.recipe.snapshots:
        for node in NODES:
            for part, result in enumerate(pipeline.results(node, snapshot)):
                place = f"{node} of {snapshot}, part {part}"
                found |= {f"{place}: {name}": out.sha256 for name, out in result.outputs.items()}
                found[f"{place}: counts"] = digest([dict(result.counts), dict(result.notes)])
    return found


def paths(built: Built) -> dict[str, str]:
    """Where each artifact lies, by the names in `Built.files`."""
    return {
        f"{node} of {snapshot}, part {part}: {name}": out.path
        for snapshot in built.pipeline.recipe.snapshots
        for node in NODES
        for part, result in enumerate(built.pipeline.results(node, snapshot))
        for name, out in result.outputs.items()
    }


def difference(one: Built, other: Built, names: Iterable[str] | None = None) -> str:
    """Empty where both are the same, hash by hash; else the files that differ, and the first
    differing row of the first of them."""
    wanted = one.files.keys() | other.files.keys() if names is None else set(names)
    wrong = sorted(
        (name for name in wanted if one.files.get(name) != other.files.get(name)), key=_graph_order
    )
    if not wrong:
        return ""
    first = _first_row(one, other, wrong[0])
    return f"{len(wrong)} files differ: {', '.join(wrong[:12])}\n{wrong[0]}: {first}"


def _graph_order(name: str) -> tuple[int, bool, str]:
    """A difference is best looked at where it came up first, in a table."""
    node = name.partition(" ")[0]
    return NODES.index(node) if node in NODES else len(NODES), name.endswith("counts"), name


def _first_row(one: Built, other: Built, name: str) -> str:
    places = [(built.pipeline.store, paths(built).get(name)) for built in (one, other)]
    if any(path is None for _, path in places):
        return " / ".join("absent" if path is None else path for _, path in places)
    if not name.endswith(".parquet"):
        return "not a table: compare " + " with ".join(str(s.local(str(p))) for s, p in places)
    tables = [_table(store, str(path)) for store, path in places]
    if tables[0].schema != tables[1].schema:
        return f"schemas {tables[0].schema} / {tables[1].schema}"
    rows = [table.to_pylist() for table in tables]
    for number, (left, right) in enumerate(zip(*rows, strict=False)):
        if left != right:
            fields = [key for key in left if left[key] != right[key]]
            shown = [{key: _shown(row[key]) for key in fields} for row in (left, right)]
            return f"row {number} of {len(rows[0])} / {len(rows[1])}: {shown[0]} / {shown[1]}"
    if len(rows[0]) != len(rows[1]):
        return f"{len(rows[0])} rows / {len(rows[1])} rows, equal as far as both go"
    return "equal rows in other bytes"


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)[:120]


def _table(store: Store, path: str) -> pa.Table:
    return pq.read_table(store.local(path), use_threads=False)
