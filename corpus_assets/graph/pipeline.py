"""The graph of tasks: what each stage of a recipe would run, from what the store already has.

Nothing here is remembered between calls: a stage's tasks are a pure function of the recipe, the
pins and the results of the stages before it. That is why any process, Dagster step or command
can ask for any stage, and why a plan is simply the same question asked without running.
"""

import shlex
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import MissingInput, ModelError, RecipeError
from corpus_assets.core.file_spool import FileSpool
from corpus_assets.core.files import File
from corpus_assets.core.lock import Lock, PinnedFile
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.core.result_index import (
    Bytes,
    Contents,
    Listings,
    Results,
    StageResults,
    fingerprints,
)
from corpus_assets.core.stage import Graph, Stage
from corpus_assets.core.store import Output, Result, Store
from corpus_assets.core.task import Task
from corpus_assets.ingest import (
    Locations,
    SnapshotFiles,
    Suppressions,
    is_empty_list,
    load_snapshot_files,
    pins_of_sites,
    save_snapshot_files,
)
from corpus_assets.install import ModelPins
from corpus_assets.models import home_option, how_to_get, is_public, model_at, model_digest
from corpus_assets.recipe import Recipe
from corpus_assets.stages import STAGES

HELD_STAGES = 16  # whose index files stay open: more than the inputs of any one stage
KNOWN_BYTES = 1 << 20  # of fingerprints in memory; what is more waits in a temporary file


@dataclass
class Pipeline:
    """A recipe bound to a store; answers which tasks a stage has and what they left."""

    recipe: Recipe
    locations: Locations
    store: Store
    suppressions: Suppressions = field(default_factory=Suppressions)
    pins: Mapping[str, Output] = field(default_factory=dict)
    is_locked: bool = False  # a lock says what every calibration is: none is resolved
    lock: Lock | None = None  # of the version that is built again
    recorded: Callable[[str, str | None], Iterable[tuple[str, str]]] | None = None
    """Fingerprints and contents of a stage's results for a snapshot, as the registry has them."""
    graph: Graph = STAGES
    model_pins: ModelPins | None = None
    called: str = ""  # what the user calls the recipe, for commands in messages

    def __post_init__(self) -> None:
        self._planned: list[tuple[Stage, str | None]] = []
        self._known = FileSpool(KNOWN_BYTES)  # fingerprints of complete stages
        self._finished: OrderedDict[tuple[str, str | None], StageResults] = OrderedDict()
        self._checked: dict[
            tuple[str, str | None], set[str]
        ] = {}  # index files, of what was let go too
        self._listings = Listings(self.store)
        self._digests: dict[Path, str] = {}
        self._looked_at: dict[tuple[str, str | None], set[Path]] = {}
        self._asked_pins: dict[tuple[str, str | None], dict[str, bool]] = {}
        self._files: dict[str, SnapshotFiles] = {}
        self._plans: dict[tuple[str, str | None, Hashable], Sequence[Task]] = {}

    # Questions.

    def tasks(self, name: str, snapshot: str | None = None) -> Sequence[Task]:
        """Return the tasks of a stage; MissingInput when a stage before it has not finished.

        A calibration that the lock pins has none: it is not resolved again.
        """
        if self.pin_of(name, snapshot):
            return []
        stage = self.graph[name]
        if not stage.is_by_snapshot:
            snapshot = None
        elif snapshot is None:
            raise MissingInput(f"{name} runs by snapshot; choose one")
        if stage.plan_key is None:
            return self._unlocked(stage, self._plan(stage, snapshot))
        asked = (name, snapshot, stage.plan_key(self, snapshot))
        if asked not in self._plans:
            self._plans[asked] = self._unlocked(stage, self._plan(stage, snapshot))
        return self._plans[asked]

    def _plan(self, stage: Stage, snapshot: str | None) -> Sequence[Task]:
        self._planned.append((stage, snapshot))
        try:
            return stage.plan(self, snapshot) if stage.is_by_snapshot else stage.plan(self)
        finally:
            self._planned.pop()

    def _check_declared(self, name: str, snapshot: str | None) -> None:
        """Refuse a read that a stage does not declare: order, edges and gc derive from it."""
        if not self._planned:
            return
        stage, own = self._planned[-1]
        is_elsewhere = self.graph[name].is_by_snapshot and snapshot != own
        across = (*stage.reads_all, *stage.reads_before)
        declared = across if is_elsewhere else (*stage.reads, *stage.reads_all)
        if name not in {file.stage for file in declared}:
            where = " of other snapshots" if is_elsewhere else ""
            raise ValueError(f"{stage.name} reads {name}{where}, which it does not declare")

    def _unlocked(self, stage: Stage, tasks: Sequence[Task]) -> Sequence[Task]:
        """Refuse to resolve what a lock should have pinned: it would not be what the lock names."""
        if self.is_locked and tasks and stage.calibration is not None:
            raise RecipeError(
                f"the lock pins no {stage.name}, which this recipe needs; make a new lock with "
                "`corpus lock`, or use --calibrations to compute what the lock lacks"
            )
        return tasks

    def results(self, name: str, snapshot: str | None = None) -> Sequence[Result]:
        """Return the finished results of all tasks of a stage; MissingInput when any is absent."""
        self._check_declared(name, snapshot)
        prints = self._prints(name, snapshot)
        finished = self.finished(name, snapshot)
        rows = finished.rows(prints)
        if (rows < 0).any():
            asset = self.graph.asset_of(name)
            where = f" of {snapshot}" if snapshot and asset.is_by_snapshot else ""
            raise MissingInput(
                f"{asset.name}{where} is not complete; materialize it first, or run `corpus build`"
            )
        if (place := _place(name, snapshot)) not in self._known:
            self._keep(place, prints)
        return Results(finished.columns, rows)

    def is_recorded(self, name: str, snapshot: str | None = None) -> bool:
        """Whether the registry has every result of a stage; one that was lost has none."""
        if self.recorded is None:
            return True
        recorded = Contents(self.recorded(name, snapshot))
        return bool(recorded.has(self._prints(name, snapshot)).all())

    def _prints(self, name: str, snapshot: str | None) -> Bytes:
        """Return the fingerprints of a stage's tasks."""
        place = _place(name, snapshot)
        if place in self._known:
            return np.frombuffer(self._known.read(place), np.uint8).reshape(-1, 32)
        return fingerprints(self.tasks(name, snapshot))

    def _keep(self, place: str, prints: Bytes) -> None:
        self._known.add(place, prints.tobytes(), len(prints))

    def all_results(self, name: str) -> Iterator[Result]:
        """Yield the finished results of a stage in all snapshots, in the recipe's order."""
        for snapshot in self.recipe.snapshots:
            yield from self.results(name, snapshot)

    def parts(self, file: File, snapshot: str | None = None) -> Sequence[Output]:
        """Return a file of every result of the stage that writes it: one for each part, or one in
        all."""
        place = snapshot if self.graph[file.stage].is_by_snapshot else None
        found = self.results(file.stage, place)
        if isinstance(found, Results):
            return found.files(file)
        return [result.outputs[file] for result in found]

    def rows(self, file: File, snapshot: str) -> list[int]:
        """Return how many rows a file of every part has."""
        found = self.results(file.stage, snapshot)
        if isinstance(found, Results):
            sizes: list[int] = found.sizes(file).tolist()
            return sizes
        return [result.outputs[file].rows for result in found]

    def is_done(
        self, name: str, snapshot: str | None, tasks: Sequence[Task]
    ) -> npt.NDArray[np.bool_]:
        """Say of each task of a stage whether its result is there."""
        prints = fingerprints(tasks)
        is_there = self.finished(name, snapshot).rows(prints) >= 0
        place = _place(name, snapshot)
        is_known = place in self._known and self._known.read(place) == prints.tobytes()
        if is_there.all() and not is_known:
            self._keep(place, prints)
        return is_there

    def result_of(self, task: Task, snapshot: str | None = None) -> Result | None:
        return self.load(task.stage, task.fingerprint, snapshot)

    def load(self, stage: str, fingerprint: str, snapshot: str | None = None) -> Result | None:
        """Return a finished result; refused where the registry recorded another content for it."""
        return self.finished(stage, snapshot).find(fingerprint)

    def finished(self, name: str, snapshot: str | None, look_again: bool = False) -> StageResults:
        """Return what is known of a stage's results. Those of stages that were not used lately
        are let go, where an index has them."""
        key = (name, snapshot)
        if look_again:
            self._checked.pop(key, None)
            self._listings.of(name, snapshot, again=True)
        if look_again or key not in self._finished:
            recorded = partial(self.recorded, name, snapshot) if self.recorded else None
            checked = self._checked.setdefault(key, set())
            self._finished[key] = StageResults(
                self.store, name, snapshot, recorded, checked, self._listings
            )
        self._finished.move_to_end(key)
        for other in list(self._finished)[:-HELD_STAGES]:
            if self._finished[other].is_written:
                del self._finished[other]
        return self._finished[key]

    def pin_of(self, name: str, snapshot: str | None = None) -> Output | None:
        """Return the lock's file for a calibration; its stage is then never run."""
        key = f"{name}/{snapshot}" if snapshot else name
        if self._planned:
            stage, own = self._planned[-1]
            if name not in {file.stage for file in (*stage.reads, *stage.reads_all)}:
                self._asked_pins.setdefault((stage.name, own), {})[key] = key in self.pins
        return self.pins.get(key)

    def unpinned(self, name: str) -> "Pipeline":
        """Return the same without the lock's file for a calibration: what the graph resolves."""
        if not self.is_locked and name not in self.pins:
            return self
        others = {other: pin for other, pin in self.pins.items() if other != name}
        return self.with_pins(others)

    def with_pins(self, pins: Mapping[str, Output]) -> "Pipeline":
        """Return the same without a lock and with other pins. What was read of the store, which does
        not depend on them, is shared."""
        other = replace(self, pins=pins, is_locked=False)
        other._finished, other._checked = self._finished, self._checked
        other._listings, other._digests, other._files = self._listings, self._digests, self._files
        return other

    def calibration(self, file: File, snapshot: str | None = None) -> Output:
        """Return a pinned file: the lock's where there is one, else what the graph resolved."""
        self._check_declared(file.stage, snapshot)
        return self.pin_of(file.stage, snapshot) or self.parts(file, snapshot)[0]

    def learns_from(self, file: File, snapshot: str) -> bool:
        """Whether a calibration is resolved, and a snapshot is one that it learns from."""
        is_resolved = self.pin_of(file.stage) is None
        return is_resolved and snapshot in self.recipe.calibration_snapshots

    def calibrations(self) -> dict[str, Output]:
        """Every calibration of the recipe by its name in a lock."""
        found: dict[str, Output] = {}
        for calibration in self.graph.calibrations.values():
            found |= calibration.files(self)
        return found

    def snapshot_files(self, snapshot: str) -> SnapshotFiles:
        if snapshot not in self._files:
            self._files[snapshot] = load_snapshot_files(
                self.store, snapshot, self.locations.home.root
            )
        return self._files[snapshot]

    def save_files(self, pinned: SnapshotFiles) -> None:
        """Pin the files of a snapshot."""
        save_snapshot_files(self.store, pinned, self.locations.home.root)
        self._files.pop(pinned.snapshot, None)

    def inputs(self) -> dict[str, tuple[PinnedFile, ...]]:
        """Every file that goes in, for the lock."""
        if self.lock is not None:  # what calibrations were made from is not read again
            return dict(self.lock.inputs)
        found: dict[str, tuple[PinnedFile, ...]] = {}
        for stage in self.graph:
            found |= stage.inputs(self)
        return found

    def delivered(self) -> dict[str, tuple[PinnedFile, ...]]:
        """Return the files of all snapshots, and what was pinned with them."""
        pinned = {name: self.snapshot_files(name).pinned for name in self.recipe.snapshots}
        return pinned | pins_of_sites(self)

    def pins_of(self, paths: Iterable[Path]) -> tuple[PinnedFile, ...]:
        """Files outside the store, for the lock."""
        return tuple(
            PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=self.digest_of(path))
            for path in paths
        )

    def language_model(self) -> tuple[Path, str]:
        """Return the language identifier's file and digest."""
        return self.model(self.recipe.language_model, "language_model")

    def model(
        self, model: ModelChoice, setting: str, kept_as: str | None = None
    ) -> tuple[Path, str]:
        """Return the file or folder of a model and its digest, which is that of the recipe, where it
        says one, or the one that the model was installed with. Copies are kept as `kept_as`, or as
        the setting."""
        copies = self.locations.copies(kept_as or setting)
        if copies is not None:
            place, wanted, remedy = copies[0], model.sha256, "publish the version again"
        elif model.name is not None:
            installed = model_at(model.name, self.locations.home)
            place, wanted = installed.path, model.sha256 or installed.sha256
            remedy = f"remove it, then {how_to_get(model.name, self.locations.home)}"
        else:
            place, wanted = self.locations.path(str(model.path), setting), model.sha256
            remedy = "fetch it again, or correct the recipe"
        found = self.digest_of(place)
        if wanted is not None and found != wanted:
            raise ModelError(
                f"{setting}: model {model} at {place} has SHA-256 {found}, expected {wanted}: {remedy}"
            )
        return place, found

    def check_models(self) -> None:
        """Refuse a recipe whose models and lists are not installed, are others than were fetched
        first, or are empty, before any work is done for it. A version that is built again has its
        own copies."""
        if self.locations.kept is not None:
            return
        absent: dict[str, tuple[str, ModelError]] = {}
        for setting, name in self.recipe.named_models():
            try:
                installed = model_at(name, self.locations.home)
            except ModelError as error:
                absent.setdefault(name, (setting, error))
            else:
                if self.model_pins is not None:
                    self.model_pins.check(name, installed.sha256)
        if absent:
            raise ModelError(self._not_installed(absent))
        for setting in self.recipe.empty_lists():
            raise ModelError(
                f"recipe {self.recipe.name}: {setting} is switched on without a list: name words or "
                "files (`model://NAME` for a list of `corpus models list`), or remove it"
            )
        for setting, place in self.recipe.listed_files():
            if is_empty_list(self.locations.resolve(place)):
                raise ModelError(
                    f"recipe {self.recipe.name}: {setting}: {place} has no entries: fetch the list "
                    "again, or remove it from the recipe"
                )

    def _not_installed(self, absent: Mapping[str, tuple[str, ModelError]]) -> str:
        """Name all models and lists that are absent, and the one command that brings them."""
        whose, home = f"recipe {self.recipe.name}: ", self.locations.home
        fallback = self.recipe.or_fallback(absent)
        if len(absent) == 1:
            ((setting, error),) = absent.values()
            return f"{whose}{setting}: {error}{fallback}"
        named = ", ".join(f"{name} ({setting})" for name, (setting, _) in absent.items())
        unknown = [name for name in absent if not is_public(name)]
        remedies = [f"for {name} {how_to_get(name, home)}" for name in unknown]
        if len(unknown) < len(absent):
            called = shlex.quote(self.called or self.recipe.name)
            remedies.insert(0, f"run `corpus models fetch --recipe {called}{home_option(home)}`")
        return f"{whose}not installed: {named}: {'; '.join(remedies)}{fallback}"

    # Digests of files outside the store.

    def asked_pins(self, name: str, snapshot: str | None) -> Mapping[str, bool]:
        """Say of the calibrations that planning a stage asked for, and that it does not read,
        whether a lock pins them."""
        return self._asked_pins.get((name, snapshot), {})

    def looked_at(self, name: str, snapshot: str | None) -> Iterable[Path]:
        """Return the files outside the store that planning a stage looked at."""
        return sorted(self._looked_at.get((name, snapshot), ()))

    def digest_of(self, path: Path) -> str:
        if self._planned:
            stage, snapshot = self._planned[-1]
            self._looked_at.setdefault((stage.name, snapshot), set()).add(path)
        if path not in self._digests:
            self._digests[path] = model_digest(path)
        return self._digests[path]

    def digests_of(self, paths: Sequence[Path]) -> str:
        return "+".join(self.digest_of(path) for path in paths)


def _place(name: str, snapshot: str | None) -> str:
    return f"{name}/{snapshot or ''}"
