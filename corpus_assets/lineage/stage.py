"""Make sorted keys of the lineage tables, so that one document is found among billions of rows.

A task indexes a *run*: the files of `UNITS_PER_RUN` consecutive parts of a snapshot (or shards of
a group). A changed part rewrites the keys of its run and of no other, and a look-up searches one
file a run. `catalog.formats.key_files` has the format; the catalog only reads it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.db.rows import KeyRow
from catalog.formats.key_files import (
    COLUMNS,
    DOCUMENT_IDS,
    HOSTS,
    TABLE_OF,
    TEXT_IDS,
    Keys,
    Places,
    Unit,
    encode_hashes,
    encode_hosts,
    keys_of,
    parse_header,
    surt_hosts,
)
from corpus_assets.core import files
from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Each, Task, TaskContext, count

VERSION = 1

UNITS_PER_RUN = 64
"""Parts of Common Crawl have some 30,000 documents: 50 million are 26 runs."""

KINDS: Mapping[str, tuple[str, ...]] = {
    table: tuple(kind for kind, of in TABLE_OF.items() if of == table)
    for table in dict.fromkeys(TABLE_OF.values())
}
"""Lineage table -> the kinds of keys it gets."""


def columns_of(table: str) -> list[str]:
    """Return the columns that the keys of a lineage table are made from."""
    names = [name for kind in KINDS[table] for name in COLUMNS[kind]]
    return list(dict.fromkeys([*names, "derived_from"] if table == "texts" else names))


def make_keys(table: str, units: Iterable[tuple[Unit, pa.Table]]) -> dict[str, bytes]:
    """Make the key files of a run by kind, from its tables in order.

    Memory: 24 bytes for each key of the run, and one table. Time: a sort of the keys, and a
    hash of every url_key.
    """
    rows: list[tuple[Unit, int]] = []
    derived: list[int] = []
    keys: dict[str, list[Keys]] = {kind: [np.empty(0, np.uint64)] for kind in KINDS[table]}
    places: dict[str, list[Places]] = {kind: [np.empty(0, np.int64)] for kind in KINDS[table]}
    hosts: list[pa.Array] = [pa.array([], pa.string())]
    first = 0
    for unit, data in units:
        for kind in KINDS[table]:
            if kind == HOSTS:
                names = surt_hosts(data)
                hosts.append(names.drop_null())
                numbers = np.flatnonzero(names.is_valid().to_numpy(zero_copy_only=False))
            else:
                found, numbers = keys_of(kind, data)
                keys[kind].append(found)
            places[kind].append(numbers + first)
        if table == "texts":
            derived.append(_count_derived(data["derived_from"]))
        rows.append((unit, data.num_rows))
        first += data.num_rows
    made: dict[str, bytes] = {}
    for kind in KINDS[table]:
        numbers = np.concatenate(places[kind])
        if kind == HOSTS:
            made[kind] = encode_hosts(rows, pa.concat_arrays(hosts), numbers)
        else:
            counts = derived if kind == TEXT_IDS else ()
            made[kind] = encode_hashes(kind, rows, np.concatenate(keys[kind]), numbers, counts)
    return made


def _count_derived(column: pa.ChunkedArray) -> int:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return int(pc.sum(pc.greater(lengths, 0)).as_py() or 0)


# The stage `lineage_keys`: which runs of files a snapshot has, and the task that indexes one.
#
# Each lineage table has runs of its own, so a change of clusters or shards leaves the keys of
# records and texts alone.

SUFFIX = ".keys"


def plan_lineage_keys(pipeline: Planner[AnyRecipe], snapshot: str) -> Sequence[Task]:
    """Plan runs of consecutive parts, and of consecutive shards of a group."""
    clusters = pipeline.results(files.MEMBERS.stage, snapshot)
    tables = {
        "documents": pipeline.parts(files.RECORDS, snapshot),
        "texts": pipeline.parts(files.DOCUMENTS, snapshot),
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
    return Each(lambda _, run: run(), runs)


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
    if table == "documents":
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
    about="Sorted keys of records, texts, clusters and spans: a document is found without a scan.",
    reads=(files.RECORDS, files.DOCUMENTS, files.MEMBERS, files.SHARD_SPANS),
    writes=(files.LINEAGE_KEYS,),
    fed_by=("documents", "documents_in"),
)
