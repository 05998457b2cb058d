"""What every part of a snapshot has, brought together: declared once, its stages derived.

- `Shuffle`: rows with one key meet and are reduced to a table of the snapshot.
- `Gather`: one task reads something of every part of several snapshots.
- `Regroup`: ranged files that parts write for many targets are joined before targets read them.

In a snapshot of few parts the last task reads the parts themselves. In one of many, tasks over
groups of consecutive parts bring their rows together first, and a shuffle reduces each range of
keys in a task of its own. These are the stages `NAME_groups` and `NAME_ranges`, where NAME is the
stage of the result (of the file that is joined, for the last); a snapshot of few parts has no tasks there. The result is the same, byte by
byte: so what a declaration gives must not depend on how rows are divided among parts and ranges.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa
from xxhash import xxh3_64_intdigest

from corpus_assets.core import exchange
from corpus_assets.core.exchange import (
    Targets,
    all_ranges,
    range_inputs,
    range_name,
    range_tables,
    ranges_of,
    table_ranges,
    write_ranges,
)
from corpus_assets.core.files import File
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.planner import Planner
from corpus_assets.core.stage import Calibration, Inputs, Scope, Stage, no_inputs
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, parquet_bytes

VERSION = 3
"""Of what tasks over groups write."""

Tables: TypeAlias = Iterator[pa.Table]
AnyPlanner: TypeAlias = Planner[Any]


@dataclass(frozen=True)
class Rows:
    """A table that every part has."""

    file: File
    key: str | Callable[[Any], str | None] | None
    """The column of 64-bit hashes by which its rows meet those of other parts, or a function of the
    planner. None: every range gets all rows."""
    combine: Callable[[Tables], pa.Table] = pa.concat_tables
    """Brings the rows of several parts together; fewer are better."""

    @property
    def name(self) -> str:
        """What tasks call it."""
        return _stem(self.file)

    def key_for(self, pipeline: AnyPlanner) -> str | None:
        return self.key(pipeline) if callable(self.key) else self.key


class Shuffle:
    """Rows of all parts of a snapshot meet by key and are reduced: `finish(reduce(rows))`."""

    def __init__(
        self,
        result: File,
        each: Stage,
        rows: Sequence[Rows],
        reduce: Callable[..., pa.Table],
        finish: Callable[[TaskContext, Tables], pa.Table],
        *,
        version: int,
        settings: Callable[[Any], dict[str, Any]] = lambda pipeline: {},
        is_asked: Callable[[Any, str], bool] = lambda pipeline, snapshot: True,
        beside: "Shuffle | None" = None,
        reads: tuple[File, ...] = (),
        inputs: Callable[[Any, str], Mapping[str, Output]] = lambda pipeline, snapshot: {},
        about: str = "",
        calibration: Calibration | None = None,
    ) -> None:
        """Declare a table of a snapshot.

        `each` is the stage that writes `rows` for a part. `reduce(context, *tables)` gets what has
        the same keys, an iterator for each of `rows`, and `finish(context, tables)` puts together
        what it returned for every range, or for all rows at once; both see `settings`. `beside` is
        a shuffle whose result `reduce` reads under that file's name, of the same range where both
        have the same keys. `inputs` is what else `finish` reads, the files of `reads`.
        """
        self.result_file, self.each, self.rows = result, each, tuple(rows)
        self._reduce, self._finish = reduce, finish
        self._settings, self._is_asked, self._inputs = settings, is_asked, inputs
        self._beside = beside
        self._group_files = tuple(
            File(f"{result.stage}_groups", f"{one.name}.zip") for one in self.rows
        )
        self.ranges_file = File(f"{result.stage}_ranges", "rows.parquet")
        written = tuple(one.file for one in self.rows)
        counted = (*written, *(one.file for one in (beside.rows if beside else ())))
        shared = (beside.ranges_file, beside.result_file) if beside else ()
        self.groups = Stage(
            f"{result.stage}_groups",
            VERSION,
            Scope.SNAPSHOT,
            self._plan_groups,
            self._run_group,
            reads=counted,
            writes=self._group_files,
        )
        self.ranges = Stage(
            self.ranges_file.stage,
            version,
            Scope.SNAPSHOT,
            self._plan_ranges,
            self._run_range,
            reads=(*counted, *self._group_files, *shared),
            writes=(self.ranges_file,),
        )
        self.result = Stage(
            result.stage,
            version,
            Scope.SNAPSHOT,
            self._plan_result,
            self._run_result,
            about=about,
            reads=(*written, self.ranges_file, *shared, *reads),
            writes=(result,),
            calibration=calibration,
        )
        self.stages = (each, self.groups, self.ranges, self.result)

    def range_count(self, pipeline: AnyPlanner, snapshot: str) -> int:
        """Return how many ranges of keys a snapshot has; those of `beside` are the same."""
        if not any(one.key_for(pipeline) for one in self.rows):
            return 1
        if self._beside is not None:
            return self._beside.range_count(pipeline, snapshot)
        parts = pipeline.parts(self.rows[0].file, snapshot)
        return exchange.range_count(sum(part.rows for part in parts))

    def _plan_groups(self, pipeline: AnyPlanner, snapshot: str) -> Sequence[Task]:
        if not self._is_asked(pipeline, snapshot):
            return []
        settings = {
            "ranges": self.range_count(pipeline, snapshot),
            "keys": {one.name: one.key_for(pipeline) for one in self.rows},
        }
        parts = {one.name: pipeline.parts(one.file, snapshot) for one in self.rows}
        return plan_groups(self.groups, snapshot, settings, parts)

    def _run_group(self, context: TaskContext) -> None:
        ranges, keys = context.task.settings["ranges"], context.task.settings["keys"]
        for one, file in zip(self.rows, self._group_files, strict=True):
            table = one.combine(_tables(context, one.name))
            key = keys[one.name]
            if key is not None:
                laid = table_ranges(table, table[key].to_numpy(), ranges)
            else:
                data = parquet_bytes(table)
                laid = ((range_name(number), data) for number in range(ranges))
            write_ranges(context, file, laid)

    def _plan_ranges(self, pipeline: AnyPlanner, snapshot: str) -> list[Task]:
        if not self._is_asked(pipeline, snapshot):
            return []
        groups = pipeline.results(self.groups.name, snapshot)
        if not groups:
            return []
        laid = Targets(
            (f"{number:05d}/{file}", ranges_of(pipeline.store, result, file))
            for number, result in enumerate(groups)
            for file in self._group_files
        )
        ranges, settings = self.range_count(pipeline, snapshot), self._settings(pipeline)
        beside = self._inputs_beside(pipeline, snapshot, ranges)
        return [
            self.ranges.task(
                settings,
                beside(number),
                label=f"{snapshot} range {number}",
                **range_inputs(laid.get(range_name(number), {})),
            )
            for number in range(ranges)
        ]

    def _run_range(self, context: TaskContext) -> None:
        rows = (range_tables(context, file) for file in self._group_files)
        context.write_table(self.ranges_file, self._reduce(context, *rows))

    def _plan_result(self, pipeline: AnyPlanner, snapshot: str) -> list[Task]:
        if not self._is_asked(pipeline, snapshot):
            return []
        ranges = pipeline.parts(self.ranges_file, snapshot)
        inputs = {f"ranges/{number:05d}": output for number, output in enumerate(ranges)}
        if not ranges:
            inputs = {
                f"parts/{number:05d}/{one.name}": output
                for one in self.rows
                for number, output in enumerate(pipeline.parts(one.file, snapshot))
            } | self._inputs_beside(pipeline, snapshot, 1)(0)
        inputs |= self._inputs(pipeline, snapshot)
        return [self.result.task(self._settings(pipeline), inputs, label=snapshot)]

    def _run_result(self, context: TaskContext) -> None:
        reduced: Tables = (context.table(name) for name in context.names("ranges/"))
        if not context.names("ranges/"):
            rows = (_tables(context, one.name) for one in self.rows)
            reduced = iter([self._reduce(context, *rows)])
        context.write_table(self.result_file, self._finish(context, reduced))

    def _inputs_beside(
        self, pipeline: AnyPlanner, snapshot: str, ranges: int
    ) -> Callable[[int], dict[str, Output]]:
        """Return what gives the result of the shuffle beside this one that a range reads."""
        if self._beside is None:
            return lambda number: {}
        name = _stem(self._beside.result_file)
        if ranges > 1:
            found = pipeline.parts(self._beside.ranges_file, snapshot)
            return lambda number: {name: found[number]}
        (whole,) = pipeline.parts(self._beside.result_file, snapshot)
        return lambda number: {name: whole}


class Gather:
    """One task reads some rows of every part of the calibration snapshots."""

    def __init__(
        self,
        result: File,
        parts: Callable[[Any, str], Mapping[str, Sequence[Output]]],
        condense: Callable[[TaskContext, str, str], pa.Table],
        finish: Callable[[TaskContext, Tables], None],
        *,
        version: int,
        reads: tuple[File, ...],
        settings: Callable[[Any, Sequence[str]], dict[str, Any]],
        finish_settings: Callable[[Any], dict[str, Any]] = lambda pipeline: {},
        is_asked: Callable[[Any], bool] = lambda pipeline: True,
        about: str = "",
        calibration: Calibration,
        inputs: Callable[[Any], Inputs] = no_inputs,
    ) -> None:
        """Declare a calibration.

        `parts` has the files of every part of a snapshot by name, those of `reads`.
        `condense(context, snapshot, part)` returns the rows of a part, whose files the task knows as
        `{part}NAME`; it sees `settings` of the snapshots that its task reads. `finish(context,
        tables)` gets the rows of all parts, sees `finish_settings` too, and writes the result.
        """
        self.result_file, self.groups_file = result, File(f"{result.stage}_groups", "rows.parquet")
        self._parts, self._condense, self._finish = parts, condense, finish
        self._settings, self._finish_settings = settings, finish_settings
        self._is_asked = is_asked
        self.groups = Stage(
            self.groups_file.stage,
            version,
            Scope.SNAPSHOT,
            self._plan_groups,
            self._run_group,
            reads_all=reads,
            writes=(self.groups_file,),
        )
        self.result = Stage(
            result.stage,
            version,
            Scope.ALL,
            self._plan_result,
            self._run_result,
            about=about,
            reads_all=(*reads, self.groups_file),
            writes=(result,),
            calibration=calibration,
            inputs=inputs,
        )
        self.stages = (self.groups, self.result)

    def _plan_groups(self, pipeline: AnyPlanner, snapshot: str) -> Sequence[Task]:
        if not self._is_asked(pipeline) or not pipeline.learns_from(self.result_file, snapshot):
            return []
        parts = self._parts(pipeline, snapshot)
        settings = self._settings(pipeline, [snapshot])
        return plan_groups(self.groups, snapshot, settings, parts, f"parts/{snapshot}/")

    def _run_group(self, context: TaskContext) -> None:
        context.write_table(self.groups_file, pa.concat_tables(self._condensed(context)))

    def _plan_result(self, pipeline: AnyPlanner) -> list[Task]:
        if not self._is_asked(pipeline):
            return []
        inputs: dict[str, Output] = {}
        snapshots = pipeline.recipe.calibration_snapshots
        for snapshot in snapshots:
            groups = pipeline.parts(self.groups_file, snapshot)
            inputs |= {f"groups/{snapshot}/{i:05d}": group for i, group in enumerate(groups)}
            for name, outputs in ({} if groups else self._parts(pipeline, snapshot)).items():
                inputs |= {
                    f"parts/{snapshot}/{i:05d}/{name}": output for i, output in enumerate(outputs)
                }
        settings = self._settings(pipeline, snapshots) | self._finish_settings(pipeline)
        return [self.result.task(settings, inputs)]

    def _run_result(self, context: TaskContext) -> None:
        groups = (context.table(name) for name in context.names("groups/"))
        self._finish(context, chain(groups, self._condensed(context)))

    def _condensed(self, context: TaskContext) -> Tables:
        parts = dict.fromkeys(f"{name.rpartition('/')[0]}/" for name in context.names("parts/"))
        return (self._condense(context, part.split("/")[1], part) for part in parts)


class Regroup:
    """Ranged files of parts, joined by groups of parts where there are many."""

    def __init__(
        self,
        file: File,
        join: Callable[[Sequence[bytes]], bytes],
        most: Callable[[Any, str], int],
        *,
        reads: tuple[File, ...] = (),
    ) -> None:
        """`join` makes one range of those of several parts that have a name in common; `most` says
        how many parts a group of a snapshot has, by `reads`, which no takedown changes."""
        self._file, self._join, self._most = file, join, most
        self._groups_file = File(f"{file.stage}_groups", str(file))
        self.groups = Stage(
            self._groups_file.stage,
            VERSION,
            Scope.SNAPSHOT,
            self._plan_groups,
            self._run_group,
            reads=(file, *reads),
            writes=(self._groups_file,),
        )
        self.reads = (file, self._groups_file)
        """What targets read."""
        self.stages = (self.groups,)

    def targets(self, pipeline: AnyPlanner, snapshot: str) -> Targets:
        """Return the ranges of every target of a snapshot."""
        grouped = pipeline.results(self.groups.name, snapshot)
        written = grouped or pipeline.results(self._file.stage, snapshot)
        return Targets(
            (f"{number:05d}", ranges_of(pipeline.store, result, self._file))
            for number, result in enumerate(written)
        )

    def _plan_groups(self, pipeline: AnyPlanner, snapshot: str) -> Sequence[Task]:
        parts = pipeline.parts(self._file, snapshot)
        most = self._most(pipeline, snapshot)
        return plan_groups(self.groups, snapshot, {}, {_stem(self._file): parts}, most=most)

    def _run_group(self, context: TaskContext) -> None:
        ranges: dict[str, list[bytes]] = {}
        for part in context.names("parts/"):
            for name, data in all_ranges(context.content(part)):
                ranges.setdefault(name, []).append(data)
        joined = ((name, self._join(ranges[name])) for name in sorted(ranges))
        rows = sum(part.rows for part in context.task.inputs.values())
        write_ranges(context, self._groups_file, joined, rows)


def plan_groups(
    stage: Stage,
    where: str,
    settings: Mapping[str, Any],
    parts: Mapping[str, Sequence[Output]],
    prefix: str = "parts/",
    most: int | None = None,
) -> Sequence[Task]:
    """Return a task for each group of parts, none where there are few: `parts` has their files,
    which tasks read as `{prefix}00000/NAME`. A group has `most` parts, or so many that their rows
    are about those of a range; what a takedown runs again gives a number that no takedown changes.
    """
    (count,) = {len(outputs) for outputs in parts.values()} or {0}
    if most is None:
        rows = sum(output.rows for outputs in parts.values() for output in outputs)
        most = max(1, exchange.RANGE_ROWS * count // max(1, rows))

    def task(_: int, run: range) -> Task:
        inputs = {
            f"{prefix}{i:05d}/{name}": outputs[i] for i in run for name, outputs in parts.items()
        }
        return stage.task(settings, inputs, label=f"{where} parts {run[0]} to {run[-1]}")

    return LazySequence(task, exchange.group_runs(count, most))


def _tables(context: TaskContext, name: str) -> Tables:
    """Yield a table of every part that a task reads."""
    own = (each for each in context.names("parts/") if each.endswith(f"/{name}"))
    return (context.table(each) for each in own)


def _stem(file: File) -> str:
    return file.partition(".")[0]


def hash_keys(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return keys of strings or bytes for `Rows`: XXH3, the same on every machine."""
    data = values.cast(pa.large_binary()).to_pylist()
    return pa.array([xxh3_64_intdigest(value) for value in data], pa.uint64())
