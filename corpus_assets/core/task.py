"""One unit of work: what it is (identity) and what it needs to run (inputs in the store).

A task is plain data, so any engine can ship it to any process. Its function is that of its stage
(`corpus_assets/stages.py`). A snapshot has 90,000 of them, so they and their results come in
sequences whose items are made when they are asked for (`LazySequence`).
"""

import contextlib
import io
import json
import resource
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.file_spool import FileSpool
from corpus_assets.core.identity import Settings, fingerprint
from corpus_assets.core.store import (
    Output,
    Pieces,
    Result,
    Store,
    commit_result,
    load_result,
    local_checked,
    read_output,
)

S = TypeVar("S", bound=Settings)

READ_AHEAD = 8  # files of many that a task reads one after another: a request takes a while on S3

LOOKUP_ROWS = 1_000
"""Rows in a row group of tables that the catalog reads single rows of: about a millisecond for a
group, and half a one for the footer of a file of 35 of them."""


@dataclass(frozen=True)
class EarlierResult:
    """A result of the same part from before a takedown: its rows may be reused."""

    inputs: Mapping[str, Output]
    outputs: Mapping[str, Output]
    counts: Mapping[str, int]
    notes: Mapping[str, Any]


@dataclass(frozen=True)
class Origin:
    """How a part's documents come about under the takedowns in force."""

    base: str  # fingerprint of the task that reads the file under no order
    previous: str | None = None  # of the result that is filtered
    purged: Mapping[str, Output] | None = None  # tables of that result, where it is filtered


@dataclass(frozen=True)
class Task:
    """`settings` and the hashes in `inputs` are identity; the rest is not."""

    stage: str
    version: int
    settings: Mapping[str, Any]
    inputs: Mapping[str, Output] = field(default_factory=dict)
    extra_inputs: Mapping[str, str] = field(
        default_factory=dict
    )  # content hashes outside the store
    params: Mapping[str, Any] = field(default_factory=dict)  # where to find things, plain JSON
    label: str = ""
    earlier: EarlierResult | None = None
    origin: Origin | None = None  # of a task that makes a part's documents

    @cached_property
    def fingerprint(self) -> str:
        hashes = {name: out.sha256 for name, out in self.inputs.items()}
        return fingerprint(
            self.stage, self.version, self.settings, hashes | dict(self.extra_inputs)
        )


@dataclass(frozen=True)
class Finished:
    """A result and what it cost to get; `cached` ones cost nothing this time."""

    result: Result
    cpu_seconds: float
    cached: bool
    wall_seconds: float = 0.0
    peak_bytes: int = 0  # of this process; the extractor's pages are another's
    tries: int = 1


class TaskContext:
    """What a stage's function sees while it runs: typed settings, inputs, outputs, counts."""

    def __init__(self, task: Task, store: Store) -> None:
        self.task = task
        self.store = store
        self.counts: dict[str, int] = {}
        self.notes: dict[str, Any] = {}
        self.spent_elsewhere = 0.0
        self._files = FileSpool()

    def spend(self, cpu_seconds: float) -> None:
        """Count CPU time that a process of the task's own took."""
        self.spent_elsewhere += cpu_seconds

    def settings(self, model: type[S], key: str | None = None) -> S:
        raw = self.task.settings if key is None else self.task.settings[key]
        return model.model_validate(raw)

    def param(self, name: str) -> Any:
        return self.task.params[name]

    def has(self, name: str) -> bool:
        return name in self.task.inputs

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.task.inputs if name.startswith(prefix))

    def content(self, name: str) -> bytes:
        return read_output(self.store, self.task.inputs[name])

    def json(self, name: str) -> Any:
        return json.loads(self.content(name))

    def path(self, name: str) -> Path:
        """Return a local file of the input, its content checked."""
        output = self.task.inputs[name]
        return local_checked(self.store, output.path, output.sha256)

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self.store, self.task.inputs[name], columns)

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield inputs in the order of their names, a few of the next ones read ahead."""
        with ThreadPoolExecutor(READ_AHEAD) as pool:
            waiting: deque[Future[pa.Table]] = deque()
            for name in names:
                waiting.append(pool.submit(self.table, name))
                if len(waiting) > READ_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def write_table(self, name: str, table: pa.Table, row_group_size: int | None = None) -> None:
        self._files.add(str(name), parquet_bytes(table, row_group_size), table.num_rows)

    def write_bytes(self, name: str, data: bytes | Pieces, rows: int = 0) -> None:
        self._files.add(str(name), data, rows)

    def commit(self) -> Result:
        files, names = self._files, (self.task.stage, self.task.fingerprint)
        return commit_result(self.store, *names, files, self.counts, self.notes)

    def close(self) -> None:
        """Let go of what was written; after `commit` it is in the store."""
        self._files.close()


def read_table(store: Store, output: Output, columns: list[str] | None = None) -> pa.Table:
    """Return a Parquet file of the store, its content checked."""
    data = pa.BufferReader(read_output(store, output))
    try:
        return pq.ParquetFile(data).read(columns=columns, use_threads=False)
    except pa.ArrowException as error:
        raise CorruptArtifact(f"{output.path} is not readable Parquet: {error}") from error


def parquet_bytes(table: pa.Table, row_group_size: int | None = None) -> bytes:
    """Parquet with fixed writer settings: equal tables give equal bytes."""
    sink = io.BytesIO()
    pq.write_table(
        table.cast(_with_plain_lists(table.schema)).combine_chunks(),
        sink,
        compression="zstd",
        compression_level=2,  # 3 takes half as long again for 3% less room
        row_group_size=row_group_size or 20_000,
        store_schema=True,
        write_statistics=True,
    )
    return sink.getvalue()


def _with_plain_lists(schema: pa.Schema) -> pa.Schema:
    """Return the schema without metadata, the items of lists named as Arrow names them. Parquet
    gives them another name in what it reads: such types compare equal, but are written
    differently."""

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_map(kind):
            return pa.map_(kind.key_type, plain(kind.item_type))
        return pa.list_(plain(kind.value_type)) if pa.types.is_list(kind) else kind

    return pa.schema([pa.field(f.name, plain(f.type), f.nullable) for f in schema])


def part_label(snapshot: str, part: int) -> str:
    return f"{snapshot} part {part}"


def execute(
    task: Task,
    store: Store,
    function: Callable[[TaskContext], None],
    before_commit: Callable[[], None] = lambda: None,
) -> Finished:
    """Run a task, or find it done. CPU time is this process's and what the task says it spent
    in another. `before_commit` may raise to keep the result out of the store."""
    found = load_result(store, task.stage, task.fingerprint)
    if found is not None:
        return Finished(found, 0.0, cached=True)
    began, before = time.monotonic(), _cpu()
    forget_peak()
    context = TaskContext(task, store)
    with contextlib.closing(context):
        function(context)
        before_commit()
        result = context.commit()
    spent = _cpu() - before + context.spent_elsewhere
    return Finished(result, spent, False, time.monotonic() - began, peak_bytes())


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def forget_peak() -> None:
    """Reset the peak of this process's memory, where the system can."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def peak_bytes() -> int:
    """Return the most memory this process has held since `forget_peak`, or ever."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def count(
    context: TaskContext, entered: int, left: int, reasons: Counter[str] | None = None
) -> None:
    context.counts["documents_in"] = entered
    context.counts["documents_out"] = left
    if reasons:
        context.notes["reasons"] = dict(sorted(reasons.items()))


def values(column: pa.ChunkedArray) -> list[str]:
    """Return the values of a column that are not null."""
    return [value for value in column.to_pylist() if value is not None]
