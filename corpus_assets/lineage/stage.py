"""The stage `lineage_keys`: which runs of files a snapshot has, and the task that indexes one.

Each lineage table has runs of its own, so a change of clusters or shards leaves the keys of
records and documents alone.
"""

from collections.abc import Iterator, Sequence, Sized
from functools import partial
from typing import Any

import pyarrow as pa

from catalog.db import KeyRow
from catalog.formats.key_files import DOCUMENT_IDS, TABLE_OF, parse_header
from corpus_assets.core import files
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.lineage.keys import UNITS_PER_RUN, VERSION, columns_of, make_keys

SUFFIX = ".keys"


def plan_lineage_keys(pipeline: Planner[AnyRecipe], snapshot: str) -> Sequence[Task]:
    """Plan runs of consecutive parts, and of consecutive shards of a group."""
    clusters = pipeline.results(files.MEMBERS.stage, snapshot)
    tables = {
        "records": pipeline.parts(files.RECORDS, snapshot),
        "documents": pipeline.parts(files.DOCUMENTS, snapshot),
        "cluster_members": files.MEMBERS.of_parts(clusters),
    }
    shards: dict[str, list[tuple[str, Output]]] = {}
    for name, spans in shard_spans(snapshot, pipeline.tasks("shards", snapshot),
                                   pipeline.results("shards", snapshot)):  # fmt: skip
        shards.setdefault(name.rpartition("/")[0], []).append((name, spans))

    def of_parts(table: str, first: int) -> Task:
        outputs = tables[table][first : first + UNITS_PER_RUN]
        return _task(table, snapshot, first, range(first, first + len(outputs)), outputs)

    def of_shards(group: str, first: int) -> Task:
        names, outputs = zip(*shards[group][first : first + UNITS_PER_RUN], strict=True)
        return _task("spans", group, first, names, outputs)

    runs = [partial(of_parts, table, n) for table in tables for n in _firsts(tables[table])]
    runs += [
        partial(of_shards, group, n) for group in sorted(shards) for n in _firsts(shards[group])
    ]
    return LazySequence(lambda _, run: run(), runs)


def shard_spans(
    snapshot: str, tasks: Sequence[Task], results: Sequence[Result]
) -> Iterator[tuple[str, Output]]:
    """Yield full names of a snapshot's shards, with their span files."""
    for task, result in zip(tasks, results, strict=True):
        name = next(name for name in result.outputs if name.endswith(".spans.parquet"))
        group = f"{snapshot}/{task.settings['group']}"
        yield f"{group}/{name.partition('.')[0]}", result.outputs[name]


def run_lineage_keys(context: TaskContext) -> None:
    table = context.task.settings["table"]
    columns = columns_of(table)
    units = context.task.settings["units"]

    def tables() -> Iterator[tuple[Any, pa.Table]]:
        for number, unit in enumerate(units):
            yield unit, context.table(_input(number), columns)

    rows = sum(context.task.inputs[_input(number)].rows for number in range(len(units)))
    made = make_keys(table, tables())
    for kind, data in made.items():
        context.write_bytes(f"{kind}{SUFFIX}", data, rows)
    if table == "records":
        count(context, rows, parse_header(made[DOCUMENT_IDS], DOCUMENT_IDS).entries)


def key_rows(pipeline: Planner[AnyRecipe]) -> list[KeyRow]:
    """List the key files of a version, for the catalog."""
    return [
        KeyRow(kind, snapshot, output.path, output.sha256, output.bytes, output.rows)
        for snapshot in pipeline.recipe.snapshots
        for result in pipeline.results("lineage_keys", snapshot)
        for kind in TABLE_OF
        if (output := result.outputs.get(f"{kind}{SUFFIX}")) is not None
    ]


def _firsts(units: Sized) -> range:
    return range(0, len(units), UNITS_PER_RUN)


def _task(
    table: str, where: str, first: int, units: Sequence[int | str], files: Sequence[Output]
) -> Task:
    return LINEAGE_KEYS.task(
        {"table": table, "units": list(units)},
        {_input(number): file for number, file in enumerate(files)},
        label=f"{where} {table} from {first}",
    )


def _input(number: int) -> str:
    return f"{number:02d}"


LINEAGE_KEYS = Stage(
    "lineage_keys",
    VERSION,
    Scope.SNAPSHOT,
    plan_lineage_keys,
    run_lineage_keys,
    about="Sorted keys of the lineage tables, to find a document without a scan.",
    reads=(files.RECORDS, files.DOCUMENTS, files.MEMBERS, files.SHARD_SPANS),
    writes=(files.LINEAGE_KEYS,),
    fed_by=("documents", "documents_in"),
)
