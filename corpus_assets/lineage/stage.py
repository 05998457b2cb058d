"""The stage `lineage_keys`: which runs of files a snapshot has, and the task that indexes one.

Each lineage table has runs of its own, so a change of clusters or shards leaves the keys of
records and texts alone.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from catalog.keyfile import DOCUMENT_IDS, TABLE_OF, parse_header
from catalog.rows import KeyRow
from corpus_assets.core import files
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.lineage import keys as lineage_keys

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

SUFFIX = ".keys"


def plan_lineage_keys(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Runs of consecutive parts, and of consecutive shards of a group."""
    (clusters,) = graph.results(files.MEMBERS.stage, snapshot)
    tables = {
        "documents": graph.parts(files.RECORDS, snapshot),
        "texts": graph.parts(files.DOCUMENTS, snapshot),
        "cluster_members": [clusters.outputs[name] for name in sorted(clusters.outputs)],
    }
    tasks = [
        _task(table, snapshot, first, list(range(first, first + len(run))), run)
        for table, listed in tables.items()
        for first, run in _runs(listed)
    ]
    groups: dict[str, list[tuple[str, Output]]] = {}
    for name, spans in shard_spans(snapshot, graph.tasks("shards", snapshot),
                                   graph.results("shards", snapshot)):  # fmt: skip
        groups.setdefault(name.rpartition("/")[0], []).append((name, spans))
    for group, shards in sorted(groups.items()):
        for first, run in _runs(shards):
            names, outputs = [name for name, _ in run], [output for _, output in run]
            tasks.append(_task("spans", group, first, names, outputs))
    return tasks


def shard_spans(
    snapshot: str, tasks: Sequence[Task], results: Sequence[Result]
) -> Iterator[tuple[str, Output]]:
    """Full names of a snapshot's shards, with their span files."""
    for task, result in zip(tasks, results, strict=True):
        name = next(name for name in result.outputs if name.endswith(".spans.parquet"))
        group = f"{snapshot}/{task.settings['group']}"
        yield f"{group}/{name.partition('.')[0]}", result.outputs[name]


def run_lineage_keys(context: TaskContext) -> None:
    table = context.task.settings["table"]
    columns = lineage_keys.columns_of(table)
    units = context.task.settings["units"]

    def tables() -> Iterator[tuple[Any, pa.Table]]:
        for number, unit in enumerate(units):
            yield unit, context.table(_input(number), columns)

    rows = sum(context.task.inputs[_input(number)].rows for number in range(len(units)))
    made = lineage_keys.make_keys(table, tables())
    for kind, data in made.items():
        context.write_bytes(f"{kind}{SUFFIX}", data, rows)
    if table == "documents":
        count(context, rows, parse_header(made[DOCUMENT_IDS], DOCUMENT_IDS).entries)


def key_rows(pipeline: "Pipeline") -> list[KeyRow]:
    """The key files of a version, for the catalog."""
    return [
        KeyRow(kind, snapshot, output.path, output.sha256, output.bytes, output.rows)
        for snapshot in pipeline.recipe.snapshots
        for result in pipeline.results("lineage_keys", snapshot)
        for kind in TABLE_OF
        if (output := result.outputs.get(f"{kind}{SUFFIX}")) is not None
    ]


def _runs(files: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    step = lineage_keys.UNITS_PER_RUN
    for first in range(0, len(files), step):
        yield first, list(files[first : first + step])


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
    lineage_keys.VERSION,
    Scope.SNAPSHOT,
    plan_lineage_keys,
    run_lineage_keys,
    about="Sorted keys of records, texts, clusters and spans: a document is found without a scan.",
    reads=(files.RECORDS, files.DOCUMENTS, files.MEMBERS, files.SHARD_SPANS),
    writes=(files.LINEAGE_KEYS,),
    fed_by=("documents", "documents_in"),
)
