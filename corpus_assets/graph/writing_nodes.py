"""The tasks of the nodes that write what is left: final text, shards."""

from typing import TYPE_CHECKING

from corpus_assets.clean import clean_text
from corpus_assets.clean.line_nodes import fate_inputs, step_settings
from corpus_assets.clean.scrubbing import hash_list_inputs, phone_settings, recognizer_settings
from corpus_assets.clean.span_nodes import span_inputs
from corpus_assets.core.task import Task
from corpus_assets.decontam.nodes import verdict_settings
from corpus_assets.shards import route as shards
from corpus_assets.shards.plan import shard_tasks

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def clean_text_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    lines = graph.boilerplate_file(snapshot)
    spans = span_inputs(graph, snapshot)
    fates = fate_inputs(graph, snapshot)
    domain = graph.recipe.source_of(snapshot).domain
    settings = {"clean_text": graph.recipe.clean_text.identity(), "domain": domain}
    settings |= step_settings(graph) | verdict_settings(graph) | phone_settings(graph, domain)
    lists, paths = hash_list_inputs(graph)
    settings |= recognizer_settings(graph)
    tasks = []
    for i, part in enumerate(graph.results("documents", snapshot)):
        inputs = {
            "records": part.outputs["records.parquet"],
            "documents": part.outputs["documents.parquet"],
            "boilerplate": lines,
        }
        inputs |= spans | fates[i]
        label = _part_label(snapshot, i)
        tasks.append(
            Task("clean_text", clean_text.VERSION, settings, inputs, lists, paths, label=label)
        )
    return tasks


def shard_counts_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    totals: dict[str, int] = {}
    for part in graph.results("clean_text", snapshot):
        for group, chars in part.notes["chars_by_group"].items():
            totals[group] = totals.get(group, 0) + chars
    settings = {"chars": totals, "tokens_per_shard": graph.recipe.shards.tokens_per_shard}
    return [Task("shard_counts", shards.VERSION, settings, label=snapshot)]


def tokens_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    shared = {
        "tokenizer": graph.tokenizer_file(),
        "shard_counts": graph.shard_counts_file(snapshot),
    }
    return [
        Task(
            "tokens",
            shards.VERSION,
            {"seed": graph.recipe.seed, "special": graph.recipe.tokenizer.special_names()},
            {"final": part.outputs["final.parquet"]} | shared,
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("clean_text", snapshot))
    ]


def shards_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    return shard_tasks(
        graph.store,
        snapshot,
        graph.results("tokens", snapshot),
        graph.shard_counts_file(snapshot),
        graph.tokenizer_file(),
        graph.recipe,
    )


def _part_label(snapshot: str, part: int) -> str:
    return f"{snapshot} part {part}"
