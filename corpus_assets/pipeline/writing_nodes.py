"""The tasks of the nodes that write what is left: final text, tokenizer, shards."""

from typing import TYPE_CHECKING, Any

from corpus_assets.pipeline.shard_plan import shard_tasks
from corpus_assets.stages import (
    boilerplate,
    clean_text,
    shards,
    tokenizer,
)
from corpus_assets.stages.signals import SignalSettings
from corpus_assets.task import Task

if TYPE_CHECKING:
    from corpus_assets.pipeline.graph import Pipeline


def line_counts_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    if graph.pin_of("boilerplate", snapshot):
        return []
    settings = graph.recipe.clean_text.boilerplate.identity()
    return [
        Task(
            "line_counts",
            boilerplate.VERSION,
            settings,
            {"documents": part.outputs["documents.parquet"]},
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def boilerplate_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    inputs = {
        f"{i:05d}": part.outputs["line_counts.parquet"]
        for i, part in enumerate(graph.results("line_counts", snapshot))
    }
    settings = graph.recipe.clean_text.boilerplate.identity()
    return [Task("boilerplate", boilerplate.VERSION, settings, inputs, label=snapshot)]


def clean_text_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    members = graph.results("clusters", snapshot)[0]
    lines = graph.boilerplate_file(snapshot)
    hits = graph.results("contamination", snapshot)
    settings = {
        "clean_text": graph.recipe.clean_text.identity(),
        "verdict": graph.recipe.contamination.verdict.identity(),
        "domain": graph.recipe.source_of(snapshot).domain,
    }
    steps = SignalSettings(families=graph.recipe.signals.text_steps())
    if steps.families:
        settings["steps"] = steps.model_dump(mode="json")
        settings["step_versions"] = steps.identity()
    tasks = []
    selected = graph.results("selection", snapshot)
    for i, part in enumerate(graph.results("documents", snapshot)):
        inputs = {
            "records": part.outputs["records.parquet"],
            "documents": part.outputs["documents.parquet"],
            "selection": selected[i].outputs["selection.parquet"],
            "members": members.outputs[f"members-{i:05d}.parquet"],
            "boilerplate": lines,
        }
        if hits:
            inputs["hits"] = hits[i].outputs["hits.parquet"]
        label = _part_label(snapshot, i)
        tasks.append(Task("clean_text", clean_text.VERSION, settings, inputs, label=label))
    return tasks


def tokenizer_sample_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    entry = graph.recipe.tokenizer
    is_asked = snapshot in graph.recipe.calibration_snapshots and not graph.pin_of("tokenizer")
    if entry.train is None or not is_asked:
        return []
    settings = {
        "sample": entry.sample.identity(),
        "seed": graph.recipe.seed,
        "domain": graph.recipe.source_of(snapshot).domain,
    }
    scores = graph.results("signals", snapshot)
    return [
        Task(
            "tokenizer_sample",
            tokenizer.VERSION,
            settings,
            {
                "documents": part.outputs["documents.parquet"],
                "signals": scores[i].outputs["signals.parquet"],
            },
            label=_part_label(snapshot, i),
        )
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def tokenizer_tasks(graph: "Pipeline") -> list[Task]:
    entry = graph.recipe.tokenizer
    if entry.pinned is not None:
        path = graph.locations.files((entry.pinned,), "tokenizer.pinned")[0]
        settings: dict[str, Any] = entry.identity()
        del settings["pinned"], settings["train"], settings["sample"]
        params = {"pinned": str(path)}
        return [Task("tokenizer", tokenizer.VERSION, settings, params=params)]
    inputs = {
        f"{snapshot}/{i:05d}": part.outputs["sample.parquet"]
        for snapshot in graph.recipe.calibration_snapshots
        for i, part in enumerate(graph.results("tokenizer_sample", snapshot))
    }
    settings = {"max_chars": entry.sample.max_chars}
    if entry.train is not None:
        settings["train"] = entry.train.identity()
    return [Task("tokenizer", tokenizer.VERSION, settings, inputs)]


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
