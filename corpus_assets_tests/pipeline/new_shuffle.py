"""A statistic over all documents as a newcomer writes it, whole: how many each host has.

In the product it would be a file of its room, with one line in `corpus_assets/stages.py`.
"""

from collections.abc import Callable

import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.files import File
from corpus_assets.core.shuffle import Rows, Shuffle, Tables, hash_keys
from corpus_assets.core.stage import graph_of, part_stage
from corpus_assets.core.task import TaskContext
from corpus_assets.stages import STAGES

PART_HOSTS = File("part_hosts", "hosts.parquet")
HOSTS = File("hosts", "hosts.parquet")


def count_hosts(context: TaskContext) -> None:
    hosts = context.table("documents", ["host"])["host"].drop_null()
    rows = pa.table({"host": hosts, "documents": pa.array([1] * len(hosts), pa.int64())})
    context.write_table(PART_HOSTS, add_up(iter([rows.append_column("key", hash_keys(hosts))])))


def add_up(tables: Tables) -> pa.Table:
    counted = pa.concat_tables(tables).group_by(["host", "key"], use_threads=False)
    return counted.aggregate([("documents", "sum")]).rename_columns(["host", "key", "documents"])


SHUFFLE = Shuffle(
    HOSTS,
    part_stage("part_hosts", 1, count_hosts, {"documents": files.DOCUMENTS}, (PART_HOSTS,)),
    [Rows(PART_HOSTS, "key", add_up)],
    reduce=lambda context, counted: add_up(counted),
    finish=lambda context, tables: pa.concat_tables(tables).drop_columns("key").sort_by("host"),
    version=1,
    about="Documents of each host.",
)
WITH_HOSTS = graph_of((*STAGES.declared, SHUFFLE), STAGES.given)


def function_of(stage: str) -> Callable[[TaskContext], None]:
    return WITH_HOSTS[stage].run
