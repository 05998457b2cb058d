"""A stage as a newcomer writes it, whole: how many tokens each document has in a snapshot's shards.

In the product it would be a file of its room, with one line in `corpus_assets/stages.py`.
"""

from collections.abc import Callable

import pyarrow as pa

from corpus_assets.core import files
from corpus_assets.core.files import File
from corpus_assets.core.planner import AnyRecipe, Planner
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Scope, Stage, graph_of
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.stages import STAGES

LENGTHS = File("lengths", "lengths.parquet")
SCHEMA = pa.schema([("doc_id", DOC_ID), ("tokens", pa.int64())])


def plan(pipeline: Planner[AnyRecipe], snapshot: str) -> list[Task]:
    spans = [
        output
        for shard in pipeline.results(files.SHARD_SPANS.stage, snapshot)
        for name, output in shard.outputs.items()
        if files.SHARD_SPANS.matches(name)
    ]
    inputs = {f"{number:05d}": output for number, output in enumerate(spans)}
    return [STAGE.task({}, inputs, label=snapshot)]


def run(context: TaskContext) -> None:
    spans = pa.concat_tables([context.table(name) for name in context.names("")])
    lengths = spans.group_by("doc_id").aggregate([("length", "sum")]).sort_by("doc_id")
    context.write_table(LENGTHS, lengths.rename_columns(SCHEMA.names).cast(SCHEMA))
    count(context, lengths.num_rows, lengths.num_rows)


STAGE = Stage(
    "lengths",
    1,
    Scope.SNAPSHOT,
    plan,
    run,
    about="Tokens of each document.",
    reads=(files.SHARD_SPANS,),
    writes=(LENGTHS,),
)
WITH_LENGTHS = graph_of((*STAGES.declared, STAGE), STAGES.given)


def function_of(stage: str) -> Callable[[TaskContext], None]:
    return WITH_LENGTHS[stage].run
