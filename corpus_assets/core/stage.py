"""A stage of the graph, declared once: what it reads and writes, and the functions that do it.

A stage stands in the room of its subject, `corpus_assets/stages.py` lists all of them in the order
of the graph, and everything else derives from the two: tasks, the engine's function table, Dagster
assets with their edges and checks, what a lock pins, lineage tables, what a collection keeps.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Protocol

from corpus_assets.core.files import File
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.planner import Planner
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Task, TaskContext, part_label


class Scope(StrEnum):
    """What one task of a stage works on."""

    PART = "part"  # one file of a snapshot
    SNAPSHOT = "snapshot"  # a whole snapshot, or several that end with it
    ALL = "all"  # all snapshots, or none


@dataclass(frozen=True)
class Calibration:
    """What a lock pins: one file of a stage, resolved once and then the same for every build.

    A takedown resolves no calibration again, so what one holds outlives the documents that it was
    resolved from; certificates and documentation quote `may_hold`.
    """

    file: File
    may_hold: str | Callable[[Mapping[str, Any], str], str]
    """What it may still tell of a removed document: a sentence, or a function of the recipe in the
    lock and of what follows the stage in the calibration's name."""
    files: Callable[[Planner[Any]], Mapping[str, Output]]
    """Every calibration of the kind that a recipe has, by its name in a lock."""
    is_model: bool = False  # registered in the catalog as one
    is_by_name: bool = False  # the recipe names several, and a lock pins each by itself
    asks: tuple[str, ...] = ()
    """Dotted keys of the recipe that say what it should be, `*` for the rest of its name, those of
    a list's entries by their names. While
    they and the files it is made from are as they were, a later build reuses it from an earlier
    lock, whatever else of the recipe changed. None: it is never reused."""
    follows: tuple[str, ...] = ()
    """Stages of calibrations that it is made with: where one of those is resolved again, so is it."""

    def sentence(self, recipe: Mapping[str, Any], name: str) -> str:
        return self.may_hold if isinstance(self.may_hold, str) else self.may_hold(recipe, name)


Inputs = Mapping[str, tuple[PinnedFile, ...]]


def no_inputs(pipeline: Planner[Any]) -> Inputs:
    return {}


@dataclass(frozen=True)
class Stage:
    """One step of the graph."""

    name: str
    version: int  # raised whenever an output could change
    scope: Scope
    plan: Callable[..., Sequence[Task]]
    """The tasks: `plan(pipeline, snapshot)`, or `plan(pipeline)` where the scope is ALL. Settings that
    go into a task are exactly those that can change its output."""
    run: Callable[[TaskContext], None]
    writes: tuple[File, ...]
    reads: tuple[File, ...] = ()  # of the same snapshot, or of a stage over all of them
    reads_all: tuple[File, ...] = ()  # of several snapshots
    reads_before: tuple[File, ...] = ()
    """Of snapshots before its own, which are complete by then: of any step of its asset."""
    about: str = ""  # of the asset that it completes, for people
    drops: tuple[str, ...] = ()
    """Reasons for which documents end here, or patterns of them (`*` where rules name them)."""
    fed_by: tuple[str, str] | None = None  # (stage, count) that its own `documents_in` equals
    by_row: frozenset[str] = frozenset()
    """Inputs that it compares row by row, to reuse what is equal in an earlier result."""
    calibration: Calibration | None = None
    inputs: Callable[[Any], Inputs] = no_inputs
    """Files that its tasks read, for the lock. It and what follows is asked with a planner, as
    `plan` is."""
    plan_key: Callable[..., Hashable] | None = None
    """What its tasks depend on besides the recipe. Where it is given, they are planned once and kept
    while it is equal: for a plan that is costly, and that many stages ask for."""
    after: Callable[[Any, Sequence[Task]], None] | None = None  # called when all tasks are done
    accept: Callable[[Any], None] | None = None
    """Raises where what it made must not be used. By settings that are no part of its identity, so
    it is asked of what is cached too."""
    before_purge: Callable[..., Sequence[Result]] | None = None
    """Its results as they were before the last takedown filtered them, where they are still there.
    None: no takedown filters them."""

    @property
    def stages(self) -> "tuple[Stage, ...]":
        return (self,)

    def task(
        self,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Output] | None = None,
        extra_inputs: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        label: str = "",
    ) -> Task:
        """Return a task of this stage."""
        return Task(
            self.name,
            self.version,
            settings,
            inputs or {},
            extra_inputs or {},
            params or {},
            label=label,
        )

    @property
    def is_by_snapshot(self) -> bool:
        return self.scope is not Scope.ALL

    def file(self, name: str) -> File | None:
        """Return the declaration of a file by its name."""
        return next((file for file in self.writes if file.matches(name)), None)

    def is_reason(self, reason: str) -> bool:
        return any(fnmatchcase(reason, pattern) for pattern in self.drops)

    def lineage(self) -> Iterator[File]:
        return (file for file in self.writes if file.lineage)


def part_stage(
    name: str,
    version: int,
    run: Callable[[TaskContext], None],
    reads: Mapping[str, File],
    writes: tuple[File, ...],
    *,
    settings: Callable[[Any, str], Mapping[str, Any]] = lambda pipeline, snapshot: {},
    is_asked: Callable[[Any, str], bool] = lambda pipeline, snapshot: True,
    shared: Callable[[Any, str], Mapping[str, Output]] = lambda pipeline, snapshot: {},
    reads_shared: tuple[File, ...] = (),
    reads_if_asked: Mapping[str, File] = {},
    asks_for: Callable[[Any, str], bool] = lambda pipeline, snapshot: True,
    **declared: Any,
) -> Stage:
    """Return a stage with one task for each part of a snapshot, where `is_asked` says so. A task
    reads the files of its part under the names in `reads`, and what `shared` gives to all of them,
    the files of `reads_shared`; and those of its part in
    `reads_if_asked` where `asks_for` says so. The rest is as in `Stage`."""

    def plan(pipeline: Planner[Any], snapshot: str) -> Sequence[Task]:
        if not is_asked(pipeline, snapshot):
            return []
        task_settings, given = settings(pipeline, snapshot), shared(pipeline, snapshot)

        read = {**reads, **(reads_if_asked if asks_for(pipeline, snapshot) else {})}

        def task(number: int, *own: Output) -> Task:
            inputs = {**dict(zip(read, own, strict=True)), **given}
            return stage.task(task_settings, inputs, label=part_label(snapshot, number))

        return LazySequence(task, *(pipeline.parts(file, snapshot) for file in read.values()))

    stage = Stage(
        name,
        version,
        Scope.PART,
        plan,
        run,
        reads=(*reads.values(), *reads_if_asked.values(), *reads_shared),
        writes=writes,
        **declared,
    )
    return stage


class Declared(Protocol):
    """A stage, or what stands for several, such as a shuffle."""

    @property
    def stages(self) -> tuple[Stage, ...]: ...


@dataclass(frozen=True)
class Asset:
    """Stages that are shown and asked for as one; the last of them completes it, and names it."""

    stages: tuple[Stage, ...]

    @property
    def name(self) -> str:
        return self.last.name

    @property
    def last(self) -> Stage:
        return self.stages[-1]

    @property
    def is_by_snapshot(self) -> bool:
        return self.last.is_by_snapshot

    @property
    def is_calibration(self) -> bool:
        return self.last.calibration is not None


@dataclass(frozen=True)
class Edge:
    """An asset that another one reads; of every snapshot, or only of the same."""

    asset: str
    is_across: bool


@dataclass(frozen=True)
class Graph:
    """Assets in an order in which each stage reads only what those before it write."""

    declared: tuple[Asset, ...]
    given: tuple[str, ...] = ()  # assets outside of it that stages may read
    _by_name: dict[str, Stage] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for stage in self.stages:
            for file in (*stage.reads, *stage.reads_all):
                if file.stage not in self._by_name and file.stage not in self.given:
                    raise ValueError(
                        f"{stage.name} reads {file} of {file.stage}, which comes later"
                    )
            for file in stage.writes:
                if file.stage != stage.name:
                    raise ValueError(f"{stage.name} writes {file}, which is of {file.stage}")
            if stage.name in self._by_name:
                raise ValueError(f"two stages are called {stage.name}")
            self._by_name[stage.name] = stage
        for each in self.declared:
            own = {stage.name for stage in each.stages}
            for stage in each.stages:
                for file in stage.reads_before:
                    if file.stage not in own or not each.is_by_snapshot:
                        raise ValueError(
                            f"{stage.name} reads {file} of snapshots before, which is of {file.stage}"
                        )

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __getitem__(self, name: str) -> Stage:
        return self._by_name[name]

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(stage for asset in self.declared for stage in asset.stages)

    @cached_property
    def assets(self) -> Mapping[str, Asset]:
        """Assets by name, in the order of the graph."""
        return {asset.name: asset for asset in self.declared}

    def asset_of(self, stage: str) -> Asset:
        """Return the asset that a stage is a step of."""
        return next(each for each in self.declared if self[stage] in each.stages)

    @property
    def calibrations(self) -> Mapping[str, Calibration]:
        """Calibrations by the name of their stage."""
        return {s.name: s.calibration for s in self.stages if s.calibration is not None}

    def upstream(self, names: Iterable[str]) -> set[str]:
        """Stages that these need, and they themselves."""
        wanted, known = set(names), 0
        while len(wanted) > known:  # a stage may read what a later one made of snapshots before
            known = len(wanted)
            for stage in reversed(self.stages):
                if stage.name in wanted:
                    read = (*stage.reads, *stage.reads_all, *stage.reads_before)
                    wanted |= {file.stage for file in read}
        return wanted.difference(self.given)

    def steps(
        self, wanted: Iterable[str], snapshots: Sequence[str]
    ) -> Iterator[tuple[Stage, str | None]]:
        """Yield some stages and what each runs for, in an order in which it can: stage by stage, but
        for an asset that reads what it made of snapshots before snapshot by snapshot."""
        names = set(wanted)
        for asset in self.declared:
            is_in_turn = any(stage.reads_before for stage in asset.stages)
            for run in [asset.stages] if is_in_turn else [(stage,) for stage in asset.stages]:
                for snapshot in snapshots if run[-1].is_by_snapshot else (None,):
                    yield from ((stage, snapshot) for stage in run if stage.name in names)

    def lineage(self) -> list[tuple[Stage, File]]:
        """Every file whose rows are a table of the catalog."""
        return [(stage, file) for stage in self.stages for file in stage.lineage()]

    def edges(self, asset: str) -> list[Edge]:
        """Return the assets that an asset reads, in the order of the graph."""
        own = self.assets[asset]
        across: dict[str, bool] = {}
        for stage in own.stages:
            for file in (*stage.reads, *stage.reads_all):
                if file.stage in self.given:
                    across.setdefault(file.stage, False)
                    continue
                other = self.asset_of(file.stage)
                if other.name != asset:
                    # A stage by snapshot inside an asset over all of them reads every snapshot.
                    is_across = file in stage.reads_all or not own.is_by_snapshot
                    is_across = is_across and other.is_by_snapshot
                    across[other.name] = across.get(other.name, False) or is_across
        return [Edge(name, across[name]) for name in (*self.given, *self.assets) if name in across]


def asset(*steps: Declared) -> Asset:
    """Declare an asset by its steps, in their order."""
    return Asset(tuple(stage for step in steps for stage in step.stages))


def graph_of(declared: Iterable[Declared], given: tuple[str, ...] = ()) -> Graph:
    """Return the graph of these assets; a stage or shuffle that is named alone is one."""
    return Graph(tuple(asset(each) for each in declared), given)
